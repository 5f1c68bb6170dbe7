/* SPDX-License-Identifier: MIT */
#include "world/repeated_ends.h"

#include "world/endings.h"
#include "world/gate.h"

#include <stdio.h>

/* CROWD_LATE_MS: both of two waiting ranks have made their call by then. */
enum { LATE_MS = 60, CROWD_LATE_MS = 1000 };

struct plot {
	enum ending_kind kind;
	bool aborts; /* else says nothing any more */
	int who;
	int64_t late_ms;
	bool yes[ENDING_RANKS];
};

static bool all(struct ending *ending, bool yes)
{
	struct plot *plot = ending->ctx;
	bool every = true;

	plot->yes[choir_comm_rank(ending->comm)] = yes;
	line_up();
	for (int rank = 0; rank < choir_comm_size(ending->comm); rank++)
		every &= plot->yes[rank];
	line_up();
	return every;
}

static void goes(struct world *world, int rank, choir_comm *comm, void *arg)
{
	struct plot *plot = arg;
	struct ending e = { .comm = comm, .kind = plot->kind, .who = plot->who, .all = all, .ctx = plot };
	const char *wrong = NULL;
	char words[64];

	if (!ending_begin(&e))
		world_fail(world, rank, "kind %d: %s", (int)plot->kind, choir_last_error());
	if (!plot->aborts)
		ending_shorten(&e, plot->late_ms);
	line_up();
	snprintf(words, sizeof words, plot->aborts ? "aborted by rank %d" : "waits for rank %d", plot->who);
	if (rank != plot->who) /* of two that wait, one may learn it from the other */
		wrong = ending_check(&e, plot->aborts ? CHOIR_ABORTED : CHOIR_TIMEOUT, words,
		                     plot->aborts || world->n > 2 ? 0 : plot->late_ms, 10000);
	else if (plot->aborts)
		CHECK(ending_wait_inside(&e) && choir_comm_abort(comm) == CHOIR_SUCCESS);
	if (wrong != NULL)
		world_fail(world, rank, "%s", wrong);
	line_up(); /* all make the call again, as if nothing had been */
	IS(ending_call(&e), plot->aborts ? CHOIR_ABORTED : CHOIR_TIMEOUT);
	ending_free(&e);
}

void test_repeated_ends(void **state)
{
	(void)state;
	for (int kind = 0; kind < ENDING_KINDS; kind++)
		for (int aborts = 0; aborts < 2; aborts++) {
			struct plot plot = { .kind = (enum ending_kind)kind,
				             .aborts = aborts,
				             .who = (kind + aborts) % 2,
				             .late_ms = LATE_MS };

			line_up_run(2, 0, 20000, goes, &plot);
			plot.who = 2;
			plot.late_ms = CROWD_LATE_MS;
			if (kind == ENDS_SUM || kind == ENDS_ALLTOALLV ||
			    (kind == ENDS_SENDRECV && aborts)) /* else one waits for one that waits */
				line_up_run(3, 0, 20000, goes, &plot);
		}
}
