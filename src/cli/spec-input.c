/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * What runs, from the command line. There are four ways to say it, and never a guess between them:
 *
 *   --language L CODE      the operand is the code, unless it is "-" or plainly the name of an L file
 *   FILE                   the suffix tells the language
 *   -- PROGRAM ARG…        a program that is there inside
 *   --spec FILE            a whole spec, to which the other words are added
 */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/own.h"
#include "cli/bus.h"
#include "cli/document.h"
#include "cli/language.h"
#include "cli/spec-input.h"
#include "cli/word.h"
#include "spec/spec.h"

enum {
        OPTION_CODE_FILE = OPTION_LONG_ONLY,
        OPTION_STDIN,
        OPTION_LIMIT,
        OPTION_POLICY,
        OPTION_ALLOW_PATH,
        OPTION_LABEL,
        OPTION_TASK_ID,
        OPTION_SPEC,
};

const char spec_synopsis[] = "[OPTION…] --language LANGUAGE CODE|FILE|- [ARG…]\n"
                             "[OPTION…] FILE [ARG…]\n"
                             "[OPTION…] -- PROGRAM [ARG…]\n"
                             "[OPTION…] --spec FILE|- [CODE|FILE|- [ARG…]]";

const char spec_details[] =
        "With --language, the operand is the code itself; \"-\" reads it from stdin, and one word that "
        "ends\n"
        "with a suffix of that language (script.py) is the name of a file. Without --language, the operand "
        "is\n"
        "a file whose suffix decides. Options end at the operand: what follows goes to the program.\n";

static const Option options[] = {
        {'l', "language", "LANGUAGE", "the language of the code (\"unitcell languages\" lists them)"},
        {OPTION_CODE_FILE, "code-file", "FILE",
                "take the code from FILE, whatever its name; needs\n--language, and all operands are ARGs"},
        {OPTION_STDIN, "stdin", "FILE|-", "the program's stdin; empty without this"},
        {'f', "file", "[NAME=]LOCAL", "put a local file into the workspace, as NAME"},
        {'e', "env", "NAME=VALUE", "set a variable of the program's environment"},
        {'t', "timeout", "DURATION", "wall-clock limit: 5s, 500ms, 2min, 1h"},
        {OPTION_LIMIT, "limit", "KEY=VALUE",
                "another limit: memory_mb=128, cpu_cpus=0.5, pids_max=32,\ndisk_mb=64, … "
                "(unitcell-spec(5))"},
        {OPTION_POLICY, "policy", "NAME", "the policy to run under (\"unitcell policies\" lists them)"},
        {OPTION_ALLOW_PATH, "allow-path", "PATH",
                "make a directory inside, under /workspace, /tmp, /var/tmp\nor /output"},
        {OPTION_LABEL, "label", "KEY=VALUE", "a label for the records"},
        {OPTION_TASK_ID, "task-id", "ID", "the caller's name for this, for the records"},
        {OPTION_SPEC, "spec", "FILE|-",
                "start from a whole spec (JSON); what is said besides\nreplaces or adds to what it says"},
};

const OptionList spec_option_list = OPTION_LIST(options);

void spec_input_clear(SpecInput *input) {
        spec_parts_clear(&input->parts);
        strv_freep(&input->files);
}

/* ---- options ---- */

static int add_assignment(char ***list, const char *option, const char *value) {
        int r;

        if (!strchr(value, '=') || value[0] == '=') {
                complain("%s must be NAME=VALUE, not \"%s\"", option, value);
                return -EINVAL;
        }
        r = strv_append(list, value);
        return r < 0 ? complain_errno(r, option), -EINVAL : 0;
}

static int add_word(char ***list, const char *option, const char *value) {
        int r = strv_append(list, value);

        return r < 0 ? complain_errno(r, option), -EINVAL : 0;
}

static int set_timeout(SpecInput *input, const char *value) {
        if (parse_duration_ms(value, &input->parts.limits.value[LIMIT_TIMEOUT_MS]) < 0) {
                complain("--timeout must be a time such as 5s, 500ms, 2min or 1h, not \"%s\"", value);
                return -EINVAL;
        }
        input->parts.limits.given[LIMIT_TIMEOUT_MS] = true;
        return 0;
}

static int set_limit(SpecInput *input, const char *value) {
        JsonError error;
        uint64_t number;
        LimitId id;

        if (parse_limit(value, &id, &number, &error) < 0) {
                complain("%s: %s", error.key, error.message);
                return -EINVAL;
        }
        input->parts.limits.value[id] = number;
        input->parts.limits.given[id] = true;
        return 0;
}

int spec_input_option(SpecInput *input, int id, const char *value) {
        SpecParts *parts = &input->parts;

        input->said += id != OPTION_SPEC;
        switch (id) {
        case 'l':
                parts->language = value;
                return 0;
        case 'f':
                return add_word(&input->files, "--file", value);
        case 'e':
                return add_assignment(&parts->env, "--env", value);
        case 't':
                return set_timeout(input, value);
        case OPTION_CODE_FILE:
                input->code_file = value;
                return 0;
        case OPTION_STDIN:
                input->stdin_file = value;
                return 0;
        case OPTION_LIMIT:
                return set_limit(input, value);
        case OPTION_POLICY:
                parts->policy = value;
                return 0;
        case OPTION_ALLOW_PATH:
                return add_word(&parts->allowed_paths, "--allow-path", value);
        case OPTION_LABEL:
                return add_assignment(&parts->labels, "--label", value);
        case OPTION_TASK_ID:
                parts->task_id = value;
                return 0;
        case OPTION_SPEC:
                input->spec_file = value;
                return 0;
        }
        return -EINVAL;
}

/* ---- the grammar ---- */

static bool is_plain_argv(const SpecInput *input, const Operands *operands) {
        return operands->dashes && !input->parts.language && !input->code_file;
}

static int check_stdin(const SpecInput *input, const Operands *operands) {
        bool code = (input->code_file && streq(input->code_file, "-")) ||
                    (!input->code_file && !is_plain_argv(input, operands) && operands->n > 0 &&
                            streq(operands->list[0], "-"));
        bool spec = input->spec_file && streq(input->spec_file, "-");
        bool data = input->stdin_file && streq(input->stdin_file, "-");

        if (code + spec + data > 1)
                return complain_usage(
                        input->verb, "Only one of the code, --spec and --stdin can come from stdin");
        if (code && !input->parts.language && !input->spec_file)
                return complain_usage(
                        input->verb, "Code from stdin has no suffix: name its language with --language");
        return 0;
}

int spec_input_check(const SpecInput *input, const Operands *operands) {
        const char *language = input->parts.language;

        if (input->code_file && !language && !input->spec_file)
                return complain_usage(input->verb, "--code-file needs --language");
        if (operands->n == 0 && !input->code_file && !input->spec_file)
                return complain_usage(
                        input->verb, "Nothing to run: give code with --language, a file, or -- PROGRAM");
        if (is_plain_argv(input, operands) && operands->n == 0)
                return complain_usage(input->verb, "-- must be followed by a program");
        if (is_plain_argv(input, operands) && operands->list[0][0] != '/')
                return complain_usage(input->verb,
                        "After -- comes a program by its absolute path, such as /usr/bin/env, not \"%s\"",
                        operands->list[0]);
        return check_stdin(input, operands);
}

/* ---- files ---- */

/* Pipes too: <(…) of a shell. An exit status. */
static int read_local(const char *path, size_t max, const char *what, Bytes *ret) {
        own(close_fdp) int opened = -1;
        int fd = STDIN_FILENO, r;

        if (!streq(path, "-")) {
                fd = opened = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
                if (fd < 0)
                        return complain_errno(-errno, path);
        }
        r = fd_read_all(fd, max, ret);
        if (r == -EFBIG) {
                complain(
                        "TooLarge: %s: %s may have at most %zu bytes (%zu MiB)", path, what, max, max >> 20);
                return EXIT_OURS;
        }
        return r < 0 ? complain_errno(r, path) : 0;
}

static int read_files(SpecInput *input) {
        for (size_t i = 0; input->files && input->files[i]; i++) {
                const char *local = strchr(input->files[i], '=');
                own(freep) char *name = NULL;
                own(bytes_clear) Bytes content = {};
                int r;

                if (local) {
                        name = strndup(input->files[i], (size_t) (local - input->files[i]));
                        local++;
                } else {
                        local = input->files[i];
                        name = strdup(file_default_name(local));
                }
                if (!name)
                        return complain_errno(-ENOMEM, "--file");
                if (streq(local, "-"))
                        local = "./-"; /* stdin is not for files */
                r = read_local(local, SPEC_SIZE_MAX, "a file", &content);
                if (r > 0)
                        return r;
                r = spec_parts_add_file(&input->parts, name, &content);
                if (r < 0)
                        return complain_errno(r, "--file");
        }
        return 0;
}

/* A whole spec goes as it is, so that what the daemon says of it names its lines. An exit status. */
static int read_whole_spec(const SpecInput *input, char **ret) {
        own(bytes_clear) Bytes text = {};
        int r;

        r = read_local(input->spec_file, SPEC_SIZE_MAX, "a spec", &text);
        if (r > 0)
                return r;
        if (!utf8_is_valid(text.data, text.size) || strlen(text.data) != text.size) {
                complain("InvalidSpec: %s: a spec is JSON in UTF-8, without NUL bytes", input->spec_file);
                return EXIT_OURS;
        }
        *ret = hand_over(text.data);
        return 0;
}

static int read_base(SpecInput *input) {
        own(freep) char *text = NULL;
        JsonError error;
        int r;

        if (!input->spec_file)
                return 0;
        r = read_whole_spec(input, &text);
        if (r > 0)
                return r;
        r = json_parse(text, strlen(text), &input->parts.base, &error);
        if (r == -EINVAL) {
                complain("InvalidSpec: %s: line %u: %s %s", input->spec_file, error.line, error.key,
                        error.message);
                return EXIT_OURS;
        }
        return r < 0 ? complain_errno(r, input->spec_file) : 0;
}

/* ---- languages ---- */

/* A new string, or NULL when no language has that suffix. An exit status. */
static int ask_language(sd_bus *bus, const char *file, const char *wanted, char **ret) {
        own(json_freep) json_object *languages = NULL;
        own(freep) char *text = NULL;
        const char *name;
        int r;

        *ret = NULL;
        r = bus_ask(bus, "ListLanguages", /* types= */ NULL, /* argument= */ NULL, &text);
        if (r > 0)
                return r;
        r = document_parse_list(text, &languages);
        if (r < 0)
                return complain_errno(r, "The list of languages cannot be read");
        name = language_by_suffix(languages, file, wanted);
        if (!name)
                return 0;
        *ret = strdup(name);
        return *ret ? 0 : complain_errno(-ENOMEM, file);
}

/* ---- all together ---- */

/* The operand that says what runs: code, or where it is. language: what was found by the suffix. */
static int read_code(SpecInput *input, const char *operand, sd_bus *bus, char **ret_language) {
        SpecParts *parts = &input->parts;
        bool is_file = !parts->language;
        int r;

        if (!streq(operand, "-") && !input->code_file && (is_file || word_looks_like_file(operand))) {
                r = ask_language(bus, operand, parts->language, ret_language);
                if (r > 0)
                        return r;
                if (!*ret_language && is_file)
                        return complain_usage(input->verb,
                                "No language has the suffix of \"%s\": name one with --language", operand);
                is_file = *ret_language;
        }
        if (!is_file && !streq(operand, "-") && !input->code_file) {
                r = bytes_copy(operand, strlen(operand), &parts->code);
                if (r < 0)
                        return complain_errno(r, "The code");
        } else {
                r = read_local(operand, SPEC_CODE_MAX, "code", &parts->code);
                if (r > 0)
                        return r;
        }
        if (*ret_language)
                parts->language = *ret_language;
        parts->code_given = true;
        return 0;
}

static int read_what_runs(SpecInput *input, const Operands *operands, sd_bus *bus, char **ret_language) {
        char **rest = operands->list;
        const char *operand;

        if (is_plain_argv(input, operands)) {
                input->parts.argv = rest;
                return 0;
        }
        operand = input->code_file ? input->code_file : operands->n > 0 ? *rest++ : NULL;
        input->parts.args = rest;
        return operand ? read_code(input, operand, bus, ret_language) : 0;
}

static int build(const SpecInput *input, char **ret) {
        own(json_freep) json_object *spec = NULL;
        own(freep) char *text = NULL;
        JsonError error;
        int r;

        r = spec_build(&input->parts, &spec, &error);
        if (r == -EINVAL)
                return complain_usage(input->verb, "%s: %s", error.key, error.message);
        if (r >= 0)
                r = json_to_text(spec, /* pretty= */ false, &text);
        if (r < 0)
                return complain_errno(r, "The spec");
        if (strlen(text) > SPEC_SIZE_MAX) {
                complain("TooLarge: the spec is %zu bytes, at most %u (30 MiB) are read", strlen(text),
                        SPEC_SIZE_MAX);
                return EXIT_OURS;
        }
        *ret = hand_over(text);
        return 0;
}

int spec_input_read(SpecInput *input, const Operands *operands, sd_bus *bus, char **ret) {
        own(freep) char *language = NULL;
        int r;

        if (input->spec_file && !input->said && operands->n == 0)
                return read_whole_spec(input, ret);

        r = read_base(input);
        if (r == 0)
                r = read_what_runs(input, operands, bus, &language);
        if (r == 0 && input->stdin_file) {
                r = read_local(input->stdin_file, SPEC_STDIN_MAX, "stdin", &input->parts.stdin_data);
                input->parts.stdin_given = true;
        }
        if (r == 0)
                r = read_files(input);
        if (r == 0)
                r = build(input, ret);
        input->parts.language = NULL; /* may have been ours */
        return r;
}
