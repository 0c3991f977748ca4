/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What policy and language files have in common: they are called what their file is called. */

#include <errno.h>
#include <string.h>

#include "policy/document.h"

int document_check_name(const char *name, const char *source_path, JsonError *reterr) {
        const char *base;
        size_t size = strlen(name);

        if (!name_is_valid(name, 64)) {
                json_error_set(reterr, "name", "must be 1 to 64 letters, digits, \"_\", \"-\" and \".\"");
                return -EINVAL;
        }
        if (!source_path || !*source_path)
                return 0;
        base = strrchr(source_path, '/');
        base = base ? base + 1 : source_path;
        if (strncmp(base, name, size) != 0 || !streq(base + size, ".json")) {
                json_error_set(reterr, "name",
                        "is \"%s\", but must be that of the file, \"%s\" without \".json\"", name, base);
                return -EINVAL;
        }
        return 0;
}

int document_locate(const char *text, size_t size, int r, JsonError *reterr) {
        if (r == -EINVAL && reterr && reterr->line == 0 && reterr->key[0])
                reterr->line = json_find_line(text, size, reterr->key);
        return r;
}
