/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The connection, and errors in words. */

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/own.h"
#include "base/text.h"
#include "bus/names.h"
#include "cli/bus.h"
#include "cli/cli.h"

static const char *const temporary[] = {
        SD_BUS_ERROR_NO_REPLY,
        SD_BUS_ERROR_DISCONNECTED,
        SD_BUS_ERROR_NAME_HAS_NO_OWNER,
        SD_BUS_ERROR_SERVICE_UNKNOWN,
        SD_BUS_ERROR_UNKNOWN_OBJECT,
        SD_BUS_ERROR_TIMEOUT,
        "org.freedesktop.DBus.Error.TimedOut",
};

bool bus_error_is_temporary(const sd_bus_error *error) {
        for (size_t i = 0; i < ELEMENTS(temporary); i++)
                if (sd_bus_error_has_name(error, temporary[i]))
                        return true;
        /* the bus could not have it started, this time */
        return error->name && (starts_with(error->name, "org.freedesktop.DBus.Error.Spawn.") ||
                                      starts_with(error->name, "org.freedesktop.systemd1."));
}

int bus_complain(const sd_bus_error *error) {
        const char *name = error->name ? error->name : "", *dot = strrchr(name, '.');
        bool away = sd_bus_error_has_name(error, SD_BUS_ERROR_SERVICE_UNKNOWN) ||
                    sd_bus_error_has_name(error, SD_BUS_ERROR_NAME_HAS_NO_OWNER);

        complain("%s: %s%s", dot ? dot + 1 : name, error->message ? error->message : "no more is known",
                away ? ": is unitcelld.service running?" : "");
        return EXIT_OURS;
}

int bus_open(sd_bus **ret) {
        own(sd_bus_unrefp) sd_bus *bus = NULL;
        int r;

        r = sd_bus_open_system(&bus);
        if (r < 0) {
                complain("The system bus cannot be reached: %s", strerror(-r));
                return EXIT_OURS;
        }
        /* a password is asked for where somebody can type one */
        (void) sd_bus_set_allow_interactive_authorization(bus, isatty(STDIN_FILENO));

        *ret = hand_over(bus);
        return 0;
}

static int ask(sd_bus *bus, const char *member, const char *types, const char *argument,
        sd_bus_error *reterr, sd_bus_message **ret) {
        own(sd_bus_message_unrefp) sd_bus_message *call = NULL;
        int r;

        r = sd_bus_message_new_method_call(
                bus, &call, UNITCELL_NAME, UNITCELL_PATH, UNITCELL_MANAGER, member);
        if (r >= 0 && types)
                r = sd_bus_message_append(call, types, argument);
        if (r < 0)
                return sd_bus_error_set_errno(reterr, r);
        return sd_bus_call(bus, call, BUS_PATIENCE_USEC, reterr, ret);
}

int bus_ask(sd_bus *bus, const char *member, const char *types, const char *argument, char **ret) {
        own(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
        own(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        const char *text;
        int r;

        r = ask(bus, member, types, argument, &error, &reply);
        if (r < 0)
                return bus_complain(&error);
        r = sd_bus_message_read(reply, "s", &text);
        if (r >= 0) {
                *ret = strdup(text);
                r = *ret ? 0 : -ENOMEM;
        }
        return r < 0 ? complain_errno(r, "The answer cannot be read") : 0;
}

int bus_tell(sd_bus *bus, const char *member) {
        own(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
        own(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        int r;

        r = ask(bus, member, /* types= */ NULL, /* argument= */ NULL, &error, &reply);
        return r < 0 ? bus_complain(&error) : 0;
}
