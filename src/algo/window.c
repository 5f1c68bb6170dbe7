/* SPDX-License-Identifier: MIT */
#include "algo/window.h"

#include "algo/pattern_block.h"

void window_init(struct window *window, struct plan *plan, uint64_t bytes)
{
	*window = (struct window){ .stride = round_up(bytes, 64) };
	window->base = plan_scratch(plan, window->stride * WINDOW_BUFFERS);
}

void need_range(struct plan *plan, plan_id from, plan_id to)
{
	for (plan_id id = from; id < to; id++)
		plan_need(plan, id);
}

struct plan_ref window_take(struct window *window, struct plan *plan, uint32_t *taken)
{
	uint32_t i = window->next++ % WINDOW_BUFFERS;

	need_range(plan, window->from[i], window->to[i]);
	*taken = i;
	return plan_at(PLAN_SCRATCH, window->base + i * window->stride);
}

void window_busy(struct window *window, const struct plan *plan, uint32_t taken, plan_id from)
{
	window->from[taken] = from;
	window->to[taken] = plan->n_steps;
}

struct piece piece_of_send(const struct algo_in *in, struct plan *plan, struct window *window, uint64_t off,
                           uint64_t len, bool scratch)
{
	struct piece piece = { .ref = plan_at(PLAN_SEND, off), .ready = PLAN_NO_STEP, .from = plan->n_steps };

	if (in->send_direct && !scratch)
		return piece;
	piece.in_window = true;
	piece.ref = window_take(window, plan, &piece.taken);
	piece.ready = plan_copy(plan, piece.ref, plan_at(PLAN_SEND, off), len, NULL, 0, "stage in");
	return piece;
}

struct piece piece_for_recv(const struct algo_in *in, struct plan *plan, struct window *window, uint64_t off)
{
	struct piece piece = { .ref = plan_at(PLAN_RECV, off), .ready = PLAN_NO_STEP, .from = plan->n_steps };

	if (in->recv_direct)
		return piece;
	piece.in_window = true;
	piece.ref = window_take(window, plan, &piece.taken);
	return piece;
}

void piece_to_recv(const struct piece *piece, struct plan *plan, uint64_t off, uint64_t len)
{
	if (piece->in_window)
		plan_copy(plan, plan_at(PLAN_RECV, off), piece->ref, len, &piece->ready, 1, "stage out");
}

void piece_end(const struct piece *piece, const struct plan *plan, struct window *window)
{
	if (piece->in_window)
		window_busy(window, plan, piece->taken, piece->from);
}

bool one_step_copies_own(const struct algo_in *in)
{
	return (in->send_direct && in->recv_direct) || in->owns_copied;
}

void copy_own(const struct algo_in *in, struct plan *plan, struct window *window, uint64_t recv_off, uint64_t send_off,
              uint64_t len)
{
	if (len && one_step_copies_own(in)) {
		plan_copy(plan, plan_at(PLAN_RECV, recv_off), plan_at(PLAN_SEND, send_off), len, NULL, 0, "own");
		return;
	}
	for (uint64_t at = 0; at < len; at += window->stride) {
		uint64_t part = min_u64(window->stride, len - at);
		struct piece piece = piece_of_send(in, plan, window, send_off + at, part, true);

		piece_to_recv(&piece, plan, recv_off + at, part);
		piece_end(&piece, plan, window);
	}
}
