/* SPDX-License-Identifier: MIT */
/* Collectives of many tensors: a part a bucket, each an ordinary call on buffers that the bucket's tensors are the
 * segments of; all under one event. */
#include "api/dense.h"
#include "api/options.h"
#include "api/request.h"
#include "api/start.h"
#include "api/tensor_list.h"
#include "base/dtype.h"
#include "exec/commit.h"

#include <stdlib.h>
#include <string.h>

/* A list without elements is reduced as one of the first type that the operator is defined for; of narrow types, whose
 * order of rounding not all algorithms keep, only if there is no other. */
static choir_dtype type_without_elements(enum collective collective, choir_op op)
{
	bool reduces = collective_has(collective, TRAIT_REDUCES);

	for (int narrow = 0; narrow < 2 && reduces; narrow++)
		for (choir_dtype dtype = 0; dtype < N_DTYPES; dtype++)
			if (dtype_is_narrow(dtype) == (narrow == 1) && reduce_supported(dtype, op) == CHOIR_SUCCESS)
				return dtype;
	return 0;
}

/* A bucket of one tensor needs no segments. */
static struct dense bucket_of(choir_comm *comm, const struct call_key *key, const struct tensor_list *list,
                              const struct tensor_bucket *bucket)
{
	struct dense d = { .call = key->form->name,
		           .collective = list->collective,
		           .comm = comm,
		           .count = bucket->count,
		           .dtype = bucket->n > 0 ? bucket->dtype : type_without_elements(list->collective, key->op),
		           .op = key->op,
		           .factor = key->factor,
		           .root = key->peer,
		           .hash = list->hash,
		           .of_list = true,
		           .n_tensors = list->n < INT32_MAX ? (int)list->n : INT32_MAX };

	d.send_bytes = bucket->count * choir_dtype_bytes(bucket->dtype) * list->send_holds;
	d.recv_bytes = bucket->count * choir_dtype_bytes(bucket->dtype) * list->recv_holds;
	if (bucket->only != NULL) {
		d.send = bucket->only->send;
		d.recv = tensor_list_recv(list, bucket->only);
	} else if (bucket->n > 0) {
		d.send_list = &bucket->send;
		d.recv_list = &bucket->recv;
		d.in_place = list->in_place;
	}
	return d;
}

static choir_status prepare_buckets(choir_comm *comm, const struct call_key *key, const choir_call *call,
                                    const struct dense_options *options, const struct tensor_list *list,
                                    struct prepared *prepared)
{
	enum { ONE_BY_ONE_BYTES = 1 << 20 }; /* longer lists are submitted, so that buckets overlap */

	for (size_t b = 0; b < list->n_buckets; b++) {
		struct dense d = bucket_of(comm, key, list, &list->buckets[b]);

		TRY(dense_names(&d));
		TRY(dense_part(&d, call, options, prepared, b));
	}
	prepared->may_inline = list->bytes <= ONE_BY_ONE_BYTES && comm->layout.n_nodes == 1 && comm->keyed == NULL &&
	                       prepared->commit == NULL;
	return CHOIR_SUCCESS;
}

/* The result of the i-th tensor goes elsewhere: it is looked at, not empty, and not what a broadcast's root sends. */
static bool has_result(const struct tensor_list *list, size_t i)
{
	const choir_tensor *t = &list->tensors[i];
	bool is_root = list->collective == COLLECTIVE_BROADCAST && list->send_holds > 0;

	return t->count > 0 && list->recv_holds > 0 &&
	       !(is_root && (t->recv.kind == CHOIR_BUFFER_NONE || call_key_same_buffer(&t->send, &t->recv)));
}

/* result=atomic: staged: a copy of the list's tensors. */
static choir_status stage_tensors(choir_comm *comm, const struct tensor_list *list, choir_tensor *staged,
                                  struct commit **commit_p)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < list->n; i++)
		if (has_result(list, i))
			bytes += commit_room(tensor_list_bytes(list, &list->tensors[i], list->recv_holds));
	TRY(commit_create(comm->device, list->n, bytes, commit_p));
	for (size_t i = 0; i < list->n; i++)
		if (has_result(list, i))
			TRY(commit_add(*commit_p, list->tensors[i].recv,
			               tensor_list_bytes(list, &list->tensors[i], list->recv_holds), &staged[i].recv));
	return CHOIR_SUCCESS;
}

/* The list of the caller's tensors, which was checked, gives way to one whose results the commit writes.  *given_p: a
 * copy of the caller's, by which the call is known; it goes with the commit. */
static choir_status stage_list(choir_comm *comm, const struct tensor_list_call *call, struct tensor_list **list_p,
                               struct commit **commit_p, const choir_tensor **given_p)
{
	struct tensor_list *list = *list_p, *fresh;
	size_t bytes = (list->n + 1) * sizeof *list->tensors;
	choir_tensor *staged = malloc(bytes);
	choir_status st;

	if (staged == NULL)
		return error_no_memory("a list of tensors", bytes);
	memcpy(staged, list->tensors, bytes);
	st = stage_tensors(comm, list, staged, commit_p);
	if (st == CHOIR_SUCCESS)
		st = tensor_list_create(call, comm, staged, list->n, &fresh);
	if (st != CHOIR_SUCCESS) {
		free(staged);
		return st;
	}
	memcpy(staged, list->tensors, bytes);
	commit_keep(*commit_p, staged);
	*given_p = staged;
	fresh->reusable &= list->reusable && commit_is_short(*commit_p);
	fresh->reusable_if_retained &= list->reusable_if_retained;
	segments_release(&list->owner);
	*list_p = fresh;
	return CHOIR_SUCCESS;
}

static choir_status prepare_list(choir_comm *comm, const struct call_key *key, const choir_call *call,
                                 struct prepared **out_p)
{
	struct prepared *prepared;
	struct tensor_list_call list_call = { .name = key->form->name,
		                              .collective = key->form->collective,
		                              .root = key->peer,
		                              .padded = key->form->padded };
	struct dense_options options;
	const choir_tensor *given;
	struct commit *commit = NULL;
	struct tensor_list *list;
	choir_status st = CHOIR_SUCCESS;

	TRY(options_read(key->form->name, comm, call, key->form->collective, &options));
	list_call.bucket_bytes = options.bucket_bytes;
	TRY(tensor_list_create(&list_call, comm, key->tensors, key->count, &list));
	given = list->tensors;
	if (options.atomic)
		st = stage_list(comm, &list_call, &list, &commit, &given);
	if (st == CHOIR_SUCCESS)
		st = prepared_create(comm, key, list->n_buckets, &prepared);
	if (st != CHOIR_SUCCESS) {
		commit_release(commit);
		segments_release(&list->owner);
		return st;
	}
	prepared->owner = &list->owner;
	prepared->commit = commit;
	prepared->key.tensors = given;
	prepared->reusable = list->reusable;
	prepared->reusable_if_retained = list->reusable_if_retained;
	st = prepare_buckets(comm, key, call, &options, list, prepared);
	if (st != CHOIR_SUCCESS) {
		prepared_release(prepared);
		return st;
	}
	*out_p = prepared;
	return CHOIR_SUCCESS;
}

static const struct call_form allreduce_multi = { .name = "choir_allreduce_multi",
	                                          .collective = COLLECTIVE_ALLREDUCE,
	                                          .prepare = prepare_list };

static const struct call_form reduce_scatter_multi = { .name = "choir_reduce_scatter_multi",
	                                               .collective = COLLECTIVE_REDUCE_SCATTER,
	                                               .prepare = prepare_list };

static const struct call_form allgather_multi = { .name = "choir_allgather_multi",
	                                          .collective = COLLECTIVE_ALLGATHER,
	                                          .prepare = prepare_list };

static const struct call_form broadcast_multi = { .name = "choir_broadcast_multi",
	                                          .collective = COLLECTIVE_BROADCAST,
	                                          .prepare = prepare_list };

static const struct call_form reduce_multi = { .name = "choir_reduce_multi",
	                                       .collective = COLLECTIVE_REDUCE,
	                                       .prepare = prepare_list };

static const struct call_form reduce_scatter_padded = { .name = "choir_reduce_scatter_padded",
	                                                .collective = COLLECTIVE_REDUCE_SCATTER,
	                                                .padded = true,
	                                                .prepare = prepare_list };

static const struct call_form reduce_scatter_padded_multi = { .name = "choir_reduce_scatter_padded_multi",
	                                                      .collective = COLLECTIVE_REDUCE_SCATTER,
	                                                      .padded = true,
	                                                      .prepare = prepare_list };

static const struct call_form allgather_padded = {
	.name = "choir_allgather_padded", .collective = COLLECTIVE_ALLGATHER, .padded = true, .prepare = prepare_list
};

static const struct call_form allgather_padded_multi = { .name = "choir_allgather_padded_multi",
	                                                 .collective = COLLECTIVE_ALLGATHER,
	                                                 .padded = true,
	                                                 .prepare = prepare_list };

/* Null tensors of a number that is not 0 are refused by tensor_list_create. */
static struct call_key key_of(const struct call_form *form, const choir_tensor *tensors, size_t n_tensors, choir_op op,
                              int root)
{
	static const choir_tensor none;
	const choir_tensor *first = tensors != NULL && n_tensors > 0 ? tensors : &none;

	return (struct call_key){ .form = form,
		                  .send = first->send,
		                  .recv = first->recv,
		                  .count = n_tensors,
		                  .op = op,
		                  .peer = root,
		                  .tensors = tensors == NULL && n_tensors == 0 ? &none : tensors };
}

choir_status choir_allreduce_multi(choir_comm *comm, const choir_tensor *tensors, size_t n_tensors, choir_op op,
                                   const choir_call *call, choir_event **event_p)
{
	struct call_key key = key_of(&allreduce_multi, tensors, n_tensors, op, 0);

	return start_call(comm, &key, call, event_p);
}

choir_status choir_allreduce_multi_init(choir_comm *comm, const choir_tensor *tensors, size_t n_tensors, choir_op op,
                                        const choir_call *call, choir_request **request_p)
{
	struct call_key key = key_of(&allreduce_multi, tensors, n_tensors, op, 0);

	return request_create(comm, &key, call, request_p);
}

choir_status choir_reduce_scatter_multi(choir_comm *comm, const choir_tensor *tensors, size_t n_tensors, choir_op op,
                                        const choir_call *call, choir_event **event_p)
{
	struct call_key key = key_of(&reduce_scatter_multi, tensors, n_tensors, op, 0);

	return start_call(comm, &key, call, event_p);
}

choir_status choir_reduce_scatter_multi_init(choir_comm *comm, const choir_tensor *tensors, size_t n_tensors,
                                             choir_op op, const choir_call *call, choir_request **request_p)
{
	struct call_key key = key_of(&reduce_scatter_multi, tensors, n_tensors, op, 0);

	return request_create(comm, &key, call, request_p);
}

choir_status choir_allgather_multi(choir_comm *comm, const choir_tensor *tensors, size_t n_tensors,
                                   const choir_call *call, choir_event **event_p)
{
	struct call_key key = key_of(&allgather_multi, tensors, n_tensors, 0, 0);

	return start_call(comm, &key, call, event_p);
}

choir_status choir_allgather_multi_init(choir_comm *comm, const choir_tensor *tensors, size_t n_tensors,
                                        const choir_call *call, choir_request **request_p)
{
	struct call_key key = key_of(&allgather_multi, tensors, n_tensors, 0, 0);

	return request_create(comm, &key, call, request_p);
}

choir_status choir_broadcast_multi(choir_comm *comm, const choir_tensor *tensors, size_t n_tensors, int root,
                                   const choir_call *call, choir_event **event_p)
{
	struct call_key key = key_of(&broadcast_multi, tensors, n_tensors, 0, root);

	return start_call(comm, &key, call, event_p);
}

choir_status choir_broadcast_multi_init(choir_comm *comm, const choir_tensor *tensors, size_t n_tensors, int root,
                                        const choir_call *call, choir_request **request_p)
{
	struct call_key key = key_of(&broadcast_multi, tensors, n_tensors, 0, root);

	return request_create(comm, &key, call, request_p);
}

choir_status choir_reduce_multi(choir_comm *comm, const choir_tensor *tensors, size_t n_tensors, choir_op op, int root,
                                const choir_call *call, choir_event **event_p)
{
	struct call_key key = key_of(&reduce_multi, tensors, n_tensors, op, root);

	return start_call(comm, &key, call, event_p);
}

choir_status choir_reduce_multi_init(choir_comm *comm, const choir_tensor *tensors, size_t n_tensors, choir_op op,
                                     int root, const choir_call *call, choir_request **request_p)
{
	struct call_key key = key_of(&reduce_multi, tensors, n_tensors, op, root);

	return request_create(comm, &key, call, request_p);
}

/* --- padded: a list, be it of one tensor --- */

choir_status choir_reduce_scatter_padded(choir_comm *comm, choir_buffer send, choir_buffer recv, size_t count,
                                         choir_dtype dtype, choir_op op, const choir_call *call, choir_event **event_p)
{
	choir_tensor tensor = { send, recv, count, dtype };
	struct call_key key = key_of(&reduce_scatter_padded, &tensor, 1, op, 0);

	return start_call(comm, &key, call, event_p);
}

choir_status choir_reduce_scatter_padded_init(choir_comm *comm, choir_buffer send, choir_buffer recv, size_t count,
                                              choir_dtype dtype, choir_op op, const choir_call *call,
                                              choir_request **request_p)
{
	choir_tensor tensor = { send, recv, count, dtype };
	struct call_key key = key_of(&reduce_scatter_padded, &tensor, 1, op, 0);

	return request_create(comm, &key, call, request_p);
}

choir_status choir_reduce_scatter_padded_multi(choir_comm *comm, const choir_tensor *tensors, size_t n_tensors,
                                               choir_op op, const choir_call *call, choir_event **event_p)
{
	struct call_key key = key_of(&reduce_scatter_padded_multi, tensors, n_tensors, op, 0);

	return start_call(comm, &key, call, event_p);
}

choir_status choir_reduce_scatter_padded_multi_init(choir_comm *comm, const choir_tensor *tensors, size_t n_tensors,
                                                    choir_op op, const choir_call *call, choir_request **request_p)
{
	struct call_key key = key_of(&reduce_scatter_padded_multi, tensors, n_tensors, op, 0);

	return request_create(comm, &key, call, request_p);
}

choir_status choir_allgather_padded(choir_comm *comm, choir_buffer send, choir_buffer recv, size_t count,
                                    choir_dtype dtype, const choir_call *call, choir_event **event_p)
{
	choir_tensor tensor = { send, recv, count, dtype };
	struct call_key key = key_of(&allgather_padded, &tensor, 1, 0, 0);

	return start_call(comm, &key, call, event_p);
}

choir_status choir_allgather_padded_init(choir_comm *comm, choir_buffer send, choir_buffer recv, size_t count,
                                         choir_dtype dtype, const choir_call *call, choir_request **request_p)
{
	choir_tensor tensor = { send, recv, count, dtype };
	struct call_key key = key_of(&allgather_padded, &tensor, 1, 0, 0);

	return request_create(comm, &key, call, request_p);
}

choir_status choir_allgather_padded_multi(choir_comm *comm, const choir_tensor *tensors, size_t n_tensors,
                                          const choir_call *call, choir_event **event_p)
{
	struct call_key key = key_of(&allgather_padded_multi, tensors, n_tensors, 0, 0);

	return start_call(comm, &key, call, event_p);
}

choir_status choir_allgather_padded_multi_init(choir_comm *comm, const choir_tensor *tensors, size_t n_tensors,
                                               const choir_call *call, choir_request **request_p)
{
	struct call_key key = key_of(&allgather_padded_multi, tensors, n_tensors, 0, 0);

	return request_create(comm, &key, call, request_p);
}
