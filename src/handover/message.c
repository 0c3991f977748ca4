/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * One message is one packet: header, fixed struct, text. Both ends check every packet against one table of
 * what a type may carry, since the other end may be code of the caller that took the runner's place.
 */

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "base/own.h"
#include "base/text.h"
#include "handover/message.h"

const char *const namespace_names[NAMESPACE_N] = {
        [NAMESPACE_NET] = "net",
        [NAMESPACE_IPC] = "ipc",
        [NAMESPACE_UTS] = "uts",
        [NAMESPACE_MNT] = "mnt",
};

typedef struct Header {
        uint32_t magic;
        uint32_t version;
        uint32_t type;
        uint32_t body_size;
        uint32_t text_size; /* without a NUL, which is not sent */
        uint32_t n_fds;
} Header;

/* What a type carries, no more and no less. PREPARE says in its mask how many descriptors come along. */
static const struct {
        uint32_t body_size;
        size_t fds_min, fds_max;
        bool text;
} forms[] = {
        [MESSAGE_HELLO] = {0, 0, 0, false},
        [MESSAGE_PREPARE] = {sizeof(Prepare), 0, CGROUP_FILE_N, false},
        [MESSAGE_PREPARED] = {0, 1, 1, false},
        [MESSAGE_HAND_OVER] = {0, 1, 1, false},
        [MESSAGE_COMPILING] = {sizeof(Started), 0, 1, false},
        [MESSAGE_COMPILED] = {sizeof(Ended), 0, 0, false},
        [MESSAGE_STARTED] = {sizeof(Started), 0, 1, false},
        [MESSAGE_FAILED] = {sizeof(Failed), 0, 0, true},
        [MESSAGE_ENDED] = {sizeof(Ended), 0, 0, false},
        [MESSAGE_DONE] = {0, 0, 0, false},
        [MESSAGE_DUMP] = {0, 0, 0, false},
};

#define BODY_MAX sizeof(Ended)
_Static_assert(sizeof(Prepare) <= BODY_MAX && sizeof(Failed) <= BODY_MAX && sizeof(Started) <= BODY_MAX,
        "BODY_MAX is the largest body");
_Static_assert((int) CGROUP_FILE_N <= (int) HANDOVER_FDS_MAX, "a PREPARE fits");

static bool form_fits(const Header *header) {
        if (header->type < MESSAGE_HELLO || header->type >= ELEMENTS(forms))
                return false;

        return header->body_size == forms[header->type].body_size &&
               header->text_size <= HANDOVER_TEXT_MAX &&
               (forms[header->type].text || header->text_size == 0) && header->n_fds <= HANDOVER_FDS_MAX &&
               header->n_fds >= forms[header->type].fds_min && header->n_fds <= forms[header->type].fds_max;
}

static bool prepare_fits(const Prepare *prepare, size_t n_fds) {
        return prepare->cgroup_files < 1U << CGROUP_FILE_N && prepare->reserved == 0 &&
               (size_t) __builtin_popcount(prepare->cgroup_files) == n_fds;
}

void message_clear(Message *message) {
        for (size_t i = 0; i < message->n_fds; i++)
                message->fds[i] = close_fd(message->fds[i]);
        memset(message, 0, sizeof *message);
}

/* As much of text as a message holds, cut between characters; what is not UTF-8 becomes a question mark. */
static size_t text_fit(const char *text, char ret[static HANDOVER_TEXT_MAX]) {
        size_t left = text ? strlen(text) : 0, used = 0;

        while (left > 0) {
                size_t n = utf8_character(text, left), take = n > 0 ? n : 1;

                if (used + take > HANDOVER_TEXT_MAX)
                        break;
                if (n > 0)
                        memcpy(ret + used, text, n);
                else
                        ret[used] = '?';
                used += take;
                text += take;
                left -= take;
        }

        return used;
}

int message_send(int socket, MessageType type, const void *body, size_t body_size, const char *text,
        const int *fds, size_t n_fds) {
        union {
                struct cmsghdr header;
                char space[CMSG_SPACE(sizeof(int) * HANDOVER_FDS_MAX)];
        } control = {};
        char fitted[HANDOVER_TEXT_MAX];
        Header header = {
                .magic = HANDOVER_MAGIC,
                .version = HANDOVER_VERSION,
                .type = type,
                .body_size = (uint32_t) body_size,
                .text_size = (uint32_t) text_fit(text, fitted),
                .n_fds = (uint32_t) n_fds,
        };
        struct iovec parts[] = {
                {.iov_base = &header, .iov_len = sizeof header},
                {.iov_base = (void *) body, .iov_len = body_size},
                {.iov_base = fitted, .iov_len = header.text_size},
        };
        struct msghdr packet = {.msg_iov = parts, .msg_iovlen = ELEMENTS(parts)};
        ssize_t n;

        if (body_size > BODY_MAX || n_fds > HANDOVER_FDS_MAX || !form_fits(&header))
                return -EINVAL;
        if (type == MESSAGE_PREPARE && !prepare_fits(body, n_fds))
                return -EINVAL;

        if (n_fds > 0) {
                struct cmsghdr *rights;

                packet.msg_control = &control;
                packet.msg_controllen = CMSG_SPACE(sizeof(int) * n_fds);
                rights = CMSG_FIRSTHDR(&packet);
                rights->cmsg_level = SOL_SOCKET;
                rights->cmsg_type = SCM_RIGHTS;
                rights->cmsg_len = CMSG_LEN(sizeof(int) * n_fds);
                memcpy(CMSG_DATA(rights), fds, sizeof(int) * n_fds);
        }

        do
                n = sendmsg(socket, &packet, MSG_NOSIGNAL);
        while (n < 0 && errno == EINTR);

        return n < 0 ? -errno : 0;
}

/* Takes every descriptor that came along, so that a refusal closes them all. False: something else came too.
 */
static bool take_fds(struct msghdr *packet, Message *message) {
        bool known = true;

        for (struct cmsghdr *part = CMSG_FIRSTHDR(packet); part; part = CMSG_NXTHDR(packet, part)) {
                size_t n;

                if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) {
                        known = false;
                        continue;
                }

                n = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
                for (size_t i = 0; i < n; i++) {
                        int fd;

                        memcpy(&fd, CMSG_DATA(part) + i * sizeof(int), sizeof fd);
                        if (message->n_fds < HANDOVER_FDS_MAX)
                                message->fds[message->n_fds++] = fd;
                        else {
                                (void) close(fd);
                                known = false;
                        }
                }
        }

        return known;
}

/*
 * A peer that closes with unread packets of ours in its queue makes the kernel answer ECONNRESET once,
 * before the packets it sent itself; those are still there and are the truth, so the error is stepped over.
 */
static ssize_t receive_packet(int socket, struct msghdr *packet) {
        size_t control_size = packet->msg_controllen;
        unsigned resets = 0;

        for (;;) {
                ssize_t n;

                packet->msg_controllen = control_size;
                n = recvmsg(socket, packet, MSG_CMSG_CLOEXEC);
                if (n >= 0)
                        return n;
                if (errno == EINTR || (errno == ECONNRESET && resets++ == 0))
                        continue;
                return -errno;
        }
}

/* Header, body and text of a packet of size bytes into message, whose descriptors are taken already. */
static int decode(const char *data, size_t size, Message *message) {
        Header header;
        const char *text;

        if (size < sizeof header)
                return -EBADMSG;
        memcpy(&header, data, sizeof header);

        if (header.magic != HANDOVER_MAGIC || header.version != HANDOVER_VERSION || !form_fits(&header) ||
                header.n_fds != message->n_fds ||
                size != sizeof header + header.body_size + header.text_size)
                return -EBADMSG;

        message->type = (MessageType) header.type;
        memcpy(&message->ended, data + sizeof header, header.body_size);
        if (message->type == MESSAGE_PREPARE && !prepare_fits(&message->prepare, message->n_fds))
                return -EBADMSG;

        text = data + sizeof header + header.body_size;
        if (memchr(text, 0, header.text_size) || !utf8_is_valid(text, header.text_size))
                return -EBADMSG;
        memcpy(message->text, text, header.text_size);

        return 0;
}

int message_receive(int socket, Message *ret) {
        char data[sizeof(Header) + BODY_MAX + HANDOVER_TEXT_MAX];
        union {
                struct cmsghdr header;
                char space[CMSG_SPACE(sizeof(int) * HANDOVER_FDS_MAX)];
        } control = {};
        struct iovec part = {.iov_base = data, .iov_len = sizeof data};
        struct msghdr packet = {.msg_iov = &part,
                .msg_iovlen = 1,
                .msg_control = &control,
                .msg_controllen = sizeof control};
        Message message = {};
        ssize_t n;
        bool known;
        int r;

        n = receive_packet(socket, &packet);
        if (n == -EAGAIN)
                return 0;
        if (n == -ECONNRESET)
                return -ENODATA;
        if (n < 0)
                return (int) n;

        known = take_fds(&packet, &message);
        if (n == 0 && message.n_fds == 0)
                return -ENODATA; /* an empty packet looks the same, and nobody of ours sends one */

        if (!known || (packet.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0)
                r = -EBADMSG;
        else
                r = decode(data, (size_t) n, &message);
        if (r < 0) {
                message_clear(&message);
                return r;
        }

        *ret = message;
        return 1;
}
