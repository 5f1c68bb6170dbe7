/* SPDX-License-Identifier: MIT */
#include "api/tensor_sort.h"

#include <stdlib.h>

struct span {
	struct dev_origin origin;
	uint64_t bytes;
	size_t tensor;
};

static int by_origin(const void *a, const void *b)
{
	const struct span *x = a, *y = b;

	if (x->origin.root != y->origin.root)
		return (uintptr_t)x->origin.root < (uintptr_t)y->origin.root ? -1 : 1;
	return (x->origin.at > y->origin.at) - (x->origin.at < y->origin.at);
}

static uint64_t bytes_of(const choir_tensor *tensor)
{
	return tensor->count * choir_dtype_bytes(tensor->dtype);
}

/* A tensor in place is one span. */
static size_t list_spans(const choir_tensor *tensors, size_t n, struct span *spans)
{
	size_t n_spans = 0;

	for (size_t i = 0; i < n; i++) {
		struct span send = { .bytes = bytes_of(&tensors[i]), .tensor = i }, recv = send;

		if (send.bytes == 0)
			continue;
		if (dev_origin(tensors[i].send, &send.origin))
			spans[n_spans++] = send;
		if (dev_origin(tensors[i].recv, &recv.origin) && by_origin(&send, &recv) != 0)
			spans[n_spans++] = recv;
	}
	return n_spans;
}

static choir_status overlaps(const struct span *a, const struct span *b)
{
	if (a->tensor == b->tensor)
		return error_set(CHOIR_ARGUMENT, "send and recv of tensors[%zu] overlap, but not in place", a->tensor);
	return error_set(CHOIR_ARGUMENT, "tensors[%zu] and tensors[%zu] overlap",
	                 a->tensor < b->tensor ? a->tensor : b->tensor, a->tensor < b->tensor ? b->tensor : a->tensor);
}

choir_status tensors_apart(const choir_tensor *tensors, size_t n)
{
	struct span *spans = malloc((2 * n + 1) * sizeof *spans);
	choir_status st = CHOIR_SUCCESS;
	size_t n_spans;

	if (spans == NULL)
		return error_no_memory("a list of tensors", (2 * n + 1) * sizeof *spans);
	n_spans = list_spans(tensors, n, spans);
	qsort(spans, n_spans, sizeof *spans, by_origin);
	for (size_t i = 1; i < n_spans && st == CHOIR_SUCCESS; i++)
		if (spans[i].origin.root == spans[i - 1].origin.root &&
		    spans[i].origin.at - spans[i - 1].origin.at < spans[i - 1].bytes)
			st = overlaps(&spans[i - 1], &spans[i]);
	free(spans);
	return st;
}

struct sorter {
	const choir_tensor *tensors;
	uint64_t most; /* bytes of a bucket */
	size_t n, *order, *ends, n_order, n_buckets;
};

/* All of the type of tensor `first`, and where their buckets end. */
static void take_type(struct sorter *s, size_t first)
{
	uint64_t bytes = 0;
	size_t begin = s->n_order;

	for (size_t i = first; i < s->n; i++) {
		const choir_tensor *t = &s->tensors[i];

		if (t->count == 0 || t->dtype != s->tensors[first].dtype)
			continue;
		if (s->n_order > begin && bytes + bytes_of(t) > s->most) {
			s->ends[s->n_buckets++] = s->n_order;
			bytes = 0;
			begin = s->n_order;
		}
		bytes += bytes_of(t);
		s->order[s->n_order++] = i;
	}
	s->ends[s->n_buckets++] = s->n_order;
}

static bool is_first_of_type(const choir_tensor *tensors, size_t i)
{
	for (size_t before = 0; before < i; before++)
		if (tensors[before].count > 0 && tensors[before].dtype == tensors[i].dtype)
			return false;
	return true;
}

size_t tensors_sort(const choir_tensor *tensors, size_t n, uint64_t most, size_t *order, size_t *ends)
{
	struct sorter s = { .tensors = tensors, .most = most, .n = n, .order = order, .ends = ends };

	for (size_t i = 0; i < n; i++)
		if (tensors[i].count > 0 && is_first_of_type(tensors, i))
			take_type(&s, i);
	if (s.n_buckets == 0)
		ends[s.n_buckets++] = 0;
	return s.n_buckets;
}
