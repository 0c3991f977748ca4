/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * The probes. They print facts, a name and a word a line (doctor-judge.c has what the words ought to be), in
 * the way of "unitcell-runner inspect", which is a probe too: it tries the system calls, with arguments that
 * do nothing where they are not refused. $1 is the nonce, $2 the port.
 */

#include <errno.h>
#include <stdio.h>

#include "base/own.h"
#include "cli/doctor-probes.h"
#include "cli/document.h"

#define INSPECT "\"argv\":[\"/usr/lib/unitcell/unitcell-runner\",\"inspect\"],\"timeout_ms\":60000"
#define NEIGHBOUR_PORT "47321"
#define PLACES "/workspace /tmp /var/tmp /output /dev/shm"

/* At most 64 children that wait for their parent's end. */
static const char forks_python[] = "import errno, os\n"
                                   "reading, writing = os.pipe()\n"
                                   "forks, refused = 0, 'none'\n"
                                   "for _ in range(64):\n"
                                   "    try:\n"
                                   "        if os.fork() == 0:\n"
                                   "            os.close(writing)\n"
                                   "            os.read(reading, 1)\n"
                                   "            os._exit(0)\n"
                                   "        forks += 1\n"
                                   "    except OSError as error:\n"
                                   "        refused = errno.errorcode[error.errno]\n"
                                   "        break\n"
                                   "print('forks', forks)\n"
                                   "print('refused', refused)\n";

/* bash tries a refused fork again for 15 seconds: the time limit ends that. */
static const char forks_bash[] = "for n in {1..64}; do\n"
                                 "        sleep 9 &\n"
                                 "        echo forks $n\n"
                                 "        [ $n -lt 15 ] || echo refused EAGAIN\n"
                                 "        [ $n -lt 16 ] || echo refused none\n"
                                 "done\n";

/* 96 MiB at most, under a limit of 32. */
static const char memory_bash[] = "printf -v piece '%*s' 1048576 ''\n"
                                  "for ((i = 0; i < 96; i++)); do kept[i]=$piece; done\n"
                                  "echo survived\n";

/* 20 MiB and 4096 files at most in each place, under a limit of 4 MiB. */
static const char disk_bash[] =
        "fill() {\n"
        "        local said\n"
        "        said=$(LC_ALL=C head -c 20M /dev/zero 2>&1 >\"$1/full\")\n"
        "        case $said in\n"
        "        *'No space left'*) echo \"fill:$1 ENOSPC\" ;;\n"
        "        '') echo \"fill:$1 open\" ;;\n"
        "        *) echo \"fill:$1 error\" ;;\n"
        "        esac\n"
        "}\n"
        "for place in " PLACES "; do fill $place; done\n"
        "rm -f /workspace/full /tmp/full /var/tmp/full /output/full\n"
        "mkdir /workspace/many\n"
        "for ((i = 0; i < 4096; i++)); do : 2>/dev/null >/workspace/many/$i || break; done\n"
        "[ $i -lt 4096 ] && echo inodes ENOSPC || echo inodes open\n";

static const char file_bash[] = "exec head -c 4M /dev/zero >/workspace/large\n";

static const char flood_bash[] = "head -c 2000000 /dev/zero | tr '\\0' x\n";

static const char loop_bash[] = "while ((SECONDS < 30)); do :; done\n";

static const char stubborn_bash[] = "trap '' TERM INT HUP QUIT\n"
                                    "(trap '' TERM INT HUP QUIT; sleep 30) &\n"
                                    "for ((i = 0; i < 100; i++)); do sleep 0.2; done\n";

static const char left_over_bash[] =
        "setsid bash -c 'trap \"\" TERM HUP; exec sleep 60' </dev/null >/dev/null 2>&1 &\n";

/* Never sent by a uid that has processes outside. */
static const char kill_all_bash[] =
        "if [ $UID -lt 61184 ] || [ $UID -gt 65519 ] || [ $EUID -ne $UID ]; then\n"
        "        echo \"uid $UID is not one for this execution alone: nothing is sent\"\n"
        "        exit 9\n"
        "fi\n"
        "kill -9 -1\n"
        "sleep 0.2\n";

static const char reach_python[] =
        "import errno, os, socket, sys\n"
        "def attempt(fact, family, kind, address):\n"
        "    try:\n"
        "        with socket.socket(family, kind) as sock:\n"
        "            sock.settimeout(3)\n"
        "            sock.connect(address)\n"
        "            sock.send(sys.argv[1].encode())\n"
        "            word = 'open'\n"
        "    except TimeoutError:\n"
        "        word = 'silence'\n"
        "    except OSError as error:\n"
        "        word = errno.errorcode.get(error.errno, 'error')\n"
        "    print(fact, word)\n"
        "tcp, udp = socket.SOCK_STREAM, socket.SOCK_DGRAM\n"
        "attempt('loopback', socket.AF_INET, tcp, ('127.0.0.1', int(sys.argv[2])))\n"
        "attempt('abstract', socket.AF_UNIX, tcp, '\\0unitcell-doctor-host-' + sys.argv[1])\n"
        "attempt('tcp', socket.AF_INET, tcp, ('192.0.2.1', 443))\n"
        "attempt('udp', socket.AF_INET, udp, ('192.0.2.1', 53))\n"
        "attempt('metadata', socket.AF_INET, tcp, ('169.254.169.254', 80))\n"
        "attempt('tcp6', socket.AF_INET6, tcp, ('2001:db8::1', 443))\n"
        "for what in ('environ', 'mem', 'root/etc/shadow', 'fd/0'):\n"
        "    try:\n"
        "        with open(f'/proc/{os.getppid()}/{what}', 'rb') as file:\n"
        "            word = 'open'\n"
        "    except OSError as error:\n"
        "        word = errno.errorcode[error.errno]\n"
        "    print('parent:' + what, word)\n";

static const char reach_bash[] =
        "nonce=$1\n"
        "attempt() {\n"
        "        case $(LC_ALL=C; (exec 3<>/dev/$2 && echo $nonce >&3) 2>&1) in\n"
        "        '') echo \"$1 open\" ;;\n"
        "        *refused*) echo \"$1 ECONNREFUSED\" ;;\n"
        "        *unreachable*) echo \"$1 ENETUNREACH\" ;;\n"
        "        *) echo \"$1 error\" ;;\n"
        "        esac\n"
        "}\n"
        "attempt loopback tcp/127.0.0.1/$2\n"
        "attempt tcp tcp/192.0.2.1/443\n"
        "attempt udp udp/192.0.2.1/53\n"
        "attempt metadata tcp/169.254.169.254/80\n"
        "attempt tcp6 tcp/2001:db8::1/443\n"
        "for what in environ mem root/etc/shadow fd/0; do\n"
        "        (: </proc/$PPID/$what) 2>/dev/null && echo parent:$what open || echo parent:$what EACCES\n"
        "done\n";

static const char neighbour_python[] =
        "import os, socket, sys, time\n"
        "name = 'unitcell-doctor-' + sys.argv[1]\n"
        "with socket.socket(socket.AF_UNIX) as unix, socket.socket() as tcp:\n"
        "    unix.bind('\\0' + name)\n"
        "    unix.listen()\n"
        "    tcp.bind(('127.0.0.1', " NEIGHBOUR_PORT "))\n"
        "    tcp.listen()\n"
        "    for place in '" PLACES "'.split():\n"
        "        open(place + '/' + name, 'w').close()\n"
        "    print('uid', os.getuid())\n"
        "    for kind in ('ipc', 'mnt', 'net', 'uts'):\n"
        "        print('ns_' + kind, os.readlink('/proc/self/ns/' + kind).split('[')[1][:-1])\n"
        "    print('at-home yes', flush=True)\n"
        "    time.sleep(170)\n";

static const char neighbour_bash[] = "for place in " PLACES "; do : >$place/unitcell-doctor-$1; done\n"
                                     "echo uid $UID\n"
                                     "for kind in ipc mnt net uts; do\n"
                                     "        link=$(readlink /proc/self/ns/$kind)\n"
                                     "        link=${link#*[}\n"
                                     "        echo ns_$kind ${link%]}\n"
                                     "done\n"
                                     "echo at-home yes\n"
                                     "sleep 170\n";

static const char visitor_python[] =
        "import errno, os, socket, sys\n"
        "name = 'unitcell-doctor-' + sys.argv[1]\n"
        "def attempt(fact, family, address):\n"
        "    try:\n"
        "        with socket.socket(family) as sock:\n"
        "            sock.settimeout(3)\n"
        "            sock.connect(address)\n"
        "            print(fact, 'open')\n"
        "    except OSError as error:\n"
        "        print(fact, errno.errorcode.get(error.errno, 'error'))\n"
        "attempt('abstract', socket.AF_UNIX, '\\0' + name)\n"
        "attempt('loopback', socket.AF_INET, ('127.0.0.1', " NEIGHBOUR_PORT "))\n"
        "for place in '" PLACES "'.split():\n"
        "    print('file:' + place, 'there' if os.path.exists(place + '/' + name) else 'absent')\n"
        "seen = 'absent'\n"
        "for pid in filter(str.isdigit, os.listdir('/proc')):\n"
        "    try:\n"
        "        with open(f'/proc/{pid}/cmdline') as file:\n"
        "            if int(pid) != os.getpid() and sys.argv[1] in file.read():\n"
        "                seen = 'there'\n"
        "    except OSError:\n"
        "        pass\n"
        "print('process', seen)\n";

static const char visitor_bash[] =
        "case $(LC_ALL=C; (exec 3<>/dev/tcp/127.0.0.1/" NEIGHBOUR_PORT ") 2>&1) in\n"
        "*refused*) echo loopback ECONNREFUSED ;;\n"
        "*) echo loopback error ;;\n"
        "esac\n"
        "for place in " PLACES "; do\n"
        "        [ -e $place/unitcell-doctor-$1 ] && echo file:$place there || echo file:$place absent\n"
        "done\n"
        "seen=absent\n"
        "for path in /proc/[0-9]*; do\n"
        "        [ ${path#/proc/} -ne $$ ] && [ ${path#/proc/} -ne $BASHPID ] || continue\n"
        "        while IFS= read -r -d '' word; do\n"
        "                [ \"$word\" != \"$1\" ] || seen=there\n"
        "        done 2>/dev/null <$path/cmdline\n"
        "done 2>/dev/null\n"
        "echo process $seen\n";

#define LIMITS(text) "\"limits\":{" text "}"

const Probe doctor_probes[] = {
        {"first", PROBE_FIRST, .rest = "\"argv\":[\"/usr/bin/true\"],\"timeout_ms\":60000"},
        {"neighbour", PROBE_NEIGHBOUR, .python = neighbour_python, .bash = neighbour_bash,
                .rest = "\"timeout_ms\":180000"},
        {"loop", PROBE_CROWD, .bash = loop_bash, .rest = "\"timeout_ms\":2000," LIMITS("\"cpu_cpus\":0.25")},
        {"memory", PROBE_CROWD, "memory", .bash = memory_bash,
                .rest = "\"timeout_ms\":30000," LIMITS("\"memory_mb\":32,\"disk_mb\":4,\"file_mb\":4")},
        {"forks", PROBE_CROWD, "pids", .python = forks_python, .bash = forks_bash,
                .rest = LIMITS("\"pids_max\":16")},
        {"disk", PROBE_CROWD, .bash = disk_bash, .rest = "\"timeout_ms\":60000," LIMITS("\"disk_mb\":4")},
        {"file", PROBE_CROWD, .bash = file_bash, .rest = LIMITS("\"file_mb\":1")},
        {"flood", PROBE_CROWD, .bash = flood_bash, .rest = LIMITS("\"stdout_bytes\":1000")},
        {"cpu-time", PROBE_CROWD, .bash = loop_bash,
                .rest = "\"timeout_ms\":30000," LIMITS("\"cpu_ms\":300")},
        {"stubborn", PROBE_CROWD, .bash = stubborn_bash, .rest = "\"timeout_ms\":1000"},
        {"left-over", PROBE_CROWD, .bash = left_over_bash, .rest = "\"timeout_ms\":40000"},
        {"reach", PROBE_CROWD, .python = reach_python, .bash = reach_bash, .rest = "\"timeout_ms\":60000"},
        {"inspect", PROBE_LAST, .rest = INSPECT},
        {"visitor", PROBE_LAST, .python = visitor_python, .bash = visitor_bash,
                .rest = "\"timeout_ms\":60000"},
        {"kill-all", PROBE_LAST, .bash = kill_all_bash},
};

const size_t doctor_n_probes = ELEMENTS(doctor_probes);

static int add_code(
        json_object *spec, const Probe *probe, const ProbeArguments *arguments, bool has_python) {
        bool python = probe->python && (has_python || !probe->bash);
        char *words[] = {(char *) arguments->nonce, (char *) arguments->port, NULL};
        int r;

        r = json_add_string(spec, "language", python ? "python" : "bash");
        if (r >= 0)
                r = json_add_string(spec, "code", python ? probe->python : probe->bash);
        return r < 0 ? r : json_add_strings(spec, "args", words);
}

int probe_to_spec(const Probe *probe, const ProbeArguments *arguments, bool has_python, char **ret) {
        own(freep) char *rest = NULL, *task_id = NULL;
        own(json_freep) json_object *spec = NULL;
        int r;

        if (asprintf(&rest, "{%s}", probe->rest ? probe->rest : "") < 0)
                return -ENOMEM;
        if (asprintf(&task_id, "doctor-%s", probe->name) < 0)
                return -ENOMEM;
        r = document_parse(rest, &spec);
        if (r >= 0 && (probe->python || probe->bash))
                r = add_code(spec, probe, arguments, has_python);
        if (r >= 0)
                r = json_add_string(spec, "task_id", task_id);
        return r < 0 ? r : json_to_text(spec, /* pretty= */ false, ret);
}
