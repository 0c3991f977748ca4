/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Prints what the wall looks like from inside (handover/inspect.h). The result is the exit status. */
int inspect(void);

/* Its parts, each printing facts. */
void inspect_process(void); /* who we are, what we hold, whom we see */
void inspect_places(void);  /* mounts, what exists, what opens, where one can write */
void inspect_calls(void);   /* system calls and sockets */

/* "name value\n". The name is one word; control characters in the value become question marks. */
void fact(const char *name, const char *format, ...) __attribute__((format(printf, 2, 3)));
void fact_errno(const char *kind, const char *name, int error); /* "kind:name ENOENT", 0 is "ok" */
const char *errno_word(int error, char buffer[static 16]);
