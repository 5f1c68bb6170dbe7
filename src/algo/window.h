/* SPDX-License-Identifier: MIT */
/* A window: a few scratch buffers used in turn, which bound the scratch and the pieces in flight.  A buffer is used
 * again when all steps of its last piece are done. A piece: bytes of the caller's buffer in memory that steps can use:
 * the buffer itself if it is direct, else a window buffer. */
#ifndef ALGO_WINDOW_H
#define ALGO_WINDOW_H

#include "algo/algo.h"

#define WINDOW_BUFFERS 8

struct window {
	uint64_t base, stride;
	uint32_t next;
	plan_id from[WINDOW_BUFFERS], to[WINDOW_BUFFERS]; /* the steps of the buffer's last piece: from <= id < to */
};

/* window_init: reserves scratch for WINDOW_BUFFERS buffers of that many bytes. */
void window_init(struct window *window, struct plan *plan, uint64_t bytes);

/* window_take: the next buffer; the next step appended must be the first that uses it, since it gets the deps.
 * window_busy: all steps appended since `from` use buffer `taken`. */
struct plan_ref window_take(struct window *window, struct plan *plan, uint32_t *taken);
void window_busy(struct window *window, const struct plan *plan, uint32_t taken, plan_id from);

/* need_range: makes the next step depend on all steps from <= id < to. */
void need_range(struct plan *plan, plan_id from, plan_id to);

struct piece {
	struct plan_ref ref;
	plan_id ready; /* the step after which ref has the bytes; PLAN_NO_STEP = from the start */
	bool in_window;
	uint32_t taken;
	plan_id from; /* its first step */
};

/* piece_of_send: len bytes at off of SEND: in SEND, or copied to the window if SEND is not direct or scratch is set. */
struct piece piece_of_send(const struct algo_in *in, struct plan *plan, struct window *window, uint64_t off,
                           uint64_t len, bool scratch);

/* piece_for_recv: memory for a message that belongs at off of RECV: RECV if it is direct, else the window.  The next
 * step must be the one that writes it; the caller then sets ready. */
struct piece piece_for_recv(const struct algo_in *in, struct plan *plan, struct window *window, uint64_t off);

/* piece_to_recv: copies the piece to off of RECV if it is in the window. */
void piece_to_recv(const struct piece *piece, struct plan *plan, uint64_t off, uint64_t len);

/* piece_end: call it after the last step that uses the piece. */
void piece_end(const struct piece *piece, const struct plan *plan, struct window *window);

/* one_step_copies_own: may a step copy from SEND to RECV?  copy_own: copies len bytes there, through the window if no
 * step may. */
bool one_step_copies_own(const struct algo_in *in);
void copy_own(const struct algo_in *in, struct plan *plan, struct window *window, uint64_t recv_off, uint64_t send_off,
              uint64_t len);

#endif
