/* SPDX-License-Identifier: MIT */
#include "api/alltoallv_args.h"

#include "api/dense.h"
#include "api/options.h"
#include "exec/symmetric.h"

enum { SEND_COUNTS, SEND_DISPLACEMENTS, RECV_COUNTS, RECV_DISPLACEMENTS };

void alltoallv_args_fini(struct alltoallv_args *args)
{
	vector_fini(&args->send);
	vector_fini(&args->recv);
}

static choir_status read_lists(struct alltoallv_args *args)
{
	const struct call_key *key = args->key;
	const char *name = key->form->name;
	uint64_t elem = choir_dtype_bytes(key->dtype);

	TRY(vector_read(name, "send_counts", args->comm->n, elem, key->lists[SEND_COUNTS],
	                key->lists[SEND_DISPLACEMENTS], &args->send));
	return vector_read(name, "recv_counts", args->comm->n, elem, key->lists[RECV_COUNTS],
	                   key->lists[RECV_DISPLACEMENTS], &args->recv);
}

choir_status alltoallv_args_read(choir_comm *comm, const struct call_key *key, struct alltoallv_args *out)
{
	choir_call named = { .options = key->options };

	out->comm = comm;
	out->key = key;
	out->send.bytes = out->recv.bytes = NULL; /* the rest of the two is large, and not zeroed */
	if (choir_dtype_bytes(key->dtype) == 0)
		return error_set(CHOIR_ARGUMENT, "%s: no data type has number %d", key->form->name, (int)key->dtype);
	TRY(options_read(key->form->name, comm, &named, COLLECTIVE_ALLTOALLV, &out->options));
	if (comm->n == 1) /* alone, a rank can do with nobody what any of them says */
		out->options.algorithm = NULL;
	return read_lists(out);
}

static choir_status check_buffers(const struct alltoallv_args *args)
{
	const struct call_key *key = args->key;
	const char *name = key->form->name;
	uint64_t elem = choir_dtype_bytes(key->dtype);
	choir_status st = dev_range(args->comm->device, "send", key->send, args->send.extent, elem);

	if (st == CHOIR_SUCCESS)
		st = dev_range(args->comm->device, "recv", key->recv, args->recv.extent, elem);
	if (st != CHOIR_SUCCESS)
		return error_prefix(st, "%s", name);
	if (dev_overlap(key->send, args->send.extent, key->recv, args->recv.extent, NULL, NULL))
		return error_set(CHOIR_ARGUMENT, "%s: send and recv overlap", name);
	return vector_apart(name, args->comm->n, &args->recv);
}

/* Can the named algorithm run on this layout?  Whether the lengths suit it, all ranks will find out together. */
static choir_status check_algorithm(const struct alltoallv_args *args)
{
	struct choir_comm *comm = args->comm;
	struct algo_in in = { .layout = &comm->layout,
		              .me = comm->rank,
		              .collective = COLLECTIVE_ALLTOALLV,
		              .slot_bytes = comm->fallback_bytes,
		              .elem_bytes = choir_dtype_bytes(args->key->dtype),
		              .message_bytes = comm->message_bytes,
		              .shared = symmetric_allows_direct(comm),
		              .device_bytes = comm->device_bytes };
	const struct algorithm *algorithm = args->options.algorithm;
	const char *why = algorithm != NULL ? algorithm->unfit(&in) : NULL;

	if (why != NULL)
		return error_set(CHOIR_UNSUPPORTED, "%s: algorithm '%s' %s", args->key->form->name, algorithm->name,
		                 why);
	return algorithm == NULL ? CHOIR_SUCCESS
	                         : options_choose(args->key->form->name, comm, &args->options, &in, &algorithm);
}

choir_status alltoallv_args_check(const struct alltoallv_args *args)
{
	TRY(check_buffers(args));
	return check_algorithm(args);
}
