/* SPDX-License-Identifier: MIT */
/* A window: a few scratch buffers used in turn, so that scratch is bounded and that many pieces are on their way at
 * once.  A buffer is taken again once all steps of its last piece are done.  And pieces: bytes of the caller's buffers
 * as steps can use them, through the window where the plan may only copy there. */
#ifndef ALGO_WINDOW_H
#define ALGO_WINDOW_H

#include "algo/algo.h"

#define WINDOW_BUFFERS 8

struct window {
	uint64_t base, stride;
	uint32_t next;
	plan_id from[WINDOW_BUFFERS], to[WINDOW_BUFFERS]; /* the steps of the buffer's last piece: from <= id < to */
};

/* window_init: reserves the scratch: buffers of that many bytes. */
void window_init(struct window *window, struct plan *plan, uint64_t bytes);

/* window_take: the next buffer; the next step appended to plan must be the first that touches it (it gets the deps).
 * window_busy: the piece in buffer `taken` is all steps appended since `from`. */
struct plan_ref window_take(struct window *window, struct plan *plan, uint32_t *taken);
void window_busy(struct window *window, const struct plan *plan, uint32_t taken, plan_id from);

/* need_range: the next step depends on all of from <= id < to. */
void need_range(struct plan *plan, plan_id from, plan_id to);

struct piece {
	struct plan_ref ref;
	plan_id ready;   /* the step after which ref holds the bytes; NO_STEP = from the start */
	bool in_window;
	uint32_t taken;
	plan_id from;    /* its first step */
};

/* piece_of_send: len bytes at off of SEND: there itself, or copied to the window if SEND is not direct or scratch is
 * asked for. */
struct piece piece_of_send(const struct algo_in *in, struct plan *plan, struct window *window, uint64_t off,
                           uint64_t len, bool scratch);

/* piece_for_recv: where a message meant for off of RECV can be put: there itself, or the window.  The next step must be
 * the one that writes it; the caller then sets ready. */
struct piece piece_for_recv(const struct algo_in *in, struct plan *plan, struct window *window, uint64_t off);

/* piece_to_recv: copies the piece to off of RECV unless it is there. */
void piece_to_recv(const struct piece *piece, struct plan *plan, uint64_t off, uint64_t len);

/* piece_end: no more steps use it. */
void piece_end(const struct piece *piece, const struct plan *plan, struct window *window);

/* copy_own: SEND to RECV, as the buffers' classes allow. */
void copy_own(const struct algo_in *in, struct plan *plan, struct window *window, uint64_t recv_off, uint64_t send_off,
              uint64_t len);

#endif
