/* SPDX-License-Identifier: MIT */
#include "api/split_claims.h"

#include "api/call.h"
#include "api/pair_calls.h"

#include <choir/group.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

/* Several local ranks call at once. */
static choir_status gather_several(const struct split_calls *split, const unsigned char *mine, size_t stride,
                                   size_t bytes, unsigned char *all)
{
	const choir_call part = call_part_of(split->how->call);
	size_t n = (size_t)split->comms[0]->n;
	choir_status st = choir_group_begin();

	if (st != CHOIR_SUCCESS)
		return st;
	for (int i = 0; i < split->n_local && st == CHOIR_SUCCESS; i++)
		st = choir_allgather(split->comms[i], choir_host((void *)(mine + (size_t)i * stride)),
		                     choir_host(all + (size_t)i * n * bytes), bytes, CHOIR_U8, &part, NULL);
	return group_close(st);
}

choir_status split_gather(const struct split_calls *split, const void *mine, size_t stride, size_t bytes, void *all)
{
	const choir_call part = call_part_of(split->how->call);
	size_t total = (size_t)split->comms[0]->n * bytes;
	unsigned char *each;
	choir_status st;

	if (split->n_local == 1)
		return choir_allgather(split->comms[0], choir_host((void *)mine), choir_host(all), bytes, CHOIR_U8,
		                       &part, NULL);
	each = malloc((size_t)split->n_local * total);
	if (each == NULL)
		return error_no_memory("bytes of a split", (size_t)split->n_local * total);
	st = gather_several(split, mine, stride, bytes, each);
	if (st == CHOIR_SUCCESS)
		memcpy(all, each, total);
	free(each);
	return st;
}

/* One round of Bruck's allgather (1997), after which each rank has twice as many blocks, for one local rank. */
static choir_status exchange_one(const char *call, choir_comm *comm, int at, const int *ranks, int n, int have,
                                 unsigned char *blocks, size_t bytes)
{
	size_t more = (size_t)(have < n - have ? have : n - have);

	return split_sendrecv(call, comm, more * bytes, blocks, ranks[(at - have + n) % n],
	                      blocks + (size_t)have * bytes, ranks[(at + have) % n]);
}

static choir_status exchange_round(const char *call, int n_local, choir_comm *const *comms, const int *at,
                                   const int *ranks, int n, int have, unsigned char *blocks, size_t bytes)
{
	choir_status st;

	if (n_local == 1)
		return exchange_one(call, comms[0], at[0], ranks, n, have, blocks, bytes);
	st = choir_group_begin();
	if (st != CHOIR_SUCCESS)
		return st;
	for (int i = 0; i < n_local && st == CHOIR_SUCCESS; i++)
		st = exchange_one(call, comms[i], at[i], ranks, n, have, blocks + (size_t)i * (size_t)n * bytes, bytes);
	return group_close(st);
}

choir_status split_exchange(const char *call, int n_local, choir_comm *const *comms, const int *at, const int *ranks,
                            int n, void *blocks, size_t bytes)
{
	for (int have = 1; have < n; have *= 2)
		TRY(exchange_round(call, n_local, comms, at, ranks, n, have, blocks, bytes));
	return CHOIR_SUCCESS;
}

static int by_number(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

/* The members alone call.  Each goes round them by number: ranks whose lists have another order meet, and find it. */
static choir_status exchange_claims(const struct split_calls *split, const struct split_claim *mine)
{
	const struct split_how *how = split->how;
	int n = how->n_ranks, *at = calloc((size_t)split->n_local + (size_t)n, sizeof *at), *members;
	struct split_claim *blocks = calloc((size_t)split->n_local * (size_t)n, sizeof *blocks);
	choir_status st;

	if (at == NULL || blocks == NULL) {
		free(at);
		free(blocks);
		return error_no_memory("claims of a group", (size_t)n * sizeof *blocks);
	}
	members = at + split->n_local;
	memcpy(members, how->ranks, (size_t)n * sizeof *members);
	qsort(members, (size_t)n, sizeof *members, by_number);
	for (int i = 0; i < split->n_local; i++) {
		while (members[at[i]] != split->comms[i]->rank)
			at[i]++;
		blocks[i * n] = mine[i];
		blocks[i * n].set = (int32_t)XXH32(members, (size_t)n * sizeof *members, 0);
	}
	st = split_exchange(how->call, split->n_local, split->comms, at, members, n, blocks, sizeof *blocks);
	for (int r = 0; r < split->comms[0]->n; r++)
		split->claims[r].color = -1;
	for (int b = 0; b < n && st == CHOIR_SUCCESS; b++)
		split->claims[members[(at[0] + b) % n]] = blocks[b];
	free(at);
	free(blocks);
	return st;
}

/* Where sets of members differ a rank may wait for one that waits for others: the parent's failure ends both. */
static void fail_other_sets(const struct split_calls *split)
{
	const struct split_how *how = split->how;
	char text[ERROR_TEXT_BYTES];
	bool differ = false;

	for (int i = 1; i < how->n_ranks; i++)
		differ |= split->claims[how->ranks[i]].set != split->claims[how->ranks[0]].set;
	snprintf(text, sizeof text, "%s", error_text());
	for (int i = 0; i < split->n_local && differ; i++)
		comm_fail(split->comms[i], CHOIR_MISMATCH, text);
}

static choir_status check_rules(const struct split_calls *split)
{
	const struct split_how *how = split->how;
	int n = how->ranks != NULL ? how->n_ranks : split->comms[0]->n, first = how->ranks != NULL ? how->ranks[0] : 0;

	for (int i = 1; i < n; i++) {
		int rank = how->ranks != NULL ? how->ranks[i] : i;
		char theirs[128], wanted[128];

		if (memcmp(split->claims[rank].rule, split->claims[first].rule, sizeof split->claims->rule) == 0)
			continue;
		how->describe(&split->claims[first], wanted, sizeof wanted);
		how->describe(&split->claims[rank], theirs, sizeof theirs);
		return error_set(CHOIR_MISMATCH, "%s: rank %d gives %s, but rank %d gives %s", how->call, first, wanted,
		                 rank, theirs);
	}
	return CHOIR_SUCCESS;
}

choir_status split_gather_claims(const struct split_calls *split, const struct split_claim *mine)
{
	choir_status st;

	TRY(split->how->ranks != NULL ? exchange_claims(split, mine)
	                              : split_gather(split, mine, sizeof *mine, sizeof *mine, split->claims));
	st = check_rules(split);
	if (st != CHOIR_SUCCESS && split->how->ranks != NULL)
		fail_other_sets(split);
	return st;
}
