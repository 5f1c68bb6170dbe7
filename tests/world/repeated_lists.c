/* SPDX-License-Identifier: MIT */
#include "world/repeated_lists.h"

#include "base/wait.h"

#include "exec/comm.h"
#include "world/inline_bound.h"
#include "world/gate.h"

#include <string.h>

enum {
	MOST = 3,
	ROOM = 128,
	TIMES = 9 /* too much for the line of a flag */,
	SENTINEL = -77,
	PATTERNS = 3,
	ROUNDS = 24
};

/* The arrays that every call is given. */
struct lists {
	size_t sends[MOST], send_at[MOST], takes[MOST], take_at[MOST];
	int32_t in[ROOM], out[ROOM];
};

/* The second pattern differs for what rank 1 sends itself only: the others have the counts that they had.  The third
 * has the first's counts at other places. */
static size_t count_of(int pattern, int from, int to)
{
	return TIMES * (size_t)(1 + (from + 2 * to) % 3 + (pattern == 1 && from == 1 && to == 1));
}

static size_t gap_of(int pattern)
{
	return pattern == 2 ? 2 : 0;
}

static int32_t given_by(int from, int to, size_t i, int round)
{
	return 10000 * (from + 1) + 1000 * to + (int32_t)i + 20 * round;
}

static void fill(struct lists *l, int pattern, int rank, int n, int round)
{
	size_t in_at = 0, out_at = 0;

	for (int i = 0; i < ROOM; i++)
		l->in[i] = l->out[i] = SENTINEL;
	for (int peer = 0; peer < n; peer++) {
		l->sends[peer] = count_of(pattern, rank, peer);
		l->takes[peer] = count_of(pattern, peer, rank);
		l->send_at[peer] = in_at;
		l->take_at[peer] = out_at;
		for (size_t i = 0; i < l->sends[peer]; i++)
			l->in[in_at + i] = given_by(rank, peer, i, round);
		in_at += l->sends[peer] + gap_of(pattern);
		out_at += l->takes[peer] + gap_of(pattern);
	}
}

/* alltoallv. */
static choir_status exchange(choir_comm *comm, struct lists *l)
{
	return choir_alltoallv(comm, choir_host(l->in), l->sends, l->send_at, choir_host(l->out), l->takes, l->take_at,
	                       CHOIR_I32, NULL, NULL);
}

/* The same from deeper in the stack, where nothing of the call before is left. */
__attribute__((noinline)) static choir_status exchange_deeper(choir_comm *comm, struct lists *l)
{
	volatile unsigned char used[8192];
	choir_status st;

	for (size_t i = 0; i < sizeof used; i++)
		used[i] = 0xa5;
	st = exchange(comm, l);
	used[0] = 0;
	return st;
}

/* What all have given to that rank. */
static void check_given(struct world *world, int rank, const struct lists *l, int to, int round)
{
	int32_t wanted[ROOM];

	for (int i = 0; i < ROOM; i++)
		wanted[i] = SENTINEL;
	for (int from = 0; from < world->n; from++)
		for (size_t i = 0; i < l->takes[from]; i++)
			wanted[l->take_at[from] + i] = given_by(from, to, i, round);
	CHECK(memcmp(wanted, l->out, sizeof wanted) == 0);
}

/* allgatherv: each gives what it would send to rank 1. */
static choir_status gather(choir_comm *comm, struct lists *l, int pattern)
{
	int rank = choir_comm_rank(comm);
	size_t at = 0;

	for (int from = 0; from < choir_comm_size(comm); from++) {
		l->takes[from] = count_of(pattern, from, 1);
		l->take_at[from] = at;
		at += l->takes[from] + gap_of(pattern);
	}
	return choir_allgatherv(comm, choir_host(l->in + l->send_at[1]), l->takes[rank], choir_host(l->out), l->takes,
	                        l->take_at, CHOIR_I32, NULL, NULL);
}

/* reduce_scatterv: the block of each is as long as what rank 1 would send it. */
static choir_status reduce(choir_comm *comm, struct lists *l, int pattern, int round)
{
	size_t at = 0;

	for (int to = 0; to < choir_comm_size(comm); to++) {
		l->takes[to] = count_of(pattern, 1, to);
		for (size_t i = 0; i < l->takes[to]; i++)
			l->in[at++] = given_by(choir_comm_rank(comm), to, i, round);
	}
	return choir_reduce_scatterv(comm, choir_host(l->in), choir_host(l->out), l->takes, CHOIR_I32, CHOIR_OP_SUM,
	                             NULL, NULL);
}

static void check_reduce(struct world *world, int rank, const struct lists *l, int round)
{
	for (size_t i = 0; i < ROOM; i++) {
		int32_t sum = 0;

		for (int from = 0; from < world->n; from++)
			sum += given_by(from, rank, i, round);
		CHECK(l->out[i] == (i < l->takes[rank] ? sum : SENTINEL));
	}
}

static bool stands(const choir_comm *comm)
{
	return inline_bound(comm, INLINE_COLLECTIVE);
}

/* Each pattern four times in a row, then another one every time. */
static int pattern_of(int round)
{
	return (round < ROUNDS / 2 ? round / 4 : round) % PATTERNS;
}

static void change_counts(struct world *world, int rank, choir_comm *comm, int ready[3])
{
	struct lists l;

	for (int round = 0; round < ROUNDS; round++) {
		fill(&l, pattern_of(round), rank, world->n, round);
		OK(round % 2 == 0 ? exchange_deeper(comm, &l) : exchange(comm, &l));
		check_given(world, rank, &l, rank, round);
		ready[0] += stands(comm);
	}
	for (int round = 0; round < ROUNDS; round++) {
		fill(&l, pattern_of(round), rank, world->n, round);
		OK(gather(comm, &l, pattern_of(round)));
		check_given(world, rank, &l, 1, round);
		ready[1] += stands(comm);
	}
	for (int round = 0; round < ROUNDS; round++) {
		fill(&l, pattern_of(round), rank, world->n, round);
		OK(reduce(comm, &l, pattern_of(round), round));
		check_reduce(world, rank, &l, round);
		ready[2] += stands(comm);
	}
}

/* Until every rank has executed a call of each kind inline: while other programs take the cores, calls wait for so long
 * that they become ordinary runs. */
static void counts_change(struct world *world, int rank, choir_comm *comm, void *unused)
{
	int64_t end = wait_now_ns() + INT64_C(20000000000);
	int32_t over = 0, ready[3] = { 0 };

	(void)unused;
	while (over == 0) {
		change_counts(world, rank, comm, ready);
		over = comm->crowded || (ready[0] > 0 && ready[1] > 0 && ready[2] > 0) || wait_now_ns() > end;
		OK(choir_allreduce(comm, choir_host(&over), choir_host(&over), 1, CHOIR_I32, CHOIR_OP_MIN, NULL, NULL));
	}
	CHECK(comm->crowded || (ready[0] > 0 && ready[1] > 0 && ready[2] > 0));
}

/* What was right is wrong with other contents, and nothing is sent. */
static void counts_wrong(struct world *world, int rank, choir_comm *comm, void *unused)
{
	struct lists l;

	(void)unused;
	for (int round = 0; round < 3; round++) {
		fill(&l, 0, rank, world->n, round);
		OK(gather(comm, &l, 0));
	}
	l.take_at[1] = l.take_at[0];
	SAYS(choir_allgatherv(comm, choir_host(l.in + l.send_at[1]), l.takes[rank], choir_host(l.out), l.takes,
	                      l.take_at, CHOIR_I32, NULL, NULL),
	     CHOIR_ARGUMENT, "overlap");
	l.takes[1] = SIZE_MAX;
	SAYS(choir_reduce_scatterv(comm, choir_host(l.in), choir_host(l.out), l.takes, CHOIR_I32, CHOIR_OP_SUM, NULL,
	                           NULL),
	     CHOIR_ARGUMENT, "rank 1");
	OK(gather(comm, &l, 0));
}

/* One rank repeats the call, the other does not. */
static void one_differs(struct world *world, int rank, choir_comm *comm, void *who)
{
	struct lists l;

	for (int round = 0; round < 3; round++) {
		fill(&l, 0, rank, world->n, round);
		OK(reduce(comm, &l, 0, round));
	}
	fill(&l, 0, rank, world->n, 3);
	SAYS(reduce(comm, &l, rank == *(int *)who ? 1 : 0, 3), CHOIR_MISMATCH, "reduce_scatterv|rank 0|rank 1");
}

void test_repeated_lists(void **state)
{
	int who = 0;

	(void)state;
	for (int n = 2; n <= MOST; n++)
		line_up_run(n, 0, 20000, counts_change, NULL);
	line_up_run(2, 0, 20000, counts_wrong, NULL);
	for (; who < 2; who++)
		line_up_run(2, 0, 20000, one_differs, &who);
}
