/* SPDX-License-Identifier: MIT */
#include "world/order_trial.h"

#include "exec/comm.h"
#include "world/memory.h"
#include "world/order_case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a rank has of a case. */
struct hoard {
	struct order_case c;
	uint64_t number;
	unsigned char *all[ORDER_RANKS], *want; /* all ranks' inputs; the wanted result */
	struct memory send, recv;
	choir_buffer in, out;
	int64_t *indices, *came;
	bool failed; /* a call, so that those behind it do too */
};

static choir_buffer element(const struct hoard *hoard, choir_buffer buffer, size_t from)
{
	buffer.offset_bytes += from * choir_dtype_bytes(hoard->c.dtype);
	return buffer;
}

static choir_status persistent(choir_comm *comm, const struct order_case *c, choir_buffer in, choir_buffer out,
                               size_t count, const choir_call *call)
{
	choir_request *request;
	choir_status st = choir_allreduce_init(comm, in, out, count, c->dtype, c->op, call, &request);

	if (st != CHOIR_SUCCESS)
		return st;
	st = choir_start(request, NULL, NULL);
	choir_request_free(request);
	return st;
}

/* The elements [from, to) of the vector. */
static choir_status part(choir_comm *comm, const struct hoard *hoard, const choir_call *call, size_t from, size_t to)
{
	const struct order_case *c = &hoard->c;
	size_t n = to - from, half = from + n / 2;
	choir_buffer in = element(hoard, hoard->in, from), out = element(hoard, hoard->out, from);
	choir_tensor halves[2] = { { in, out, n / 2, c->dtype },
		                   { element(hoard, hoard->in, half), element(hoard, hoard->out, half), n - n / 2,
		                     c->dtype } };

	switch (c->kind) {
	case ORDER_REDUCE:
		return choir_reduce(comm, in, out, n, c->dtype, c->op, c->root, call, NULL);
	case ORDER_REDUCE_LIST:
		return choir_reduce_multi(comm, halves, 2, c->op, c->root, call, NULL);
	case ORDER_LIST:
		return choir_allreduce_multi(comm, halves, 2, c->op, call, NULL);
	case ORDER_SCAN:
		return choir_scan(comm, in, out, n, c->dtype, c->op, call, NULL);
	case ORDER_EXSCAN:
		return choir_exscan(comm, in, out, n, c->dtype, c->op, call, NULL);
	case ORDER_PERSISTENT:
		return persistent(comm, c, in, out, n, call);
	default:
		return choir_allreduce(comm, in, out, n, c->dtype, c->op, call, NULL);
	}
}

static choir_status scatter_list(choir_comm *comm, const struct hoard *hoard, const choir_call *call)
{
	const struct order_case *c = &hoard->c;
	struct order_span spans[ORDER_SPANS];
	choir_tensor list[ORDER_SPANS];
	size_t in = 0, out = 0;
	int n = order_case_spans(c, choir_comm_rank(comm), spans);

	for (int i = 0; i < n; in += spans[i].n * ORDER_RANKS, out += spans[i++].n)
		list[i] = (choir_tensor){ element(hoard, hoard->in, in),
			                  c->in_place ? element(hoard, hoard->in, spans[i].from)
			                              : element(hoard, hoard->out, out),
			                  spans[i].n, c->dtype };
	return choir_reduce_scatter_multi(comm, list, (size_t)n, c->op, call, NULL);
}

/* All in one call: which blocks the ranks get depends on the length. */
static choir_status scatter(choir_comm *comm, const struct hoard *hoard, const choir_call *call)
{
	const struct order_case *c = &hoard->c;

	if (c->kind == ORDER_REDUCE_SCATTERV)
		return choir_reduce_scatterv(comm, hoard->in, hoard->out, c->counts, c->dtype, c->op, call, NULL);
	if (c->kind == ORDER_SCATTER_LIST)
		return scatter_list(comm, hoard, call);
	if (c->kind == ORDER_PADDED)
		return choir_reduce_scatter_padded(comm, hoard->in, hoard->out, c->count, c->dtype, c->op, call, NULL);
	return choir_reduce_scatter(comm, hoard->in, hoard->out, c->count / ORDER_RANKS, c->dtype, c->op, call, NULL);
}

static choir_status sparse(choir_comm *comm, struct hoard *hoard, const choir_call *call)
{
	const struct order_case *c = &hoard->c;
	size_t n_ind = c->count, n_val = c->count;

	for (size_t i = 0; i < c->count; i++)
		hoard->indices[i] = (int64_t)(3 * i);
	return choir_sparse_allreduce(comm, choir_host(hoard->indices), c->count, hoard->in, c->count,
	                              choir_host(hoard->came), &n_ind, hoard->out, &n_val, CHOIR_I64, c->dtype, c->op,
	                              NULL, call, NULL);
}

/* From new inputs. */
static choir_status calls(choir_comm *comm, struct hoard *hoard, const char *options)
{
	const struct order_case *c = &hoard->c;
	int rank = choir_comm_rank(comm);
	choir_call call = CHOIR_CALL_INIT;
	choir_status st = CHOIR_SUCCESS;

	call.options = options;
	if (c->op == CHOIR_OP_PREMUL_SUM)
		call.factor = order_case_factor(rank);
	order_case_fill(c, hoard->number, rank, hoard->all, hoard->want);
	memcpy(memory_payload(&hoard->send), hoard->all[rank], c->count * choir_dtype_bytes(c->dtype));
	memory_push(&hoard->send);
	if (c->kind == ORDER_SPARSE)
		return sparse(comm, hoard, &call);
	if (order_case_blocks(c))
		return scatter(comm, hoard, &call);
	for (int i = 0; i < c->n_cuts && st == CHOIR_SUCCESS; i++)
		st = part(comm, hoard, &call, c->cuts[i], c->cuts[i + 1]);
	return st;
}

/* Has the result, at `got`, the bits of the fold?  Blocks lie one behind the other, in place where the inputs did. */
static bool has_bits(const struct hoard *hoard, int rank, bool in_place, const unsigned char *got)
{
	size_t bytes = choir_dtype_bytes(hoard->c.dtype), at = 0;
	struct order_span spans[ORDER_SPANS];
	int n = order_case_spans(&hoard->c, rank, spans);
	bool equal = true;

	for (int i = 0; i < n; at += spans[i++].n)
		equal &= memcmp(got + (in_place ? spans[i].from : at) * bytes, hoard->want + spans[i].from * bytes,
		                spans[i].n * bytes) == 0;
	return equal;
}

/* Returns true if the result has the bits of the fold. */
static bool play(struct world *world, int rank, choir_comm *comm, struct order_trial *trial, struct hoard *hoard)
{
	const struct order_case *c = &hoard->c;
	bool names = c->names && trial->options == NULL, in_place, refused, equal;
	size_t bytes = choir_dtype_bytes(c->dtype);
	struct order_span spans[ORDER_SPANS];
	choir_status st;

	order_case_spans(c, choir_comm_rank(comm), spans);
	in_place = c->in_place && c->kind != ORDER_SPARSE;
	memory_make(&hoard->send, world->device, c->device[choir_comm_rank(comm)], c->count * bytes, 0);
	memory_make(&hoard->recv, world->device, c->device[choir_comm_rank(comm)], c->count * bytes, 16);
	hoard->in = hoard->send.buffer;
	hoard->out = !in_place              ? hoard->recv.buffer
	             : order_case_blocks(c) ? element(hoard, hoard->in, spans[0].from)
	                                    : hoard->in;
	st = calls(comm, hoard, trial->options != NULL ? trial->options : c->options);
	refused = st == CHOIR_UNSUPPORTED && names && !c->must_fit;
	if (refused) /* the algorithm does not fit: the rules choose */
		st = calls(comm, hoard, "order=ranks");
	hoard->failed = !OK(st);
	if (hoard->failed)
		world_fail(world, rank, "case %llu: kind %d of %zu %s, %s, %s", (unsigned long long)hoard->number,
		           (int)c->kind, c->count, choir_dtype_name(c->dtype), choir_op_name(c->op), c->options);
	if (choir_comm_rank(comm) == 0) {
		trial->dense += c->kind != ORDER_SPARSE;
		trial->named += names;
		trial->done += names && !refused;
		trial->scans_done += names && !refused && (c->kind == ORDER_SCAN || c->kind == ORDER_EXSCAN);
	}
	memory_pull(in_place ? &hoard->send : &hoard->recv);
	equal =
	    has_bits(hoard, choir_comm_rank(comm), in_place, memory_payload(in_place ? &hoard->send : &hoard->recv));
	CHECK(memory_sentinels_stand(&hoard->send) && memory_sentinels_stand(&hoard->recv));
	memory_free(&hoard->send);
	memory_free(&hoard->recv);
	return st != CHOIR_SUCCESS || equal;
}

static void ask_device(struct order_case *c)
{
	for (int r = 0; r < ORDER_RANKS; r++)
		c->device[r] = true;
	c->must_fit = false;
	c->names = c->kind != ORDER_SPARSE && algo_find(order_case_collective(c), "device") != NULL;
	snprintf(c->options, sizeof c->options, "order=ranks%s", c->names ? ", algorithm=device" : "");
}

void order_trial_run(struct world *world, int rank, choir_comm *comm, void *arg)
{
	struct order_trial *trial = arg;
	struct hoard hoard = { .number = trial->first };

	for (int r = 0; r < ORDER_RANKS; r++)
		hoard.all[r] = calloc(ORDER_MOST_COUNT, ORDER_ELEM_BYTES);
	hoard.want = calloc(ORDER_MOST_COUNT, ORDER_ELEM_BYTES);
	hoard.indices = calloc(ORDER_MOST_COUNT, sizeof *hoard.indices);
	hoard.came = calloc(ORDER_MOST_COUNT, sizeof *hoard.came);
	for (int i = 0; i < trial->n && !hoard.failed; i++, hoard.number++) {
		hoard.c = order_case_draw(hoard.number, comm->layout.n_nodes);
		if (trial->by_device)
			ask_device(&hoard.c);
		if (play(world, rank, comm, trial, &hoard))
			continue;
		__atomic_add_fetch(&trial->differ, 1, __ATOMIC_RELAXED);
		if (trial->options == NULL)
			world_fail(world, rank, "case %llu: kind %d of %zu %s, %s, %s: other bits",
			           (unsigned long long)hoard.number, (int)hoard.c.kind, hoard.c.count,
			           choir_dtype_name(hoard.c.dtype), choir_op_name(hoard.c.op), hoard.c.options);
	}
	for (int r = 0; r < ORDER_RANKS; r++)
		free(hoard.all[r]);
	free(hoard.want);
	free(hoard.indices);
	free(hoard.came);
}

uint64_t order_trial_seed(void)
{
	const char *text = getenv("CHOIR_TEST_SEED");

	return text != NULL ? strtoull(text, NULL, 10) : 0;
}
