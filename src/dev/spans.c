/* SPDX-License-Identifier: MIT */
/* Which of many ranges of memory overlap. */
#include "dev/dev.h"

#include <stdlib.h>

static int by_origin(const void *a, const void *b)
{
	const struct dev_span *x = a, *y = b;

	if (x->origin.root != y->origin.root)
		return (uintptr_t)x->origin.root < (uintptr_t)y->origin.root ? -1 : 1;
	return (x->origin.at > y->origin.at) - (x->origin.at < y->origin.at);
}

static bool reaches(const struct dev_span *from, const struct dev_span *to)
{
	return from != NULL && from->origin.root == to->origin.root && to->origin.at - from->origin.at < from->bytes;
}

/* The one that ends last; to begins at or behind from. */
static const struct dev_span *further(const struct dev_span *from, const struct dev_span *to)
{
	if (!reaches(from, to))
		return to;
	return from->bytes - (to->origin.at - from->origin.at) > to->bytes ? from : to;
}

/* Sorted by where they begin: each is held against the one before it that ends last, of all or of those written. */
bool dev_spans_meet(struct dev_span *spans, size_t n, size_t ids[2])
{
	const struct dev_span *any = NULL, *written = NULL;

	qsort(spans, n, sizeof *spans, by_origin);
	for (size_t i = 0; i < n; i++) {
		const struct dev_span *met = spans[i].written ? any : written;

		if (reaches(met, &spans[i])) {
			ids[0] = met->id < spans[i].id ? met->id : spans[i].id;
			ids[1] = met->id < spans[i].id ? spans[i].id : met->id;
			return true;
		}
		any = further(any, &spans[i]);
		if (spans[i].written)
			written = further(written, &spans[i]);
	}
	return false;
}
