/* SPDX-License-Identifier: MIT */
/* LightGBM's network as choir's: the two functions that LGBM_NetworkInitWithFunctions takes.  LightGBM calls them on
 * the thread that trains, and keeps its network by thread; so does this.
 *
 * Note [errors].  The functions return nothing, and an error must be a C++ exception, which LightGBM turns into its
 * LightGBMError.  This is C: it calls libstdc++'s std::__throw_runtime_error, which is given to it, and is compiled so
 * that an exception may pass (-fexceptions).  Nothing here needs undoing when that happens.
 *
 * Note [fold].  Blocks are folded in rank order, so all runs give the same bits.  The fold begins in output, where rank
 * 0's block comes at once, and my own block is folded from where it stands.  Output may be the input, as where two
 * ranks agree on a split with max_cat_threshold over 488: then the fold begins in memory of its own.  Every rank knows
 * all lengths, so a message to each rank is enough, one wait each; an alltoallv would compare the lengths first. */
#include <choir/choir.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void (*reduce_fn)(const char *input, char *output, int type_size, int32_t bytes);
typedef void (*throw_fn)(const char *text);

static _Thread_local struct network {
	choir_comm *comm; /* NULL: none on this thread */
	int rank, size;
	throw_fn throw_error;
	char *received; /* the blocks of the other ranks, each in its rank's place, before they are folded */
	size_t room;
	size_t *counts; /* two tables of a number for each rank */
	char text[1024];
} network;

CHOIR_API int choir_lightgbm_open(choir_comm *comm, throw_fn throw_error);
CHOIR_API void choir_lightgbm_close(void);
CHOIR_API void choir_lightgbm_reduce_scatter(char *input, int32_t input_bytes, int type_size, const int32_t *starts,
                                             const int32_t *lengths, int n, char *output, int32_t output_bytes,
                                             const reduce_fn *reducer);
CHOIR_API void choir_lightgbm_allgather(char *input, int32_t input_bytes, const int32_t *starts, const int32_t *lengths,
                                        int n, char *output, int32_t output_bytes);

static void fail(const char *text)
{
	snprintf(network.text, sizeof network.text, "%s", text);
	network.throw_error(network.text);
}

/* choir_lightgbm_open: this thread's network is the comm, until close.  0; 1 without memory, 2 for a null comm, and
 * then this thread has no network. */
int choir_lightgbm_open(choir_comm *comm, throw_fn throw_error)
{
	choir_lightgbm_close();
	if (comm == NULL)
		return 2;
	network.size = choir_comm_size(comm);
	network.rank = choir_comm_rank(comm);
	network.counts = calloc(2 * (size_t)network.size, sizeof *network.counts);
	if (network.counts == NULL)
		return 1;
	network.comm = comm;
	network.throw_error = throw_error;
	return 0;
}

void choir_lightgbm_close(void)
{
	free(network.received);
	free(network.counts);
	network = (struct network){ 0 };
}

static size_t *table(int which)
{
	return network.counts + (size_t)which * (size_t)network.size;
}

static bool overlap(const char *a, size_t a_bytes, const char *b, size_t b_bytes)
{
	return (uintptr_t)a < (uintptr_t)b + b_bytes && (uintptr_t)b < (uintptr_t)a + a_bytes;
}

/* Makes room for n blocks of the given size. */
static void reserve(size_t bytes, int n)
{
	size_t needed = bytes * (size_t)n;
	char *more;

	if (needed <= network.room)
		return;
	more = realloc(network.received, needed);
	if (more == NULL)
		fail("choir: no memory for the blocks of a reduce_scatter");
	network.received = more;
	network.room = needed;
}

/* Block p of the input goes to rank p: Note [fold]. */
void choir_lightgbm_reduce_scatter(char *input, int32_t input_bytes, int type_size, const int32_t *starts,
                                   const int32_t *lengths, int n, char *output, int32_t output_bytes,
                                   const reduce_fn *reducer)
{
	int rank = network.rank;
	size_t mine = (size_t)lengths[rank];
	char *own = input + starts[rank], *fold = output;

	(void)output_bytes;
	reserve(mine, n);
	if (overlap(input, (size_t)input_bytes, output, mine))
		fold = network.received;
	for (int step = 1; step < n; step++) {
		int to = (rank + step) % n, from = (rank + n - step) % n;
		char *block = from == 0 ? fold : network.received + (size_t)from * mine;

		if (choir_sendrecv(network.comm, choir_host(input + starts[to]), (size_t)lengths[to], to,
		                   choir_host(block), mine, from, CHOIR_U8, NULL, NULL) != CHOIR_SUCCESS)
			fail(choir_last_error());
	}
	if (mine == 0)
		return;
	if (rank == 0)
		memcpy(fold, own, mine);
	for (int p = 1; p < n; p++)
		(*reducer)(p == rank ? own : network.received + (size_t)p * mine, fold, type_size, (int32_t)mine);
	if (fold != output)
		memcpy(output, fold, mine);
}

/* The block stands at input, which may be the start of output: it is moved to its place first. */
void choir_lightgbm_allgather(char *input, int32_t input_bytes, const int32_t *starts, const int32_t *lengths, int n,
                              char *output, int32_t output_bytes)
{
	char *mine = output + starts[network.rank];
	size_t *counts = table(0), *places = table(1);

	(void)input_bytes;
	(void)output_bytes;
	memmove(mine, input, (size_t)lengths[network.rank]);
	for (int p = 0; p < n; p++) {
		counts[p] = (size_t)lengths[p];
		places[p] = (size_t)starts[p];
	}
	if (choir_allgatherv(network.comm, choir_host(mine), counts[network.rank], choir_host(output), counts, places,
	                     CHOIR_U8, NULL, NULL) != CHOIR_SUCCESS)
		fail(choir_last_error());
}
