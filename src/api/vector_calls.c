/* SPDX-License-Identifier: MIT */
/* The dense collectives whose counts differ from rank to rank and are known to all: their hash is compared with the
 * call. */
#include "api/dense.h"
#include "api/start.h"
#include "api/vector.h"

/* displacements NULL = one block behind the other.  The caller ends *blocks. */
static choir_status read(choir_comm *comm, const struct call_key *key, const size_t *displacements,
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
		               .factor = key->factor };
	TRY(dense_names(out));
	TRY(vector_read(form->name, "recv_counts", comm->n, choir_dtype_bytes(key->dtype), key->lists[0], displacements,
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

	TRY(read(comm, key, NULL, &blocks, &d));
	d.send_bytes = blocks.total;
	d.recv_bytes = blocks.bytes[comm->rank];
	st = dense_prepare_part(&d, key, call, out_p);
	vector_fini(&blocks);
	return st;
}

static choir_status check_allgatherv(const choir_comm *comm, const struct call_key *key, const struct vector *blocks)
{
	TRY(vector_apart(key->form->name, comm->n, blocks));
	if (key->count != key->lists[0][comm->rank])
		return error_set(CHOIR_ARGUMENT, "%s: rank %d sends %zu elements, but recv_counts says %zu",
		                 key->form->name, comm->rank, key->count, key->lists[0][comm->rank]);
	return CHOIR_SUCCESS;
}

static choir_status prepare_allgatherv(choir_comm *comm, const struct call_key *key, const choir_call *call,
                                       struct prepared **out_p)
{
	struct vector blocks;
	struct dense d;
	choir_status st;

	TRY(read(comm, key, key->lists[1], &blocks, &d));
	d.send_bytes = blocks.bytes[comm->rank];
	d.recv_bytes = blocks.extent;
	st = check_allgatherv(comm, key, &blocks);
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

choir_status choir_reduce_scatterv(choir_comm *comm, choir_buffer send, choir_buffer recv, const size_t *recv_counts,
                                   choir_dtype dtype, choir_op op, const choir_call *call, choir_event **event_p)
{
	struct call_key key = {
		.form = &reduce_scatterv, .send = send, .recv = recv, .lists = { recv_counts }, .dtype = dtype, .op = op
	};

	return start_call(comm, &key, call, event_p);
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
