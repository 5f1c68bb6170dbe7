/* SPDX-License-Identifier: MIT */
#include "api/counts.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

bool counts_may_differ(const struct choir_comm *comm, const char *algorithm)
{
	static const char *const names[] = { "slots", "direct", "device" };
	bool may = comm->n == 1;

	for (size_t i = 0; i < sizeof names / sizeof *names && !may; i++)
		may = strcmp(algorithm, names[i]) == 0;
	return may;
}

/* A plan that moves nothing waits for no rank. */
static bool moves(const uint64_t *matrix, size_t n)
{
	for (size_t i = 0; i < n * n; i++)
		if (matrix[i] > 0)
			return true;
	return false;
}

static void destroy(struct segments_owner *owner)
{
	free(owner);
}

uint64_t counts_mean(const uint64_t *matrix, size_t n)
{
	uint64_t total = 0;

	for (size_t i = 0; i < n * n; i++)
		total += matrix[i];
	return total / (n * n);
}

struct counts *counts_create(const struct choir_comm *comm, const uint64_t *matrix)
{
	size_t n = (size_t)comm->n, bytes = 2 * n * n * sizeof *matrix;
	struct counts *counts;

	if (!moves(matrix, n) || (counts = malloc(sizeof *counts + bytes)) == NULL)
		return NULL;
	atomic_init(&counts->owner.refs, 1);
	counts->owner.destroy = destroy;
	memcpy(counts->matrix, matrix, bytes);
	counts->off = counts->matrix + n * n;
	counts->hash = XXH64(counts->matrix, bytes, 0) | 1;
	counts->mean = counts_mean(matrix, n);
	return counts;
}

bool counts_are_mine(const struct counts *counts, const struct choir_comm *comm, const uint64_t *sent,
                     const uint64_t *off, const uint64_t *expected)
{
	size_t n = (size_t)comm->n, me = (size_t)comm->rank;

	if (memcmp(counts->matrix + me * n, sent, n * sizeof *sent) != 0 ||
	    memcmp(counts->off + me * n, off, n * sizeof *off) != 0)
		return false;
	for (size_t from = 0; from < n; from++)
		if (counts->matrix[from * n + me] != expected[from])
			return false;
	return true;
}
