/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * What systemd says of a property, turned into the same document that our own value has, so that both can be
 * compared and shown. Walks any value by its signature: scalars, strings, arrays and structs.
 */

#include <errno.h>
#include <string.h>

#include "base/json.h"
#include "unit/property.h"

static int read_value(sd_bus_message *message, json_object **ret);

static int read_basic(sd_bus_message *message, char type, json_object **ret) {
        union {
                uint8_t byte;
                int flag;
                int16_t i16;
                uint16_t u16;
                int32_t i32;
                uint32_t u32;
                int64_t i64;
                uint64_t u64;
                double real;
                const char *text;
        } value;
        json_object *object;
        int r;

        r = sd_bus_message_read_basic(message, type, &value);
        if (r < 0)
                return r;

        switch (type) {
        case 'y':
                object = json_object_new_uint64(value.byte);
                break;
        case 'b':
                object = json_object_new_boolean(value.flag);
                break;
        case 'n':
                object = json_object_new_int64(value.i16);
                break;
        case 'q':
                object = json_object_new_uint64(value.u16);
                break;
        case 'i':
        case 'h':
                object = json_object_new_int64(value.i32);
                break;
        case 'u':
                object = json_object_new_uint64(value.u32);
                break;
        case 'x':
                object = json_object_new_int64(value.i64);
                break;
        case 't':
                object = json_object_new_uint64(value.u64);
                break;
        case 'd':
                object = json_object_new_double(value.real);
                break;
        case 's':
        case 'o':
        case 'g':
                object = json_object_new_string(value.text);
                break;
        default:
                return -EBADMSG;
        }

        if (!object)
                return -ENOMEM;
        *ret = object;
        return 0;
}

static int read_container(sd_bus_message *message, char type, const char *contents, json_object **ret) {
        own(json_freep) json_object *array = json_object_new_array();
        int r;

        if (!array)
                return -ENOMEM;

        r = sd_bus_message_enter_container(message, type, contents);
        if (r < 0)
                return r;

        while ((r = sd_bus_message_at_end(message, /* complete= */ 0)) == 0) {
                json_object *item;

                r = read_value(message, &item);
                if (r < 0)
                        return r;
                if (json_object_array_add(array, item) < 0) {
                        json_object_put(item);
                        return -ENOMEM;
                }
        }
        if (r < 0)
                return r;

        r = sd_bus_message_exit_container(message);
        if (r < 0)
                return r;

        *ret = hand_over(array);
        return 0;
}

static int read_value(sd_bus_message *message, json_object **ret) {
        const char *contents;
        char type;
        int r;

        r = sd_bus_message_peek_type(message, &type, &contents);
        if (r < 0)
                return r;
        if (r == 0)
                return -EBADMSG;

        return strchr("arev", type) ? read_container(message, type, contents, ret) : read_basic(message, type, ret);
}

int property_read_json(sd_bus_message *message, json_object **ret) {
        own(json_freep) json_object *object = NULL, *data = NULL;
        const char *contents;
        char type;
        int r;

        r = sd_bus_message_peek_type(message, &type, &contents);
        if (r < 0)
                return r;
        if (r == 0 || type != 'v')
                return -EBADMSG;

        object = json_object_new_object();
        if (!object)
                return -ENOMEM;
        r = json_add_string(object, "type", contents);
        if (r < 0)
                return r;

        r = sd_bus_message_enter_container(message, 'v', contents);
        if (r < 0)
                return r;
        r = read_value(message, &data);
        if (r < 0)
                return r;
        r = sd_bus_message_exit_container(message);
        if (r < 0)
                return r;

        r = json_add_object(object, "data", hand_over(data));
        if (r < 0)
                return r;

        *ret = hand_over(object);
        return 0;
}
