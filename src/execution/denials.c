/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Answering the inner filter. */

#include <errno.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>

#include "base/clock.h"
#include "base/json.h"
#include "execution/denials.h"
#include "unit/filter.h"

/* At most so many answers, then a rest: 10,000 a second for one execution, whatever it tries. */
#define ANSWERS_A_TURN 20U
#define REST_USEC UINT64_C(2000)

typedef struct Kind {
        int number;
        uint64_t count;
} Kind;

struct Denials {
        sd_event *event;
        int listener;
        sd_event_source *source;
        sd_event_source *rest;
        DenialsHandler on_first;
        void *userdata;
        Kind kinds[DENIALS_KINDS_MAX];
        size_t n_kinds;
        uint64_t others;
};

Denials *denials_free(Denials *denials) {
        if (!denials)
                return NULL;

        sd_event_source_disable_unref(denials->source);
        sd_event_source_disable_unref(denials->rest);
        close_fd(denials->listener);
        sd_event_unref(denials->event);
        free(denials);
        return NULL;
}

static void count(Denials *denials, int number) {
        own(freep) char *name = NULL;

        for (size_t i = 0; i < denials->n_kinds; i++)
                if (denials->kinds[i].number == number) {
                        denials->kinds[i].count++;
                        return;
                }
        if (denials->n_kinds == DENIALS_KINDS_MAX) {
                denials->others++;
                return;
        }
        denials->kinds[denials->n_kinds++] = (Kind) {number, 1};
        if (filter_syscall_name(number, &name) >= 0 && denials->on_first)
                denials->on_first(denials->userdata, name);
}

/* 1: one answered; 0: none there; negative: nothing will come any more. */
static int answer_one(Denials *denials) {
        /* The kernel's structs may grow: it writes and reads its own size. */
        union {
                struct seccomp_notif notification;
                char room[512];
        } asked;
        union {
                struct seccomp_notif_resp response;
                char room[512];
        } answer;

        memset(&asked, 0, sizeof asked);
        memset(&answer, 0, sizeof answer);
        if (ioctl(denials->listener, SECCOMP_IOCTL_NOTIF_RECV, &asked) < 0)
                return errno == EINTR || errno == ENOENT || errno == EAGAIN ? 0 : -errno;

        count(denials, asked.notification.data.nr);
        answer.response.id = asked.notification.id;
        answer.response.error = -EPERM;
        /* Fails when the caller has died meanwhile: then nobody waits for it. */
        (void) ioctl(denials->listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
        return 1;
}

static int on_rested(sd_event_source *source, uint64_t usec, void *userdata) {
        Denials *denials = userdata;

        if (denials->source)
                (void) sd_event_source_set_enabled(denials->source, SD_EVENT_ON);
        return 0;
}

static void rest(Denials *denials) {
        uint64_t until = clock_monotonic_usec() + REST_USEC;
        int r;

        if (denials->rest) {
                r = sd_event_source_set_time(denials->rest, until);
                if (r >= 0)
                        r = sd_event_source_set_enabled(denials->rest, SD_EVENT_ONESHOT);
        } else
                r = sd_event_add_time(denials->event, &denials->rest, CLOCK_MONOTONIC, until, 500, on_rested, denials);
        /* Without a timer to wake it, it goes on at once. */
        if (r >= 0)
                (void) sd_event_source_set_enabled(denials->source, SD_EVENT_OFF);
}

static int on_listener(sd_event_source *source, int fd, uint32_t revents, void *userdata) {
        Denials *denials = userdata;

        /* One at a time, each only when poll says so: receiving would wait for the next. */
        for (unsigned i = 0; i < ANSWERS_A_TURN; i++) {
                struct pollfd ready = {.fd = fd, .events = POLLIN};
                int r;

                if (poll(&ready, 1, 0) <= 0 || !(ready.revents & POLLIN)) {
                        if (ready.revents & (POLLHUP | POLLERR)) /* nobody uses the filter any more */
                                denials->source = sd_event_source_disable_unref(denials->source);
                        return 0;
                }
                r = answer_one(denials);
                if (r < 0) {
                        denials->source = sd_event_source_disable_unref(denials->source);
                        return 0;
                }
        }
        rest(denials);
        return 0;
}

int denials_new(sd_event *event, DenialsHandler on_first, void *userdata, Denials **ret) {
        Denials *denials = calloc(1, sizeof *denials);

        if (!denials)
                return -ENOMEM;
        *denials = (Denials) {
                .event = sd_event_ref(event), .listener = -1, .on_first = on_first, .userdata = userdata};
        *ret = denials;
        return 0;
}

static void stop(Denials *denials) {
        denials->source = sd_event_source_disable_unref(denials->source);
        denials->rest = sd_event_source_disable_unref(denials->rest);
        denials->listener = close_fd(denials->listener);
}

int denials_listen(Denials *denials, int listener) {
        stop(denials);
        denials->listener = listener;
        return sd_event_add_io(denials->event, &denials->source, listener, EPOLLIN, on_listener, denials);
}

static int add_kind(json_object *array, const char *name, uint64_t number_of) {
        own(json_freep) json_object *object = json_object_new_object();
        int r;

        if (!object)
                return -ENOMEM;
        r = json_add_string(object, "name", name);
        if (r < 0)
                return r;
        r = json_add_u64(object, "count", number_of);
        if (r < 0)
                return r;
        return json_object_array_add(array, hand_over(object)) < 0 ? -ENOMEM : 0;
}

int denials_to_json(const Denials *denials, json_object **ret) {
        own(json_freep) json_object *array = json_object_new_array();
        int r;

        if (!array)
                return -ENOMEM;
        for (size_t i = 0; i < denials->n_kinds; i++) {
                own(freep) char *name = NULL;

                r = filter_syscall_name(denials->kinds[i].number, &name);
                if (r < 0)
                        return r;
                r = add_kind(array, name, denials->kinds[i].count);
                if (r < 0)
                        return r;
        }
        if (denials->others > 0) {
                r = add_kind(array, "other", denials->others);
                if (r < 0)
                        return r;
        }
        *ret = hand_over(array);
        return 0;
}
