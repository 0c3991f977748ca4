/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Which language a file is in. The daemon's files say it, so a language that an administrator adds is known
 * here. */

#include <string.h>

#include "base/own.h"
#include "base/text.h"
#include "cli/document.h"
#include "cli/language.h"

/* A suffix alone, without a name before it, is the name of a hidden file. */
static size_t suffix_size(json_object *language, const char *file) {
        json_object *suffixes = document_list(language, "suffixes");
        size_t best = 0;

        for (size_t i = 0; suffixes && i < json_object_array_length(suffixes); i++) {
                const char *suffix = json_object_get_string(json_object_array_get_idx(suffixes, i));

                if (suffix && ends_with(file, suffix) && strlen(suffix) > best &&
                        strlen(suffix) < strlen(file))
                        best = strlen(suffix);
        }
        return best;
}

const char *language_by_suffix(json_object *languages, const char *file, const char *wanted) {
        const char *found = NULL;
        size_t best = 0;

        for (size_t i = 0; i < json_object_array_length(languages); i++) {
                json_object *language = json_object_array_get_idx(languages, i);
                const char *name = document_text(language, "name");
                size_t size = suffix_size(language, file);

                if (!name || (wanted && !streq(name, wanted)) || size <= best)
                        continue;
                best = size;
                found = name;
        }
        return found;
}
