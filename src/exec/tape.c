/* SPDX-License-Identifier: MIT */
#include "exec/tape.h"

#include "base/copy.h"
#include "exec/slot_ring.h"
#include "exec/steps.h"

#include <string.h>

static enum tape_moves moves_of(const struct run *run, struct plan_ref ref)
{
	if (ref.buf != PLAN_SLOT || (run->held_back && ref.peer == run->comm->rank))
		return TAPE_STAYS;
	return run->in_line ? TAPE_WITH_LANE : TAPE_WITH_SLOT;
}

static void find_shifts(const struct run *run, uint64_t shifts[N_TAPE_MOVES])
{
	shifts[TAPE_STAYS] = 0;
	shifts[TAPE_WITH_SLOT] = run->slot_at;
	shifts[TAPE_WITH_LANE] = (uint64_t)run->lane * sizeof(struct arena_lane);
}

static void look_up(struct tape_step *to, struct run *run, const struct plan_step *step, const uint64_t *shifts)
{
	struct plan_ref refs[TAPE_OPERANDS];
	uint32_t n = step->n_more + 1 + step->n_src;

	to->n = 0;
	if ((step->kind != PLAN_COPY && step->kind != PLAN_REDUCE) || n > TAPE_OPERANDS || step->len == 0)
		return;
	to->copies = step->kind == PLAN_COPY;
	to->len = step->len;
	to->n_dst = step->n_more + 1;
	steps_reduce_call(run, step, step->len, &to->call);
	to->call.n_dst = to->n_dst;
	to->call.stream_from = steps_operands(run, step, refs);
	for (uint32_t i = 0; i < n; i++) {
		to->moves[i] = (unsigned char)moves_of(run, refs[i]);
		to->at[i] = steps_host(run, refs[i]) - shifts[to->moves[i]];
	}
	to->n = n;
}

void tape_ready(struct tape *tape, struct run *run)
{
	uint64_t shifts[N_TAPE_MOVES];

	if (tape->plan == run->plan && tape->past == run->past && tape->finds == run->peer_finds)
		return;
	find_shifts(run, shifts);
	tape->plan = run->plan;
	tape->past = run->past;
	tape->finds = run->peer_finds;
	for (uint32_t i = 0; i < run->plan->n_steps && i < TAPE_STEPS; i++)
		look_up(&tape->steps[i], run, &run->plan->steps[i], shifts);
}

static void copy(const struct tape_step *step, void *const *at)
{
	if (step->call.stream_from == 0)
		copy_host(at[0], at[1], step->len, true);
	else if (at[0] != at[1])
		copy_host_plain(at[0], at[1], step->len);
}

bool tape_play(const struct tape *tape, const struct run *run, uint32_t id)
{
	const struct tape_step *step;
	uint64_t shifts[N_TAPE_MOVES];
	void *at[TAPE_OPERANDS];

	if (id >= TAPE_STEPS || tape->steps[id].n == 0)
		return false;
	step = &tape->steps[id];
	find_shifts(run, shifts);
	for (uint32_t i = 0; i < step->n; i++)
		at[i] = step->at[i] + shifts[step->moves[i]];
	if (step->copies)
		copy(step, at);
	else
		reduce_host(&step->call, at, (const void *const *)(at + step->n_dst));
	return true;
}
