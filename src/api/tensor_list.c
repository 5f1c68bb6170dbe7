/* SPDX-License-Identifier: MIT */
#include "api/tensor_list.h"

#include "api/call.h"
#include "api/tensor_sort.h"
#include "exec/prepared.h"
#include "exec/symmetric.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

static void destroy(struct segments_owner *owner)
{
	struct tensor_list *list = (struct tensor_list *)owner;

	free(list->tensors);
	free(list->buckets);
	free(list->segments);
	free(list->accesses);
	free(list->addresses);
	free(list->padding);
	free(list);
}

/* A tensor's bytes, all its blocks, added to those of the list. */
static choir_status measure(struct tensor_list *list, size_t i, uint64_t elem)
{
	/* Padding is less than the tensor, or a few elements. */
	uint64_t bytes, all, most = list->padded ? 2 : list->most_holds;

	if (__builtin_mul_overflow((uint64_t)list->tensors[i].count, elem, &bytes) ||
	    __builtin_mul_overflow(bytes, most, &all) || __builtin_add_overflow(list->bytes, all, &list->bytes) ||
	    list->bytes > INT64_MAX)
		return error_set(CHOIR_ARGUMENT,
		                 "tensors[%zu]: with its %zu elements of %s there are more than 2^63 bytes", i,
		                 list->tensors[i].count, choir_dtype_name(list->tensors[i].dtype));
	return CHOIR_SUCCESS;
}

/* Counts, types and buffers, each by itself. */
static choir_status check_each(choir_device *device, struct tensor_list *list)
{
	for (size_t i = 0; i < list->n; i++) {
		const choir_tensor *t = &list->tensors[i];
		choir_buffer recv = tensor_list_recv(list, t);
		uint64_t elem = choir_dtype_bytes(t->dtype), words[2] = { t->count, (uint64_t)t->dtype };
		choir_status st;

		if (elem == 0)
			return error_set(CHOIR_ARGUMENT, "tensors[%zu]: no data type has number %d", i, (int)t->dtype);
		TRY(measure(list, i, elem));
		st = dev_range(device, "send", t->send, tensor_list_bytes(list, t, list->send_holds), elem);
		if (st == CHOIR_SUCCESS &&
		    (!call_key_same_buffer(&t->send, &recv) || list->recv_holds > list->send_holds))
			st = dev_range(device, "recv", recv, tensor_list_bytes(list, t, list->recv_holds), elem);
		if (st != CHOIR_SUCCESS)
			return error_prefix(st, "tensors[%zu]", i);
		list->hash = XXH64(words, sizeof words, list->hash);
	}
	return CHOIR_SUCCESS;
}

/* The arrays to which the segments of one side of a bucket are added. */
struct side {
	struct segments *segments;
	struct segment *items;
	struct dev_access *accesses;
	uint64_t *addresses;
	uint64_t holds, blocks; /* on this rank as of the list; on the rank that holds most */
	bool write;
};

static choir_status add_segment(const struct choir_comm *comm, struct tensor_list *list, struct side *side,
                                const choir_tensor *tensor, choir_buffer buffer)
{
	struct segments *all = side->segments;
	struct segment *segment = &side->items[all->n];
	struct dev_access *access = &side->accesses[all->n];

	segment[1].from = segment->from + tensor_list_block(list, tensor);
	segment->bytes = tensor_list_bytes(list, tensor, side->blocks);
	all->n++;
	if (side->holds == 0) /* peers' segments are as long */
		return CHOIR_SUCCESS;
	TRY(dev_resolve(comm->device, buffer, segment->bytes, side->write, access));
	list->reusable = list->reusable && prepared_lasts(comm->device, buffer, access);
	list->reusable_if_retained &= prepared_lasts_if_kept(buffer);
	all->direct &= access->direct;
	side->addresses[all->n - 1] = symmetric_address(comm, access);
	if (side->addresses[all->n - 1] == 0)
		all->addresses = NULL;
	segment->ptr = access->direct ? access->ptr : NULL;
	segment->access = access;
	return CHOIR_SUCCESS;
}

static uint64_t blocks_of(const struct tensor_list *list, bool has_blocks)
{
	return has_blocks ? list->most_holds : 1;
}

/* Side 0 or 1 of the bucket whose tensors are order[first] .. order[first + n - 1], in the list's arrays. */
static struct side make_side(struct tensor_list *list, struct tensor_bucket *bucket, size_t b, size_t first, int which)
{
	size_t at = 2 * first + (size_t)which * bucket->n;
	struct side side = { .segments = which == 0 ? &bucket->send : &bucket->recv,
		             .items = list->segments + at + 2 * b + (size_t)which,
		             .accesses = list->accesses + at,
		             .addresses = list->addresses + at,
		             .holds = which == 0 ? list->send_holds : list->recv_holds,
		             .blocks = which == 0 ? blocks_of(list, collective_sends_blocks(list->collective))
		                                  : blocks_of(list, collective_recvs_blocks(list->collective)),
		             .write = which == 1 };

	*side.segments = (struct segments){ .items = side.items, .direct = true, .addresses = side.addresses };
	return side;
}

/* Of a tensor fewer elements than ranks are padding. */
static size_t padding_bytes(const struct tensor_list *list)
{
	uint64_t elem = 0;

	for (size_t i = 0; i < list->n; i++)
		if (choir_dtype_bytes(list->tensors[i].dtype) > elem)
			elem = choir_dtype_bytes(list->tensors[i].dtype);
	return (size_t)list->n_ranks * elem;
}

static bool has_padding(const struct tensor_list *list, const choir_tensor *tensor)
{
	return list->padded && tensor->count % (size_t)list->n_ranks != 0;
}

/* Bucket b: the tensors order[first] .. order[end - 1]. */
static choir_status fill_bucket(const struct choir_comm *comm, struct tensor_list *list, size_t b, const size_t *order,
                                size_t first, size_t end)
{
	struct tensor_bucket *bucket = &list->buckets[b];
	const choir_tensor *one = end > first ? &list->tensors[order[first]] : NULL;
	struct side send, recv;

	*bucket = (struct tensor_bucket){ .n = end - first,
		                          .only = end - first == 1 && !has_padding(list, one) ? one : NULL,
		                          .dtype = one != NULL ? one->dtype : CHOIR_U8 };
	send = make_side(list, bucket, b, first, 0);
	recv = make_side(list, bucket, b, first, 1);
	for (size_t i = first; i < end; i++) {
		const choir_tensor *t = &list->tensors[order[i]];

		TRY(add_segment(comm, list, &send, t, t->send));
		TRY(add_segment(comm, list, &recv, t, tensor_list_recv(list, t)));
		bucket->count += tensor_list_block(list, t) / choir_dtype_bytes(t->dtype);
	}
	bucket->send.block = send.blocks > 1 ? bucket->count * choir_dtype_bytes(bucket->dtype) : 0;
	bucket->recv.block = recv.blocks > 1 ? bucket->count * choir_dtype_bytes(bucket->dtype) : 0;
	bucket->send.padding = list->padding;
	bucket->recv.padding = list->padding != NULL ? list->padding + padding_bytes(list) : NULL;
	return CHOIR_SUCCESS;
}

/* order: the tensors that are not empty, those of a bucket together; ends[b]: where bucket b ends in it. */
static choir_status fill(const struct choir_comm *comm, struct tensor_list *list, const size_t *order,
                         const size_t *ends)
{
	size_t n = ends[list->n_buckets - 1];

	list->buckets = calloc(list->n_buckets, sizeof *list->buckets);
	list->segments = calloc(2 * (n + list->n_buckets), sizeof *list->segments);
	list->accesses = calloc(2 * n + 1, sizeof *list->accesses);
	list->addresses = calloc(2 * n + 1, sizeof *list->addresses);
	if (list->buckets == NULL || list->segments == NULL || list->accesses == NULL || list->addresses == NULL)
		return error_no_memory("a list of tensors",
		                       2 * n *
		                           (sizeof *list->segments + sizeof *list->accesses + sizeof *list->addresses));
	if (list->padded && (list->padding = calloc(2, padding_bytes(list) + 1)) == NULL)
		return error_no_memory("the padding of a list", 2 * padding_bytes(list));
	for (size_t b = 0, first = 0; b < list->n_buckets; first = ends[b++])
		TRY(fill_bucket(comm, list, b, order, first, ends[b]));
	return CHOIR_SUCCESS;
}

static choir_status build(struct choir_comm *comm, struct tensor_list *list, uint64_t bucket_bytes)
{
	size_t *order = calloc(2 * list->n + 1, sizeof *order), *ends;
	choir_status st;

	if (order == NULL)
		return error_no_memory("a list of tensors", (2 * list->n + 1) * sizeof *order);
	ends = order + list->n;
	st = check_each(comm->device, list);
	if (st == CHOIR_SUCCESS)
		st = tensors_apart(list);
	if (bucket_bytes != BUCKET_BYTES)
		list->hash = XXH64(&bucket_bytes, sizeof bucket_bytes, list->hash);
	if (st == CHOIR_SUCCESS) {
		list->n_buckets = tensors_sort(list, bucket_bytes, order, ends);
		st = fill(comm, list, order, ends);
	}
	free(order);
	return st;
}

/* Takes from the call how many counts of a tensor its buffers hold. */
static void take_call(struct tensor_list *list, const struct choir_comm *comm, const struct tensor_list_call *call)
{
	const struct collective_traits *traits = &collective_table[call->collective];
	bool blocks = collective_sends_blocks(call->collective) || collective_recvs_blocks(call->collective);

	list->collective = call->collective;
	list->padded = call->padded;
	list->rank = comm->rank;
	list->n_ranks = comm->n;
	list->send_holds = collective_holds(traits->send, comm->n, comm->rank == call->root);
	list->recv_holds = collective_holds(traits->recv, comm->n, comm->rank == call->root);
	list->most_holds = blocks ? (uint64_t)comm->n : 1;
	if (call->padded)
		list->hash = XXH64("padded", 6, list->hash);
	if (collective_has(call->collective, TRAIT_ROOTED))
		list->hash = XXH64(&call->root, sizeof call->root, list->hash);
}

choir_status tensor_list_create(const struct tensor_list_call *call, struct choir_comm *comm,
                                const choir_tensor *tensors, size_t n, struct tensor_list **out_p)
{
	const char *name = call->name;
	struct tensor_list *list;
	choir_status st;

	if (tensors == NULL && n > 0)
		return error_set(CHOIR_ARGUMENT, "%s: null tensors", name);
	if (n > (size_t)PTRDIFF_MAX / sizeof *tensors)
		return error_set(CHOIR_ARGUMENT, "%s: n_tensors is %zu, more than any memory holds", name, n);
	list = calloc(1, sizeof *list);
	if (list == NULL || (list->tensors = calloc(n + 1, sizeof *list->tensors)) == NULL) {
		free(list);
		return error_prefix(error_no_memory("a list of tensors", n * sizeof *tensors), "%s", name);
	}
	atomic_init(&list->owner.refs, 1);
	list->owner.destroy = destroy;
	list->n = n;
	list->reusable = list->reusable_if_retained = true;
	take_call(list, comm, call);
	if (n > 0)
		memcpy(list->tensors, tensors, n * sizeof *tensors);
	st = build(comm, list, call->bucket_bytes > 0 ? call->bucket_bytes : BUCKET_BYTES);
	if (st != CHOIR_SUCCESS) {
		segments_release(&list->owner);
		return error_prefix(st, "%s", name);
	}
	*out_p = list;
	return CHOIR_SUCCESS;
}

struct hold {
	struct segments_owner owner;
	struct tensor_list *list;
	size_t n_kept; /* tensors whose buffers are kept, the first ones */
};

/* Empty tensors may name anything, and so may buffers that are not looked at. */
static cl_mem mem_of(const choir_tensor *tensor, choir_buffer buffer, uint64_t holds)
{
	return buffer.kind == CHOIR_BUFFER_MEM && tensor->count > 0 && holds > 0 ? buffer.base : NULL;
}

static void let_go(struct segments_owner *owner)
{
	struct hold *hold = (struct hold *)owner;

	for (size_t i = 0; i < hold->n_kept; i++) {
		const choir_tensor *t = &hold->list->tensors[i];
		cl_mem send = mem_of(t, t->send, hold->list->send_holds),
		       recv = mem_of(t, t->recv, hold->list->recv_holds);

		if (send != NULL)
			clReleaseMemObject(send);
		if (recv != NULL)
			clReleaseMemObject(recv);
	}
	segments_release(&hold->list->owner);
	free(hold);
}

static choir_status keep_tensor(struct hold *hold, const choir_tensor *t)
{
	cl_mem send = mem_of(t, t->send, hold->list->send_holds), recv = mem_of(t, t->recv, hold->list->recv_holds);
	cl_int rc = send != NULL ? clRetainMemObject(send) : CL_SUCCESS;

	if (rc == CL_SUCCESS && recv != NULL && (rc = clRetainMemObject(recv)) != CL_SUCCESS && send != NULL)
		clReleaseMemObject(send);
	if (rc != CL_SUCCESS)
		return error_cl("clRetainMemObject", rc);
	hold->n_kept++;
	return CHOIR_SUCCESS;
}

choir_status tensor_list_hold(struct tensor_list *list, struct segments_owner **out_p)
{
	struct hold *hold = calloc(1, sizeof *hold);
	choir_status st = CHOIR_SUCCESS;

	if (hold == NULL)
		return error_no_memory("a list of tensors", sizeof *hold);
	atomic_init(&hold->owner.refs, 1);
	hold->owner.destroy = let_go;
	hold->list = list;
	segments_retain(&list->owner);
	for (size_t i = 0; i < list->n && st == CHOIR_SUCCESS; i++)
		st = keep_tensor(hold, &list->tensors[i]);
	if (st != CHOIR_SUCCESS) {
		segments_release(&hold->owner);
		return st;
	}
	*out_p = &hold->owner;
	return CHOIR_SUCCESS;
}
