/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Properties as values. Each kind knows its D-Bus signature, how to append itself to a message and how to stand in
 * a document; rows, not branches, tell the kinds apart where they can.
 */

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "unit/property.h"

static const char *const signatures[] = {
        [PROPERTY_BOOL] = "b",
        [PROPERTY_U64] = "t",
        [PROPERTY_I32] = "i",
        [PROPERTY_STRING] = "s",
        [PROPERTY_STRINGS] = "as",
        [PROPERTY_PAIRS] = "a(ss)",
        [PROPERTY_BINDS] = "a(ssbt)",
        [PROPERTY_WORDS] = "(bas)",
        [PROPERTY_ADDRESSES] = "a(iayu)",
        [PROPERTY_EXEC] = "a(sasb)",
        [PROPERTY_FD] = "h",
};

/* MS_REC: what systemd uses for a bind that takes sub-mounts along, the default of BindPaths=a:b. */
#define BIND_RECURSIVE UINT64_C(16384)

void properties_clear(Properties *properties) {
        for (size_t i = 0; i < properties->n; i++) {
                free(properties->items[i].text);
                strv_free(properties->items[i].list);
        }
        free(properties->items);
        *properties = (Properties) {};
}

static int property_add(Properties *properties, const Property *property) {
        Property *items = reallocarray(properties->items, properties->n + 1, sizeof *items);

        if (!items)
                return -ENOMEM;

        properties->items = items;
        properties->items[properties->n++] = *property;
        return 0;
}

int property_add_bool(Properties *properties, const char *name, bool value) {
        return property_add(properties, &(Property) {.name = name, .kind = PROPERTY_BOOL, .flag = value});
}

int property_add_u64(Properties *properties, const char *name, uint64_t value) {
        return property_add(properties, &(Property) {.name = name, .kind = PROPERTY_U64, .number = value});
}

int property_add_i32(Properties *properties, const char *name, int32_t value) {
        return property_add(properties,
                &(Property) {.name = name, .kind = PROPERTY_I32, .number = (uint64_t) (int64_t) value});
}

int property_add_fd(Properties *properties, const char *name, int fd) {
        return property_add(properties,
                &(Property) {.name = name, .kind = PROPERTY_FD, .fd = fd, .write_only = true});
}

int property_add_string(Properties *properties, const char *name, const char *value) {
        own(freep) char *copy = strdup(value);
        int r;

        if (!copy)
                return -ENOMEM;

        r = property_add(properties, &(Property) {.name = name, .kind = PROPERTY_STRING, .text = copy});
        if (r < 0)
                return r;

        copy = NULL;
        return 0;
}

int property_add_list(Properties *properties, const char *name, PropertyKind kind, bool flag, char *const *list) {
        own(strv_freep) char **copy = NULL;
        int r;

        r = strv_copy(list, &copy);
        if (r < 0)
                return r;

        r = property_add(properties, &(Property) {.name = name, .kind = kind, .flag = flag, .list = copy});
        if (r < 0)
                return r;

        copy = NULL;
        return 0;
}

/* ---- into a message ---- */

static int append_strings(sd_bus_message *message, char *const *list) {
        int r;

        r = sd_bus_message_open_container(message, 'a', "s");
        if (r < 0)
                return r;

        for (size_t i = 0; list && list[i]; i++) {
                r = sd_bus_message_append(message, "s", list[i]);
                if (r < 0)
                        return r;
        }

        return sd_bus_message_close_container(message);
}

static int append_pairs(sd_bus_message *message, char *const *list) {
        int r;

        r = sd_bus_message_open_container(message, 'a', "(ss)");
        if (r < 0)
                return r;

        for (size_t i = 0; list && list[i]; i += 2) {
                r = sd_bus_message_append(message, "(ss)", list[i], list[i + 1]);
                if (r < 0)
                        return r;
        }

        return sd_bus_message_close_container(message);
}

static int append_binds(sd_bus_message *message, char *const *list) {
        int r;

        r = sd_bus_message_open_container(message, 'a', "(ssbt)");
        if (r < 0)
                return r;

        for (size_t i = 0; list && list[i]; i += 2) {
                bool optional = list[i][0] == '-', alone = list[i][0] == '=';

                r = sd_bus_message_append(message, "(ssbt)", list[i] + (optional || alone), list[i + 1],
                        (int) optional, alone ? UINT64_C(0) : BIND_RECURSIVE);
                if (r < 0)
                        return r;
        }

        return sd_bus_message_close_container(message);
}

static int append_words(sd_bus_message *message, bool allow, char *const *list) {
        int r;

        r = sd_bus_message_open_container(message, 'r', "bas");
        if (r < 0)
                return r;

        r = sd_bus_message_append(message, "b", (int) allow);
        if (r < 0)
                return r;

        r = append_strings(message, list);
        if (r < 0)
                return r;

        return sd_bus_message_close_container(message);
}

/* "127.0.0.0/8" into family, bytes and prefix length. */
static int address_parse(const char *text, int *ret_family, uint8_t ret_bytes[static 16], size_t *ret_size,
        uint32_t *ret_prefix) {
        char host[INET6_ADDRSTRLEN] = "";
        const char *slash = strchr(text, '/');
        int family = strchr(text, ':') ? AF_INET6 : AF_INET;
        uint64_t prefix;

        if (!slash || (size_t) (slash - text) >= sizeof host || parse_u64(slash + 1, &prefix) < 0 || prefix > 128)
                return -EINVAL;

        memcpy(host, text, (size_t) (slash - text));
        if (inet_pton(family, host, ret_bytes) != 1)
                return -EINVAL;

        *ret_family = family;
        *ret_size = family == AF_INET6 ? 16 : 4;
        *ret_prefix = (uint32_t) prefix;
        return 0;
}

static int append_addresses(sd_bus_message *message, char *const *list) {
        int r;

        r = sd_bus_message_open_container(message, 'a', "(iayu)");
        if (r < 0)
                return r;

        for (size_t i = 0; list && list[i]; i++) {
                uint8_t bytes[16];
                uint32_t prefix;
                size_t size;
                int family;

                r = address_parse(list[i], &family, bytes, &size, &prefix);
                if (r < 0)
                        return r;

                r = sd_bus_message_open_container(message, 'r', "iayu");
                if (r < 0)
                        return r;
                r = sd_bus_message_append(message, "i", family);
                if (r < 0)
                        return r;
                r = sd_bus_message_append_array(message, 'y', bytes, size);
                if (r < 0)
                        return r;
                r = sd_bus_message_append(message, "u", prefix);
                if (r < 0)
                        return r;
                r = sd_bus_message_close_container(message);
                if (r < 0)
                        return r;
        }

        return sd_bus_message_close_container(message);
}

static int append_exec(sd_bus_message *message, char *const *argv) {
        int r;

        r = sd_bus_message_open_container(message, 'a', "(sasb)");
        if (r < 0)
                return r;
        r = sd_bus_message_open_container(message, 'r', "sasb");
        if (r < 0)
                return r;
        r = sd_bus_message_append(message, "s", argv[0]);
        if (r < 0)
                return r;
        r = append_strings(message, argv);
        if (r < 0)
                return r;
        r = sd_bus_message_append(message, "b", /* ignore_failure= */ 0);
        if (r < 0)
                return r;
        r = sd_bus_message_close_container(message);
        if (r < 0)
                return r;

        return sd_bus_message_close_container(message);
}

static int append_value(const Property *property, sd_bus_message *message) {
        switch (property->kind) {
        case PROPERTY_BOOL:
                return sd_bus_message_append(message, "b", (int) property->flag);
        case PROPERTY_U64:
                return sd_bus_message_append(message, "t", property->number);
        case PROPERTY_I32:
                return sd_bus_message_append(message, "i", (int32_t) property->number);
        case PROPERTY_STRING:
                return sd_bus_message_append(message, "s", property->text);
        case PROPERTY_STRINGS:
                return append_strings(message, property->list);
        case PROPERTY_PAIRS:
                return append_pairs(message, property->list);
        case PROPERTY_BINDS:
                return append_binds(message, property->list);
        case PROPERTY_WORDS:
                return append_words(message, property->flag, property->list);
        case PROPERTY_ADDRESSES:
                return append_addresses(message, property->list);
        case PROPERTY_EXEC:
                return append_exec(message, property->list);
        case PROPERTY_FD:
                return sd_bus_message_append(message, "h", property->fd);
        }
        return -EINVAL;
}

int properties_append(const Properties *properties, sd_bus_message *message) {
        for (size_t i = 0; i < properties->n; i++) {
                const Property *property = properties->items + i;
                int r;

                r = sd_bus_message_open_container(message, 'r', "sv");
                if (r < 0)
                        return r;
                r = sd_bus_message_append(message, "s", property->name);
                if (r < 0)
                        return r;
                r = sd_bus_message_open_container(message, 'v', signatures[property->kind]);
                if (r < 0)
                        return r;
                r = append_value(property, message);
                if (r < 0)
                        return r;
                r = sd_bus_message_close_container(message);
                if (r < 0)
                        return r;
                r = sd_bus_message_close_container(message);
                if (r < 0)
                        return r;
        }

        return 0;
}

/* ---- into a document ---- */

static json_object *data_from_list(char *const *list) {
        json_object *array = json_object_new_array();

        for (size_t i = 0; array && list && list[i]; i++)
                json_object_array_add(array, json_object_new_string(list[i]));
        return array;
}

static json_object *data_from_pairs(char *const *list, bool binds) {
        json_object *array = json_object_new_array();

        for (size_t i = 0; array && list && list[i]; i += 2) {
                bool optional = binds && list[i][0] == '-', alone = binds && list[i][0] == '=';
                json_object *pair = json_object_new_array();

                if (!pair)
                        break;
                json_object_array_add(pair, json_object_new_string(list[i] + (optional || alone)));
                json_object_array_add(pair, json_object_new_string(list[i + 1]));
                if (binds) {
                        json_object_array_add(pair, json_object_new_boolean(optional));
                        json_object_array_add(pair, json_object_new_uint64(alone ? 0 : BIND_RECURSIVE));
                }
                json_object_array_add(array, pair);
        }
        return array;
}

static json_object *data_from_addresses(char *const *list) {
        json_object *array = json_object_new_array();

        for (size_t i = 0; array && list && list[i]; i++) {
                json_object *entry = json_object_new_array(), *octets = json_object_new_array();
                uint8_t bytes[16];
                uint32_t prefix;
                size_t size;
                int family;

                if (!entry || !octets || address_parse(list[i], &family, bytes, &size, &prefix) < 0) {
                        json_object_put(entry);
                        json_object_put(octets);
                        break;
                }
                for (size_t k = 0; k < size; k++)
                        json_object_array_add(octets, json_object_new_uint64(bytes[k]));
                json_object_array_add(entry, json_object_new_int(family));
                json_object_array_add(entry, octets);
                json_object_array_add(entry, json_object_new_uint64(prefix));
                json_object_array_add(array, entry);
        }
        return array;
}

static json_object *data_from_exec(char *const *argv) {
        json_object *array = json_object_new_array(), *command = json_object_new_array();

        if (array && command) {
                json_object_array_add(command, json_object_new_string(argv[0]));
                json_object_array_add(command, data_from_list(argv));
                json_object_array_add(command, json_object_new_boolean(false));
                json_object_array_add(array, command);
        }
        return array;
}

static json_object *data_from_words(bool allow, char *const *list) {
        json_object *array = json_object_new_array();

        if (array) {
                json_object_array_add(array, json_object_new_boolean(allow));
                json_object_array_add(array, data_from_list(list));
        }
        return array;
}

static json_object *data_from(const Property *property) {
        switch (property->kind) {
        case PROPERTY_BOOL:
                return json_object_new_boolean(property->flag);
        case PROPERTY_U64:
                return json_object_new_uint64(property->number);
        case PROPERTY_I32:
                return json_object_new_int64((int32_t) property->number);
        case PROPERTY_STRING:
                return json_object_new_string(property->text);
        case PROPERTY_STRINGS:
                return data_from_list(property->list);
        case PROPERTY_PAIRS:
                return data_from_pairs(property->list, /* binds= */ false);
        case PROPERTY_BINDS:
                return data_from_pairs(property->list, /* binds= */ true);
        case PROPERTY_WORDS:
                return data_from_words(property->flag, property->list);
        case PROPERTY_ADDRESSES:
                return data_from_addresses(property->list);
        case PROPERTY_EXEC:
                return data_from_exec(property->list);
        case PROPERTY_FD:
                return json_object_new_int(property->fd);
        }
        return NULL;
}

static int typed(const char *type, json_object *data, json_object **ret) {
        own(json_freep) json_object *owned = data, *object = json_object_new_object();
        int r;

        if (!data || !object)
                return -ENOMEM;

        r = json_add_string(object, "type", type);
        if (r < 0)
                return r;
        r = json_add_object(object, "data", hand_over(owned));
        if (r < 0)
                return r;

        *ret = hand_over(object);
        return 0;
}

int property_to_json(const Property *property, json_object **ret) {
        return typed(signatures[property->kind], data_from(property), ret);
}

int properties_to_json(const Properties *properties, json_object **ret) {
        own(json_freep) json_object *object = json_object_new_object();

        if (!object)
                return -ENOMEM;

        for (size_t i = 0; i < properties->n; i++) {
                const Property *property = properties->items + i;
                json_object *value, *before;
                int r;

                if (property->write_only)
                        continue;
                r = property_to_json(property, &value);
                if (r < 0)
                        return r;

                if (json_object_object_get_ex(object, property->name, &before)) {
                        json_object *both = before;

                        if (!json_object_is_type(before, json_type_array)) {
                                both = json_object_new_array();
                                if (!both) {
                                        json_object_put(value);
                                        return -ENOMEM;
                                }
                                json_object_array_add(both, json_object_get(before));
                                json_object_object_add(object, property->name, both);
                        }
                        json_object_array_add(both, value);
                        continue;
                }
                r = json_add_object(object, property->name, value);
                if (r < 0)
                        return r;
        }

        *ret = hand_over(object);
        return 0;
}
