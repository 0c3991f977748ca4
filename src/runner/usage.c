/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Reads the held descriptors of memory.events, memory.peak, pids.events and cpu.stat. */

#include <string.h>

#include "base/file.h"
#include "base/own.h"
#include "base/text.h"
#include "runner/usage.h"

#define CGROUP_TEXT_MAX 4096

/* "key 12" on a line of its own; without a key the first line is the number. */
static uint64_t find_number(char *text, const char *key) {
        char *rest = text, *line;

        while ((line = strsep(&rest, "\n"))) {
                uint64_t value;

                if (key) {
                        size_t n = strlen(key);

                        if (strncmp(line, key, n) != 0 || line[n] != ' ')
                                continue;
                        line += n + 1;
                }

                return parse_u64(line, &value) < 0 ? HANDOVER_UNKNOWN : value;
        }

        return HANDOVER_UNKNOWN;
}

static uint64_t read_number(int fd, const char *key) {
        Bytes text = {};
        uint64_t value;

        if (fd < 0 || fd_pread_text(fd, CGROUP_TEXT_MAX, &text) < 0 || !text.data)
                return HANDOVER_UNKNOWN;

        value = find_number(text.data, key);
        bytes_clear(&text);
        return value;
}

uint64_t usage_read_cpu(const int cgroup[static CGROUP_FILE_N]) {
        return read_number(cgroup[CGROUP_CPU_STAT], "usage_usec");
}

void usage_read(const int cgroup[static CGROUP_FILE_N], Ended *ended) {
        ended->oom_kills = read_number(cgroup[CGROUP_MEMORY_EVENTS], "oom_kill");
        ended->memory_peak = read_number(cgroup[CGROUP_MEMORY_PEAK], /* key= */ NULL);
        ended->pids_refused = read_number(cgroup[CGROUP_PIDS_EVENTS], "max");
        ended->cpu_usec = usage_read_cpu(cgroup);
}
