/* SPDX-License-Identifier: MIT */
/* The dense collectives whose counts differ from rank to rank and are known to all: their hash is compared with the
 * call. */
#include "api/vector_calls.h"

#include "api/dense.h"
#include "api/request.h"
#include "api/start.h"
#include "api/vector.h"

#include "base/plural.h"

/* The caller ends *blocks. */
static choir_status read(choir_comm *comm, const struct call_key *key, struct vector *blocks, struct dense *out)
{
	const struct call_form *form = key->form;

	*out = (struct dense){ .call = form->name,
		               .collective = form->collective,
		               .comm = comm,
		               .send = key->send,
		               .recv = key->recv,
		               .dtype = key->dtype,
		               .op = key->op,
		               .factor = key->factor,
		               .root = key->peer };
	TRY(dense_names(out));
	TRY(vector_read(form->name, form->collective == COLLECTIVE_SCATTERV ? "send_counts" : "recv_counts", comm->n,
	                choir_dtype_bytes(key->dtype), key->lists[0], key->lists[1], blocks));
	out->block_bytes = blocks->bytes;
	out->block_off = blocks->off;
	out->hash = blocks->hash;
	out->count = blocks->total / choir_dtype_bytes(key->dtype);
	return CHOIR_SUCCESS;
}

/* The count of this rank's own block is given twice. */
static choir_status check_own_count(const choir_comm *comm, const struct call_key *key)
{
	bool sends = !collective_sends_blocks(key->form->collective);

	if (key->count == key->lists[0][comm->rank])
		return CHOIR_SUCCESS;
	return error_set(CHOIR_ARGUMENT, "%s: rank %d %s %zu element%s, but %s says %zu", key->form->name, comm->rank,
	                 sends ? "sends" : "receives", key->count, plural(key->count),
	                 sends ? "recv_counts" : "send_counts", key->lists[0][comm->rank]);
}

/* One buffer is this rank's own block.  The other holds the blocks of all ranks, or where there is a root, at the root
 * alone. */
static choir_status prepare(choir_comm *comm, const struct call_key *key, const choir_call *call,
                            struct prepared **out_p)
{
	enum collective which = key->form->collective;
	bool holds = !collective_has(which, TRAIT_ROOTED) || comm->rank == key->peer;
	choir_status st = CHOIR_SUCCESS;
	struct vector blocks;
	struct dense d;

	TRY(read(comm, key, &blocks, &d));
	d.send_bytes = d.recv_bytes = blocks.bytes[comm->rank];
	*(collective_sends_blocks(which) ? &d.send_bytes : &d.recv_bytes) = holds ? blocks.extent : 0;
	dense_take_own_block(&d);
	if (holds && which != COLLECTIVE_SCATTERV)
		st = vector_apart(key->form->name, comm->n, &blocks);
	if (st == CHOIR_SUCCESS && which != COLLECTIVE_REDUCE_SCATTERV)
		st = check_own_count(comm, key);
	if (st == CHOIR_SUCCESS)
		st = dense_prepare_part(&d, key, call, out_p);
	vector_fini(&blocks);
	return st;
}

static const struct call_form reduce_scatterv = { .name = "choir_reduce_scatterv",
	                                          .collective = COLLECTIVE_REDUCE_SCATTERV,
	                                          .prepare = prepare };

static const struct call_form allgatherv = { .name = "choir_allgatherv",
	                                     .collective = COLLECTIVE_ALLGATHERV,
	                                     .prepare = prepare };

static const struct call_form gatherv = { .name = "choir_gatherv",
	                                  .collective = COLLECTIVE_GATHERV,
	                                  .prepare = prepare };

static const struct call_form scatterv = { .name = "choir_scatterv",
	                                   .collective = COLLECTIVE_SCATTERV,
	                                   .prepare = prepare };

/* displacements NULL = one block behind the other. */
static inline struct call_key key_of(const struct call_form *form, choir_buffer send, choir_buffer recv, size_t count,
                                     const size_t *counts, const size_t *displacements, choir_dtype dtype)
{
	return (struct call_key){ .form = form,
		                  .send = send,
		                  .recv = recv,
		                  .count = count,
		                  .lists = { counts, displacements },
		                  .dtype = dtype };
}

choir_status choir_reduce_scatterv(choir_comm *comm, choir_buffer send, choir_buffer recv, const size_t *recv_counts,
                                   choir_dtype dtype, choir_op op, const choir_call *call, choir_event **event_p)
{
	struct call_key key = key_of(&reduce_scatterv, send, recv, 0, recv_counts, NULL, dtype);

	key.op = op;
	return start_call(comm, &key, call, event_p);
}

choir_status choir_reduce_scatterv_init(choir_comm *comm, choir_buffer send, choir_buffer recv,
                                        const size_t *recv_counts, choir_dtype dtype, choir_op op,
                                        const choir_call *call, choir_request **request_p)
{
	struct call_key key = key_of(&reduce_scatterv, send, recv, 0, recv_counts, NULL, dtype);

	key.op = op;
	return request_create(comm, &key, call, request_p);
}

choir_status reduce_scatterv_at_init(choir_comm *comm, choir_buffer send, choir_buffer recv, const size_t *recv_counts,
                                     const size_t *offsets, choir_dtype dtype, choir_op op, const choir_call *call,
                                     choir_request **request_p)
{
	struct call_key key = key_of(&reduce_scatterv, send, recv, 0, recv_counts, offsets, dtype);

	key.op = op;
	return request_create(comm, &key, call, request_p);
}

choir_status choir_allgatherv(choir_comm *comm, choir_buffer send, size_t send_count, choir_buffer recv,
                              const size_t *recv_counts, const size_t *displacements, choir_dtype dtype,
                              const choir_call *call, choir_event **event_p)
{
	struct call_key key = key_of(&allgatherv, send, recv, send_count, recv_counts, displacements, dtype);

	return start_call(comm, &key, call, event_p);
}

choir_status choir_allgatherv_init(choir_comm *comm, choir_buffer send, size_t send_count, choir_buffer recv,
                                   const size_t *recv_counts, const size_t *displacements, choir_dtype dtype,
                                   const choir_call *call, choir_request **request_p)
{
	struct call_key key = key_of(&allgatherv, send, recv, send_count, recv_counts, displacements, dtype);

	return request_create(comm, &key, call, request_p);
}

/* Only the root's displacements are read; those of other ranks may be anything. */
static const size_t *at_root(const choir_comm *comm, int root, const size_t *displacements)
{
	return comm != NULL && comm->rank == root ? displacements : NULL;
}

choir_status choir_gatherv(choir_comm *comm, choir_buffer send, size_t send_count, choir_buffer recv,
                           const size_t *recv_counts, const size_t *displacements, choir_dtype dtype, int root,
                           const choir_call *call, choir_event **event_p)
{
	struct call_key key =
	    key_of(&gatherv, send, recv, send_count, recv_counts, at_root(comm, root, displacements), dtype);

	key.peer = root;
	return start_call(comm, &key, call, event_p);
}

choir_status choir_gatherv_init(choir_comm *comm, choir_buffer send, size_t send_count, choir_buffer recv,
                                const size_t *recv_counts, const size_t *displacements, choir_dtype dtype, int root,
                                const choir_call *call, choir_request **request_p)
{
	struct call_key key =
	    key_of(&gatherv, send, recv, send_count, recv_counts, at_root(comm, root, displacements), dtype);

	key.peer = root;
	return request_create(comm, &key, call, request_p);
}

choir_status choir_scatterv(choir_comm *comm, choir_buffer send, const size_t *send_counts, const size_t *displacements,
                            choir_buffer recv, size_t recv_count, choir_dtype dtype, int root, const choir_call *call,
                            choir_event **event_p)
{
	struct call_key key =
	    key_of(&scatterv, send, recv, recv_count, send_counts, at_root(comm, root, displacements), dtype);

	key.peer = root;
	return start_call(comm, &key, call, event_p);
}

choir_status choir_scatterv_init(choir_comm *comm, choir_buffer send, const size_t *send_counts,
                                 const size_t *displacements, choir_buffer recv, size_t recv_count, choir_dtype dtype,
                                 int root, const choir_call *call, choir_request **request_p)
{
	struct call_key key =
	    key_of(&scatterv, send, recv, recv_count, send_counts, at_root(comm, root, displacements), dtype);

	key.peer = root;
	return request_create(comm, &key, call, request_p);
}
