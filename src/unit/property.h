/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * One property of a transient unit, as a value: it goes into StartTransientUnit, is shown by Explain, and is
 * compared with what systemd says afterwards. The document form is that of `busctl --json`: {"type", "data"}.
 */

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <systemd/sd-bus.h>

#include "base/own.h"

typedef enum PropertyKind {
        PROPERTY_BOOL,      /* b */
        PROPERTY_U64,       /* t */
        PROPERTY_I32,       /* i */
        PROPERTY_STRING,    /* s */
        PROPERTY_STRINGS,   /* as */
        PROPERTY_PAIRS,     /* a(ss): list holds first, second, first, second, … */
        PROPERTY_BINDS,     /* a(ssbt): source, target, …; a source with a leading "-" is ignored when missing, one
                             * with a leading "=" is bound without the mounts below it */
        PROPERTY_WORDS,     /* (bas): flag says allow-list, list holds the words */
        PROPERTY_ADDRESSES, /* a(iayu): list holds "127.0.0.0/8", … */
        PROPERTY_EXEC,      /* a(sasb): list is the argv of one command */
        PROPERTY_FD,        /* h */
} PropertyKind;

typedef struct Property {
        const char *name; /* static */
        PropertyKind kind;
        bool write_only;  /* systemd does not tell it back in this form: not shown, not compared */
        bool flag;
        uint64_t number;
        int fd;
        char *text;
        char **list;
} Property;

typedef struct Properties {
        Property *items;
        size_t n;
} Properties;

void properties_clear(Properties *properties);

/* Each adds one property; the strings are copied. */
int property_add_bool(Properties *properties, const char *name, bool value);
int property_add_u64(Properties *properties, const char *name, uint64_t value);
int property_add_i32(Properties *properties, const char *name, int32_t value);
int property_add_string(Properties *properties, const char *name, const char *value);
int property_add_list(Properties *properties, const char *name, PropertyKind kind, bool flag, char *const *list);
int property_add_fd(Properties *properties, const char *name, int fd);

/* Appends (sv) … for all into an open a(sv) container. */
int properties_append(const Properties *properties, sd_bus_message *message);

/* {"type": "t", "data": 268435456} */
int property_to_json(const Property *property, json_object **ret);
/* {"MemoryMax": {"type": …, "data": …}, …}; a name that occurs twice gives an array of its values. */
int properties_to_json(const Properties *properties, json_object **ret);

/* The variant at the reader's position of message, in the same document form. Types of systemd's properties only. */
int property_read_json(sd_bus_message *message, json_object **ret);
