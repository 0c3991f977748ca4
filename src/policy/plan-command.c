/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * The command lines of a plan: a language's words with its placeholders filled. Some of them carry limits, since an
 * interpreter that looks at the host's memory or cores dies of the limit instead of keeping to it.
 */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "policy/plan-parts.h"
#include "spec/environment.h"

/* What the values of a plan look like on a command line. */
typedef struct Fill {
        const char *interpreter, *code;
        char memory_mb[24], heap_mb[24], cpus[24];
} Fill;

static void fill_init(const Plan *plan, const char *interpreter, const char *code, Fill *ret) {
        uint64_t memory = plan->limit[LIMIT_MEMORY_MB], cpus = plan->limit[LIMIT_CPU_CPUS];

        *ret = (Fill){.interpreter = interpreter, .code = code};
        (void) snprintf(ret->memory_mb, sizeof ret->memory_mb, "%" PRIu64, memory);
        /* Room for what is not heap: code, stacks, buffers, the files of the workspace. */
        (void) snprintf(ret->heap_mb, sizeof ret->heap_mb, "%" PRIu64, memory * 3 / 4);
        (void) snprintf(ret->cpus, sizeof ret->cpus, "%" PRIu64, cpus > 1000 ? (cpus + 999) / 1000 : 1);
}

/* One entry with its placeholders filled. */
static int fill_entry(const char *entry, const Fill *fill, char **ret) {
        const struct {
                const char *name, *value;
        } rows[] = {
                {"{interpreter}", fill->interpreter},
                {"{code}", fill->code},
                {"{program}", PLAN_PROGRAM},
                {"{memory_mb}", fill->memory_mb},
                {"{heap_mb}", fill->heap_mb},
                {"{cpus}", fill->cpus},
        };
        own(freep) char *text = NULL;
        size_t size = 0;
        FILE *stream = open_memstream(&text, &size);

        if (!stream)
                return -ENOMEM;
        for (const char *at = entry; *at;) {
                size_t i = 0;

                while (i < ELEMENTS(rows) && !(rows[i].value && starts_with(at, rows[i].name)))
                        i++;
                if (i < ELEMENTS(rows)) {
                        (void) fputs(rows[i].value, stream);
                        at += strlen(rows[i].name);
                } else {
                        (void) fputc(*at++, stream);
                }
        }
        if (fclose(stream) != 0)
                return -ENOMEM;

        *ret = hand_over(text);
        return 0;
}

static int fill_command(char *const *command, const Fill *fill, char *const *args, char ***ret) {
        own(strv_freep) char **filled = NULL;
        size_t n = 0;

        if (!command)
                return 0;
        filled = calloc(strv_length(command) * (strv_length(args) + 1) + 1, sizeof(char *));
        if (!filled)
                return -ENOMEM;
        for (size_t i = 0; command[i]; i++) {
                int r;

                if (!streq(command[i], "{args}")) {
                        r = fill_entry(command[i], fill, &filled[n++]);
                        if (r < 0)
                                return r;
                        continue;
                }
                for (size_t k = 0; args && args[k]; k++) {
                        filled[n] = strdup(args[k]);
                        if (!filled[n++])
                                return -ENOMEM;
                }
        }

        *ret = hand_over(filled);
        return 0;
}

int plan_resolve_command(Plan *plan, const Spec *spec, const Language *language, const char *interpreter) {
        own(freep) char *code = NULL;
        Fill fill;
        int r;

        if (!language) {
                /* args may stand beside argv: they follow it */
                r = strv_copy(spec->argv, &plan->argv);
                for (size_t i = 0; r >= 0 && spec->args && spec->args[i]; i++)
                        r = strv_append(&plan->argv, spec->args[i]);
                return r;
        }

        plan->code_file = strdup(language->file);
        if (!plan->code_file)
                return -ENOMEM;
        if (asprintf(&code, "%s/%s", PLAN_CODE_DIRECTORY, language->file) < 0) {
                code = NULL;
                return -ENOMEM;
        }
        fill_init(plan, interpreter, code, &fill);
        r = fill_command(language->compile, &fill, /* args= */ NULL, &plan->compile);
        if (r < 0)
                return r;
        return fill_command(language->argv, &fill, spec->args, &plan->argv);
}

int plan_merge_language_environment(Plan *plan, const Language *language) {
        Fill fill;

        fill_init(plan, /* interpreter= */ NULL, /* code= */ NULL, &fill);
        for (size_t i = 0; language->environment && language->environment[i]; i++) {
                own(freep) char *assignment = NULL;
                int r;

                r = fill_entry(language->environment[i], &fill, &assignment);
                if (r < 0)
                        return r;
                r = environment_set(&plan->env, assignment);
                if (r < 0)
                        return r;
        }
        return 0;
}
