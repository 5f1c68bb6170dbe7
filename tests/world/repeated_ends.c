/* SPDX-License-Identifier: MIT */
#include "world/repeated_ends.h"

#include "world/endings.h"
#include "world/gate.h"

#include <stdio.h>

enum { LATE_MS = 60 };

struct plot {
	enum ending_kind kind;
	bool aborts; /* else says nothing any more */
	int who;
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

/* One rank's patience ends, and of two that wait the other learns it from that one.  It calls last: who has not called
 * by then is named. */
static void lose_patience(struct ending *ending)
{
	ending_shorten(ending, LATE_MS);
	if (choir_comm_size(ending->comm) > 2)
		(void)ending_wait_inside(ending);
}

static void goes(struct world *world, int rank, choir_comm *comm, void *arg)
{
	struct plot *plot = arg;
	struct ending e = { .comm = comm, .kind = plot->kind, .who = plot->who, .all = all, .ctx = plot };
	bool tells = !plot->aborts && rank == (plot->who + 1) % world->n;
	const char *wrong = NULL;
	char words[64];

	if (!ending_begin(&e))
		world_fail(world, rank, "kind %d: %s", (int)plot->kind, choir_last_error());
	line_up();
	if (tells)
		lose_patience(&e);
	snprintf(words, sizeof words, plot->aborts ? "aborted by rank %d" : "waits for rank %d", plot->who);
	if (rank != plot->who)
		wrong =
		    ending_check(&e, plot->aborts ? CHOIR_ABORTED : CHOIR_TIMEOUT, words, tells ? LATE_MS : 0, 10000);
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
				             .who = (kind + aborts) % 2 };

			line_up_run(2, 0, 20000, goes, &plot);
			plot.who = 2;
			if (kind == ENDS_SUM || kind == ENDS_ALLTOALLV ||
			    (kind == ENDS_SENDRECV && aborts)) /* else one waits for one that waits */
				line_up_run(3, 0, 20000, goes, &plot);
		}
}
