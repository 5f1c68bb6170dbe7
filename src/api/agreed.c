/* SPDX-License-Identifier: MIT */
#include "api/agreed.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

static bool waits_for_all(const struct choir_comm *comm, const struct algorithm *algorithm)
{
	return comm->n == 1 || (strcmp(algorithm->name, "slots") == 0 || strcmp(algorithm->name, "direct") == 0);
}

/* A plan that moves nothing waits for nobody. */
static bool moves(const uint64_t *matrix, size_t n)
{
	for (size_t i = 0; i < n * n; i++)
		if (matrix[i] > 0)
			return true;
	return false;
}

static void add_up(struct agreed *agreed, size_t n)
{
	uint64_t total = 0;

	for (size_t i = 0; i < n * n; i++)
		total += agreed->matrix[i];
	agreed->hash = XXH64(agreed->matrix, 2 * n * n * sizeof *agreed->matrix, 0) | 1;
	agreed->mean = total / (n * n);
}

void agreed_keep(struct choir_comm *comm, const struct algorithm *algorithm, const uint64_t *matrix)
{
	size_t n = (size_t)comm->n, bytes = 2 * n * n * sizeof *matrix;
	struct agreed *agreed;

	if (!waits_for_all(comm, algorithm) || !moves(matrix, n) || (agreed = malloc(sizeof *agreed + bytes)) == NULL)
		return;
	memcpy(agreed->matrix, matrix, bytes);
	agreed->off = agreed->matrix + n * n;
	add_up(agreed, n);
	free(atomic_exchange(&comm->agreed, agreed));
}

struct agreed *agreed_take(struct choir_comm *comm)
{
	return atomic_exchange_explicit(&comm->agreed, NULL, memory_order_acquire);
}

void agreed_give(struct choir_comm *comm, struct agreed *agreed)
{
	void *none = NULL;

	if (!atomic_compare_exchange_strong_explicit(&comm->agreed, &none, agreed, memory_order_release, memory_order_relaxed))
		free(agreed);
}

bool agreed_is(const struct agreed *agreed, const struct choir_comm *comm, const uint64_t *sent, const uint64_t *off, const uint64_t *expected)
{
	size_t n = (size_t)comm->n, me = (size_t)comm->rank;

	if (memcmp(agreed->matrix + me * n, sent, n * sizeof *sent) != 0 || memcmp(agreed->off + me * n, off, n * sizeof *off) != 0)
		return false;
	for (size_t from = 0; from < n; from++)
		if (agreed->matrix[from * n + me] != expected[from])
			return false;
	return true;
}
