/* SPDX-License-Identifier: MIT */
#include "exec/board.h"

#include <stdlib.h>

/* The arrays lie behind each other at that address. */
static void set_arrays(struct step_board *board, void *at, uint32_t n)
{
	board->events = at;
	board->pending = at != NULL ? (uint32_t *)(board->events + n) : NULL;
	board->ready = at != NULL ? board->pending + n : NULL;
	board->waiting = at != NULL ? board->ready + n : NULL;
	board->capacity = n;
}

/* Arrays for n steps; no step is under way. */
static choir_status grow(struct step_board *board, uint32_t n)
{
	size_t bytes =
	    n * (sizeof *board->events + sizeof *board->pending + sizeof *board->ready + sizeof *board->waiting);
	void *at;

	if (n <= board->capacity)
		return CHOIR_SUCCESS;
	at = calloc(1, bytes);
	if (at == NULL)
		return error_no_memory("the steps of a plan", bytes);
	free(board->events);
	set_arrays(board, at, n);
	return CHOIR_SUCCESS;
}

/* Note [spare boards].  Few of the runs in flight have begun their steps, so a run takes its board's arrays with the
 * first step, and gives them back at its end: the next one finds them in the cache. */
static void take_spare(struct run *run)
{
	struct spare_boards *spare = &run->comm->engine.boards;

	if (run->board.capacity > 0 || spare->n == 0)
		return;
	spare->n--;
	set_arrays(&run->board, spare->arrays[spare->n], spare->capacity[spare->n]);
}

choir_status board_take(struct run *run)
{
	take_spare(run);
	return grow(&run->board, run->plan->n_steps);
}

void board_give(struct run *run)
{
	struct spare_boards *spare = &run->comm->engine.boards;

	if (run->board.capacity == 0 || spare->n == SPARE_BOARDS)
		return;
	spare->arrays[spare->n] = run->board.events;
	spare->capacity[spare->n] = run->board.capacity;
	spare->n++;
	set_arrays(&run->board, NULL, 0);
}

void board_free_spares(struct choir_comm *comm)
{
	struct spare_boards *spare = &comm->engine.boards;

	while (spare->n > 0)
		free(spare->arrays[--spare->n]);
}

/* How many deps of a step are not among the first `done` steps. */
static uint32_t deps_left(const struct plan *plan, const struct plan_step *step, uint32_t done)
{
	uint32_t left = 0;

	for (uint32_t i = 0; i < step->n_deps; i++)
		left += plan->deps[step->dep_first + i] >= done;
	return left;
}

void board_fill(struct run *run, uint32_t done)
{
	const struct plan *plan = run->plan;
	struct step_board *board = &run->board;

	board->ready_head = board->ready_tail = board->n_waiting = board->n_watched = 0;
	board->bytes_done = 0;
	board->paused = false;
	board->n_done = done;
	for (uint32_t i = done; i < plan->n_steps; i++) {
		board->pending[i] = done == 0 ? plan->steps[i].n_deps : deps_left(plan, &plan->steps[i], done);
		if (board->pending[i] == 0)
			board->ready[board->ready_tail++] = i;
	}
}

void board_drain(struct run *run)
{
	struct step_board *board = &run->board;

	for (uint32_t i = 0; i < board->capacity; i++)
		if (board->events[i] != NULL) {
			clWaitForEvents(1, &board->events[i]);
			clReleaseEvent(board->events[i]);
			board->events[i] = NULL;
		}
}
