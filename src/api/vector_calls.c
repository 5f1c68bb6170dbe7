/* SPDX-License-Identifier: MIT */
/* The dense collectives whose counts differ from rank to rank and are known to all: their hash is compared with the
 * call. */
#include "api/vector_calls.h"

#include "api/dense.h"
#include "api/request.h"
#include "api/start.h"
#include "api/vector.h"

#include "base/plural.h"

/* displacements NULL = one block behind the other.  The caller ends *blocks. */
static choir_status read(choir_comm *comm, const struct call_key *key, const char *what, const size_t *displacements,
                         struct vector *blocks, struct dense *out)
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
	TRY(vector_read(form->name, what, comm->n, choir_dtype_bytes(key->dtype), key->lists[0], displacements,
	                blocks));
	out->block_bytes = blocks->bytes;
	out->block_off = blocks->off;
	out->hash = blocks->hash;
	out->count = blocks->total / choir_dtype_bytes(key->dtype);
	return CHOIR_SUCCESS;
}

static choir_status prepare_reduce_scatterv(choir_comm *comm, const struct call_key *key, const choir_call *call,
                                            struct prepared **out_p)
{
	struct vector blocks;
	struct dense d;
	choir_status st;

	TRY(read(comm, key, "recv_counts", key->lists[1], &blocks, &d));
	d.send_bytes = blocks.extent;
	d.recv_bytes = blocks.bytes[comm->rank];
	st = vector_apart(key->form->name, comm->n, &blocks);
	if (st == CHOIR_SUCCESS)
		st = dense_prepare_part(&d, key, call, out_p);
	vector_fini(&blocks);
	return st;
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

static choir_status prepare_allgatherv(choir_comm *comm, const struct call_key *key, const choir_call *call,
                                       struct prepared **out_p)
{
	struct vector blocks;
	struct dense d;
	choir_status st;

	TRY(read(comm, key, "recv_counts", key->lists[1], &blocks, &d));
	d.send_bytes = blocks.bytes[comm->rank];
	d.recv_bytes = blocks.extent;
	st = vector_apart(key->form->name, comm->n, &blocks);
	if (st == CHOIR_SUCCESS)
		st = check_own_count(comm, key);
	if (st == CHOIR_SUCCESS)
		st = dense_prepare_part(&d, key, call, out_p);
	vector_fini(&blocks);
	return st;
}

/* gatherv and scatterv: the root's buffer holds all blocks, and its displacements alone are read. */
static choir_status prepare_at_root(choir_comm *comm, const struct call_key *key, const choir_call *call,
                                    struct prepared **out_p)
{
	bool gathers = key->form->collective == COLLECTIVE_GATHERV, is_root = comm->rank == key->peer;
	struct vector blocks;
	choir_status st;
	struct dense d;

	TRY(read(comm, key, gathers ? "recv_counts" : "send_counts", key->lists[1], &blocks, &d));
	d.send_bytes = d.recv_bytes = blocks.bytes[comm->rank];
	*(gathers ? &d.recv_bytes : &d.send_bytes) = is_root ? blocks.extent : 0;
	dense_take_own_block(&d);
	st = is_root && gathers ? vector_apart(key->form->name, comm->n, &blocks) : CHOIR_SUCCESS;
	if (st == CHOIR_SUCCESS)
		st = check_own_count(comm, key);
	if (st == CHOIR_SUCCESS)
		st = dense_prepare_part(&d, key, call, out_p);
	vector_fini(&blocks);
	return st;
}

static const struct call_form reduce_scatterv = {
	.name = "choir_reduce_scatterv",
	.collective = COLLECTIVE_REDUCE_SCATTERV,
	.prepare = prepare_reduce_scatterv,
};

static const struct call_form allgatherv = { .name = "choir_allgatherv",
	                                     .collective = COLLECTIVE_ALLGATHERV,
	                                     .prepare = prepare_allgatherv };

static const struct call_form gatherv = { .name = "choir_gatherv",
	                                  .collective = COLLECTIVE_GATHERV,
	                                  .prepare = prepare_at_root };

static const struct call_form scatterv = { .name = "choir_scatterv",
	                                   .collective = COLLECTIVE_SCATTERV,
	                                   .prepare = prepare_at_root };

choir_status choir_reduce_scatterv(choir_comm *comm, choir_buffer send, choir_buffer recv, const size_t *recv_counts,
                                   choir_dtype dtype, choir_op op, const choir_call *call, choir_event **event_p)
{
	struct call_key key = {
		.form = &reduce_scatterv, .send = send, .recv = recv, .lists = { recv_counts }, .dtype = dtype, .op = op
	};

	return start_call(comm, &key, call, event_p);
}

choir_status choir_reduce_scatterv_init(choir_comm *comm, choir_buffer send, choir_buffer recv,
                                        const size_t *recv_counts, choir_dtype dtype, choir_op op,
                                        const choir_call *call, choir_request **request_p)
{
	struct call_key key = {
		.form = &reduce_scatterv, .send = send, .recv = recv, .lists = { recv_counts }, .dtype = dtype, .op = op
	};

	return request_create(comm, &key, call, request_p);
}

choir_status reduce_scatterv_at_init(choir_comm *comm, choir_buffer send, choir_buffer recv, const size_t *recv_counts,
                                     const size_t *offsets, choir_dtype dtype, choir_op op, const choir_call *call,
                                     choir_request **request_p)
{
	struct call_key key = { .form = &reduce_scatterv,
		                .send = send,
		                .recv = recv,
		                .lists = { recv_counts, offsets },
		                .dtype = dtype,
		                .op = op };

	return request_create(comm, &key, call, request_p);
}

choir_status choir_allgatherv(choir_comm *comm, choir_buffer send, size_t send_count, choir_buffer recv,
                              const size_t *recv_counts, const size_t *displacements, choir_dtype dtype,
                              const choir_call *call, choir_event **event_p)
{
	struct call_key key = { .form = &allgatherv,
		                .send = send,
		                .recv = recv,
		                .count = send_count,
		                .lists = { recv_counts, displacements },
		                .dtype = dtype };

	return start_call(comm, &key, call, event_p);
}

choir_status choir_allgatherv_init(choir_comm *comm, choir_buffer send, size_t send_count, choir_buffer recv,
                                   const size_t *recv_counts, const size_t *displacements, choir_dtype dtype,
                                   const choir_call *call, choir_request **request_p)
{
	struct call_key key = { .form = &allgatherv,
		                .send = send,
		                .recv = recv,
		                .count = send_count,
		                .lists = { recv_counts, displacements },
		                .dtype = dtype };

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
	struct call_key key = { .form = &gatherv,
		                .send = send,
		                .recv = recv,
		                .count = send_count,
		                .lists = { recv_counts, at_root(comm, root, displacements) },
		                .dtype = dtype,
		                .peer = root };

	return start_call(comm, &key, call, event_p);
}

choir_status choir_gatherv_init(choir_comm *comm, choir_buffer send, size_t send_count, choir_buffer recv,
                                const size_t *recv_counts, const size_t *displacements, choir_dtype dtype, int root,
                                const choir_call *call, choir_request **request_p)
{
	struct call_key key = { .form = &gatherv,
		                .send = send,
		                .recv = recv,
		                .count = send_count,
		                .lists = { recv_counts, at_root(comm, root, displacements) },
		                .dtype = dtype,
		                .peer = root };

	return request_create(comm, &key, call, request_p);
}

choir_status choir_scatterv(choir_comm *comm, choir_buffer send, const size_t *send_counts, const size_t *displacements,
                            choir_buffer recv, size_t recv_count, choir_dtype dtype, int root, const choir_call *call,
                            choir_event **event_p)
{
	struct call_key key = { .form = &scatterv,
		                .send = send,
		                .recv = recv,
		                .count = recv_count,
		                .lists = { send_counts, at_root(comm, root, displacements) },
		                .dtype = dtype,
		                .peer = root };

	return start_call(comm, &key, call, event_p);
}

choir_status choir_scatterv_init(choir_comm *comm, choir_buffer send, const size_t *send_counts,
                                 const size_t *displacements, choir_buffer recv, size_t recv_count, choir_dtype dtype,
                                 int root, const choir_call *call, choir_request **request_p)
{
	struct call_key key = { .form = &scatterv,
		                .send = send,
		                .recv = recv,
		                .count = recv_count,
		                .lists = { send_counts, at_root(comm, root, displacements) },
		                .dtype = dtype,
		                .peer = root };

	return request_create(comm, &key, call, request_p);
}
