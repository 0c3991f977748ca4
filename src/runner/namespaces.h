/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "handover/message.h"

/* Inode numbers of /proc/<process>/ns; process is "self" or a number. */
int namespaces_read(const char *process, uint64_t ret[static NAMESPACE_N]);

/*
 * Whether this process lives apart from the host: 0, or the positive 1 + NamespaceId of the first namespace
 * that is the host's own. A number that is 0 is not known and not compared.
 */
int namespaces_compare(
        const uint64_t own_numbers[static NAMESPACE_N], const uint64_t host[static NAMESPACE_N]);

/* "net 4026531840", a line each, into a file of mode 0644. The host's are those of process "1". */
int namespaces_record(const char *process, const char *path);
