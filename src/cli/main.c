/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * unitcell: the service from the command line. A verb is a file; this one finds it, reads its options by its
 * table and shows its help from the same table.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/own.h"
#include "cli/cli.h"
#include "cli/table.h"

static const Verb *const verbs[] = {&verb_run, &verb_explain, &verb_languages, &verb_policies, &verb_policy,
        &verb_cancel, &verb_reload, &verb_doctor};

static void print_line(const char *format, va_list arguments) __attribute__((format(printf, 1, 0)));

static void print_line(const char *format, va_list arguments) {
        own(freep) char *text = NULL, *line = NULL;

        if (vasprintf(&text, format, arguments) < 0)
                text = NULL;
        if (!text || text_printable(text, &line) < 0)
                (void) fputs("unitcell: no memory for a message\n", stderr);
        else
                (void) fprintf(stderr, "unitcell: %s\n", line);
}

void complain(const char *format, ...) {
        va_list arguments;

        va_start(arguments, format);
        print_line(format, arguments);
        va_end(arguments);
}

int complain_usage(const Verb *verb, const char *format, ...) {
        va_list arguments;

        va_start(arguments, format);
        print_line(format, arguments);
        va_end(arguments);
        (void) fprintf(stderr, "Try \"unitcell %s --help\".\n", verb->name);
        return EXIT_USAGE;
}

int complain_errno(int error, const char *what) {
        complain("%s: %s", what, strerror(-error));
        return EXIT_OURS;
}

int write_out(const char *data, size_t size) {
        if (size > 0)
                (void) fwrite(data, 1, size, stdout);
        if (fflush(stdout) == 0 && !ferror(stdout))
                return 0;
        return complain_errno(errno > 0 ? -errno : -EIO, "stdout cannot be written");
}

int write_line(const char *text) {
        int r = write_out(text, strlen(text));

        return r == 0 ? write_out("\n", 1) : r;
}

/* ---- help ---- */

static void print_synopsis(const Verb *verb, FILE *stream) {
        const char *at = verb->synopsis, *head = "Usage:";

        for (;; at++) {
                size_t size = strcspn(at, "\n");

                (void) fprintf(stream, "%-6s unitcell %s%s%.*s\n", head, verb->name, size > 0 ? " " : "",
                        (int) size, at);
                at += size;
                head = "";
                if (!*at)
                        return;
        }
}

static void print_verb_help(const Verb *verb, FILE *stream) {
        print_synopsis(verb, stream);
        (void) fprintf(stream, "\n%s.\n", verb->summary);
        if (verb->details)
                (void) fprintf(stream, "\n%s", verb->details);
        (void) fputs("\nOptions:\n", stream);
        options_print(verb->lists, stream);
}

static void print_help(FILE *stream) {
        (void) fputs("Usage: unitcell VERB [OPTION…] [OPERAND…]\n\n"
                     "Run untrusted code, each execution confined in a systemd unit of its own.\n\nVerbs:\n",
                stream);
        for (size_t i = 0; i < ELEMENTS(verbs); i++)
                (void) fprintf(stream, "  %-12s%s\n", verbs[i]->name, verbs[i]->summary);
        (void) fputs("\nOptions:\n"
                     "  -h, --help                  show this\n"
                     "      --version               show the version\n",
                stream);
        for (size_t i = 0; i < ELEMENTS(verbs); i++) {
                (void) fprintf(stream, "\nOptions of %s:\n", verbs[i]->name);
                options_print(verbs[i]->lists, stream);
        }
        (void) fputs(
                "\nunitcell(1) has the exit statuses and examples, unitcell-spec(5) every key and limit.\n",
                stream);
}

/* ---- verbs ---- */

VerbAnswer verb_read(const Verb *verb, int argc, char **argv,
        int (*on_option)(int id, const char *value, void *userdata), void *userdata, Operands *ret) {
        OptionReader reader = {.argv = argv, .argc = argc, .at = 1};
        const char *value;
        int id;

        while ((id = option_next(&reader, verb->lists, &value)) > 0) {
                if (id == 'h') {
                        print_verb_help(verb, stdout);
                        return VERB_DONE;
                }
                if (on_option(id, value, userdata) < 0)
                        return VERB_WRONG;
        }
        if (id < 0) {
                (void) complain_usage(verb, "%s", reader.problem);
                return VERB_WRONG;
        }
        *ret = (Operands){.list = argv + reader.at, .n = argc - reader.at, .dashes = reader.dashes};
        return VERB_GO_ON;
}

static int on_json(int id, const char *value, void *userdata) {
        bool *json = userdata;

        *json = true;
        return 0;
}

VerbAnswer verb_read_json(const Verb *verb, int argc, char **argv, bool *ret_json, Operands *ret) {
        *ret_json = false;
        return verb_read(verb, argc, argv, on_json, ret_json, ret);
}

static const Verb *find_verb(const char *name) {
        for (size_t i = 0; i < ELEMENTS(verbs); i++)
                if (streq(verbs[i]->name, name))
                        return verbs[i];
        return NULL;
}

/* A caller's closed descriptor must not become a socket of ours that output then goes to. */
static int ensure_standard_streams(void) {
        int fd;

        do {
                fd = open("/dev/null", O_RDWR);
                if (fd < 0)
                        return -errno;
        } while (fd <= STDERR_FILENO);
        (void) close_fd(fd);
        return 0;
}

int main(int argc, char **argv) {
        const Verb *verb;
        const char *word = argc > 1 ? argv[1] : NULL;

        if (ensure_standard_streams() < 0)
                return EXIT_OURS;
        if (!word) {
                print_help(stderr);
                return EXIT_USAGE;
        }
        if (streq(word, "--help") || streq(word, "-h") || streq(word, "help")) {
                verb = argc > 2 ? find_verb(argv[2]) : NULL;
                if (verb)
                        print_verb_help(verb, stdout);
                else
                        print_help(stdout);
                return 0;
        }
        if (streq(word, "--version")) {
                (void) printf("unitcell %s\n", UNITCELL_VERSION);
                return 0;
        }

        verb = find_verb(word);
        if (!verb) {
                complain("There is no verb \"%s\"; \"unitcell --help\" lists them", word);
                return EXIT_USAGE;
        }
        return verb->run(verb, argc - 1, argv + 1);
}
