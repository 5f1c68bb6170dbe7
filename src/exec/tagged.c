/* SPDX-License-Identifier: MIT */
#include "exec/tagged.h"

#include "base/arithmetic.h"

#include <stdlib.h>

enum { FEW_BUCKETS = 16 };

static size_t bucket_of(const struct tagged *tagged, int peer, uint32_t tag)
{
	uint64_t h = hash_spread((uint64_t)(uint32_t)peer << 32 | tag);

	return (size_t)(h >> 32) & (tagged->n_buckets - 1);
}

static void add(struct tagged *tagged, struct tagged_counts *counts)
{
	struct tagged_counts **first = &tagged->buckets[bucket_of(tagged, counts->peer, counts->tag)];

	counts->next = *first;
	*first = counts;
}

/* Without memory for more buckets those there are grow longer. */
static void grow(struct tagged *tagged)
{
	struct tagged_counts **old = tagged->buckets, **more, *next;
	size_t n_old = tagged->n_buckets, n = n_old > 0 ? 2 * n_old : FEW_BUCKETS;

	if (tagged->n < n_old || (more = calloc(n, sizeof *more)) == NULL)
		return;
	tagged->buckets = more;
	tagged->n_buckets = n;
	for (size_t b = 0; b < n_old; b++)
		for (struct tagged_counts *counts = old[b]; counts != NULL; counts = next) {
			next = counts->next;
			add(tagged, counts);
		}
	free(old);
}

choir_status tagged_find(struct tagged *tagged, int peer, uint32_t tag, struct tagged_counts **out_p)
{
	struct tagged_counts *counts = NULL;

	grow(tagged);
	if (tagged->n_buckets > 0)
		counts = tagged->buckets[bucket_of(tagged, peer, tag)];
	while (counts != NULL && (counts->peer != peer || counts->tag != tag))
		counts = counts->next;
	if (counts == NULL) {
		counts = tagged->n_buckets > 0 ? calloc(1, sizeof *counts) : NULL;
		if (counts == NULL)
			return error_no_memory("the numbers of a tag", sizeof *counts);
		counts->peer = peer;
		counts->tag = tag;
		add(tagged, counts);
		tagged->n++;
	}
	*out_p = counts;
	return CHOIR_SUCCESS;
}

size_t tagged_copy(const struct tagged *tagged, int peer, struct wire_tagged *out, size_t most)
{
	size_t n = 0;

	for (size_t b = 0; b < tagged->n_buckets; b++)
		for (const struct tagged_counts *counts = tagged->buckets[b]; counts != NULL; counts = counts->next) {
			if (peer >= 0 && counts->peer != peer)
				continue;
			if (n < most)
				out[n] =
				    (struct wire_tagged){ counts->tag, counts->peer, counts->sent, counts->received };
			n++;
		}
	return n;
}

void tagged_fini(struct tagged *tagged)
{
	struct tagged_counts *next;

	for (size_t b = 0; b < tagged->n_buckets; b++)
		for (struct tagged_counts *counts = tagged->buckets[b]; counts != NULL; counts = next) {
			next = counts->next;
			free(counts);
		}
	free(tagged->buckets);
	*tagged = (struct tagged){ 0 };
}
