/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Words of the command line, pure. */

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/own.h"
#include "cli/word.h"
#include "spec/path.h"

#define DIGITS "0123456789"

/* A decimal number with at most three places, in thousandths; *ret_end is what follows it. */
static int parse_milli(const char *text, uint64_t *ret, const char **ret_end) {
        size_t whole = strspn(text, DIGITS), places = 0;
        uint64_t value = 0;

        if (whole == 0)
                return -EINVAL;
        if (text[whole] == '.') {
                places = strspn(text + whole + 1, DIGITS);
                if (places == 0 || places > 3)
                        return -EINVAL;
        }

        for (size_t i = 0; i < whole + 3; i++) {
                const char *digit = i < whole ? text + i : text + i + 1;
                uint64_t units = i < whole || i - whole < places ? (uint64_t) (*digit - '0') : 0;

                if (__builtin_mul_overflow(value, 10U, &value) ||
                        __builtin_add_overflow(value, units, &value))
                        return -ERANGE;
        }

        *ret = value;
        *ret_end = text + whole + (places > 0 ? places + 1 : 0);
        return 0;
}

int parse_duration_ms(const char *text, uint64_t *ret_ms) {
        static const struct {
                const char *name;
                uint64_t ms;
        } units[] = {
                {"", 1000},
                {"ms", 1},
                {"s", 1000},
                {"sec", 1000},
                {"m", 60000},
                {"min", 60000},
                {"h", 3600000},
        };
        const char *unit;
        uint64_t milli, product;
        int r;

        r = parse_milli(text, &milli, &unit);
        if (r < 0)
                return r;
        unit += strspn(unit, " ");
        for (size_t i = 0; i < ELEMENTS(units); i++) {
                if (!streq(unit, units[i].name))
                        continue;
                if (__builtin_mul_overflow(milli, units[i].ms, &product))
                        return -ERANGE;
                if (product % 1000 != 0) /* finer than a millisecond */
                        return -EINVAL;
                *ret_ms = product / 1000;
                return 0;
        }
        return -EINVAL;
}

static void list_limits(char *names, size_t size) {
        size_t used = 0;

        for (LimitId id = 0; id < LIMIT_N && used < size; id++)
                used += (size_t) snprintf(
                        names + used, size - used, "%s%s", id > 0 ? ", " : "", limits[id].key);
}

int parse_limit(const char *text, LimitId *ret_id, uint64_t *ret_value, JsonError *reterr) {
        size_t size = strcspn(text, "=");
        char key[64], names[256];
        const char *end;
        LimitId id;
        uint64_t milli;
        int r;

        if (text[size] != '=') {
                json_error_set(
                        reterr, "--limit", "must be KEY=VALUE, such as memory_mb=128, not \"%s\"", text);
                return -EINVAL;
        }
        (void) snprintf(key, sizeof key, "%.*s", (int) (size < 63 ? size : 63), text);
        if (!limit_find(key, &id)) {
                list_limits(names, sizeof names);
                json_error_set(reterr, "--limit", "\"%s\" is no limit; there are %s", key, names);
                return -EINVAL;
        }

        r = parse_milli(text + size + 1, &milli, &end);
        if (r < 0 || *end || (!limits[id].decimal && milli % 1000 != 0)) {
                json_error_set(reterr, "--limit", "%s must be %s, not \"%s\"", key,
                        r == -ERANGE         ? "smaller"
                        : limits[id].decimal ? "a number of at most three decimal places"
                                             : "a whole number",
                        text + size + 1);
                return -EINVAL;
        }

        *ret_id = id;
        *ret_value = limits[id].decimal ? milli : milli / 1000;
        return 0;
}

bool word_looks_like_file(const char *word) {
        static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz" DIGITS;
        const char *dot = strrchr(word, '.');

        for (const char *at = word; *at; at++)
                if ((unsigned char) *at < 0x80 && !strchr(letters, *at) && !strchr("._-+@%,~/", *at))
                        return false;
        return dot && dot > word && dot[-1] != '/' && dot[1] && strspn(dot + 1, letters) == strlen(dot + 1);
}

const char *file_default_name(const char *local) {
        const char *slash, *name = local;

        while (strncmp(name, "./", 2) == 0) {
                name += 2;
                name += strspn(name, "/");
        }
        if (!relative_path_problem(name))
                return name;
        slash = strrchr(local, '/');
        return slash ? slash + 1 : local;
}
