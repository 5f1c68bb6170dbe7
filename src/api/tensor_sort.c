/* SPDX-License-Identifier: MIT */
#include "api/tensor_sort.h"

#include <stdlib.h>

/* Is the tensor in place?  ARGUMENT: it is neither that nor apart. */
static choir_status look_in_place(const struct tensor_list *list, size_t i, bool *in_place_p)
{
	const choir_tensor *t = &list->tensors[i];
	uint64_t send = tensor_list_bytes(list, t, list->send_holds),
		 recv = tensor_list_bytes(list, t, list->recv_holds);
	int64_t delta = 0, inner = 0;

	*in_place_p = dev_overlap(t->send, send, tensor_list_recv(list, t), recv, NULL, &delta);
	if (list->send_holds != list->recv_holds)
		inner = (int64_t)tensor_list_block(list, t) * list->rank;
	if (collective_send_is_inner(list->collective))
		delta = -delta;
	if (*in_place_p && list->padded)
		return error_set(CHOIR_ARGUMENT,
		                 "send and recv of tensors[%zu] overlap, and a padded call is never in place", i);
	if (*in_place_p && delta != inner)
		return error_set(CHOIR_ARGUMENT, "send and recv of tensors[%zu] overlap, but not in place", i);
	return CHOIR_SUCCESS;
}

/* Of each tensor, the longer span alone where it is in place.  No two may share a byte, written or not. */
static choir_status list_spans(const struct tensor_list *list, struct dev_span *spans, size_t *n_p, size_t first[2])
{
	size_t n = 0;

	for (size_t i = 0; i < list->n; i++) {
		const choir_tensor *t = &list->tensors[i];
		struct dev_span send = { .id = i, .written = true }, recv = send;
		bool in_place;

		if (t->count == 0)
			continue;
		send.bytes = tensor_list_bytes(list, t, list->send_holds);
		recv.bytes = tensor_list_bytes(list, t, list->recv_holds);
		TRY(look_in_place(list, i, &in_place));
		if (first[in_place] == list->n && send.bytes > 0 && recv.bytes > 0)
			first[in_place] = i;
		if (send.bytes > 0 && !(in_place && recv.bytes >= send.bytes) && dev_origin(t->send, &send.origin))
			spans[n++] = send;
		if (recv.bytes > 0 && !(in_place && recv.bytes < send.bytes) &&
		    dev_origin(tensor_list_recv(list, t), &recv.origin))
			spans[n++] = recv;
	}
	*n_p = n;
	return CHOIR_SUCCESS;
}

static choir_status check_spans(struct tensor_list *list, struct dev_span *spans)
{
	size_t first[2] = { list->n, list->n }, n, ids[2]; /* first: that is not in place, that is */

	TRY(list_spans(list, spans, &n, first));
	if (list->collective != COLLECTIVE_ALLREDUCE && first[0] < list->n && first[1] < list->n)
		return error_set(CHOIR_ARGUMENT, "tensors[%zu] is in place and tensors[%zu] is not: all are, or none",
		                 first[1], first[0]);
	list->in_place = list->collective != COLLECTIVE_ALLREDUCE && first[1] < list->n;
	if (dev_spans_meet(spans, n, ids))
		return error_set(CHOIR_ARGUMENT, "tensors[%zu] and tensors[%zu] overlap", ids[0], ids[1]);
	return CHOIR_SUCCESS;
}

choir_status tensors_apart(struct tensor_list *list)
{
	struct dev_span *spans = malloc((2 * list->n + 1) * sizeof *spans);
	choir_status st;

	if (spans == NULL)
		return error_no_memory("a list of tensors", (2 * list->n + 1) * sizeof *spans);
	st = check_spans(list, spans);
	free(spans);
	return st;
}

struct sorter {
	const struct tensor_list *list;
	uint64_t most; /* bytes of a bucket */
	size_t *order, *ends, n_order, n_buckets;
};

/* All of the type of tensor `first`, and where their buckets end. */
static void take_type(struct sorter *s, size_t first)
{
	const struct tensor_list *list = s->list;
	uint64_t bytes = 0;
	size_t begin = s->n_order;

	for (size_t i = first; i < list->n; i++) {
		const choir_tensor *t = &list->tensors[i];
		uint64_t most = tensor_list_block(list, t) * list->most_holds;

		if (t->count == 0 || t->dtype != list->tensors[first].dtype)
			continue;
		if (s->n_order > begin && bytes + most > s->most) {
			s->ends[s->n_buckets++] = s->n_order;
			bytes = 0;
			begin = s->n_order;
		}
		bytes += most;
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

size_t tensors_sort(const struct tensor_list *list, uint64_t most, size_t *order, size_t *ends)
{
	struct sorter s = { .list = list, .most = most, .order = order, .ends = ends };

	for (size_t i = 0; i < list->n; i++)
		if (list->tensors[i].count > 0 && is_first_of_type(list->tensors, i))
			take_type(&s, i);
	if (s.n_buckets == 0)
		ends[s.n_buckets++] = 0;
	return s.n_buckets;
}
