/* SPDX-License-Identifier: MIT */
/* One call of the table, made and checked. */
#include "world/cases.h"

#include "world/values.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* What a rank gives and is to get: made once for trials that differ in nothing but how they are carried out. */
struct expected {
	const struct test_case *tc;
	struct trial t;
	int rank;
	unsigned char *in, *out;
};

static pthread_key_t expected_key;
static pthread_once_t expected_once = PTHREAD_ONCE_INIT;

static void drop_expected(void *arg)
{
	struct expected *e = arg;

	free(e->in);
	free(e->out);
	free(e);
}

static void make_key(void)
{
	pthread_key_create(&expected_key, drop_expected);
}

static bool is_for(const struct expected *e, const struct test_case *tc, const struct trial *t, int rank)
{
	return e->tc == tc && e->rank == rank && e->t.dtype == t->dtype && e->t.op == t->op && e->t.count == t->count &&
	       e->t.n == t->n && e->t.root == t->root;
}

static void fill(struct expected *e)
{
	const struct trial *t = &e->t;
	size_t elem = choir_dtype_bytes(t->dtype), n_in = e->tc->send_elems(t, e->rank),
	       n_out = e->tc->recv_elems(t, e->rank);

	e->in = realloc(e->in, n_in * elem + 8);
	e->out = realloc(e->out, n_out * elem + 8);
	for (size_t i = 0; i < n_in; i++)
		value_store(t->dtype, e->in, i, e->tc->input(t, e->rank, i));
	for (size_t i = 0; i < n_out; i++) {
		double value = e->tc->result(t, e->rank, i);

		if (value == -1) /* a gap */
			memset(e->out + i * elem, SENTINEL, elem);
		else
			value_store(t->dtype, e->out, i, value);
	}
}

/* This thread's. */
static const struct expected *expect(const struct test_case *tc, const struct trial *t, int rank)
{
	struct expected *e;

	pthread_once(&expected_once, make_key);
	e = pthread_getspecific(expected_key);
	if (e == NULL) {
		e = calloc(1, sizeof *e);
		pthread_setspecific(expected_key, e);
	}
	if (!is_for(e, tc, t, rank)) {
		*e = (struct expected){ .tc = tc, .t = *t, .rank = rank, .in = e->in, .out = e->out };
		fill(e);
	}
	return e;
}

static void write_input(const struct test_case *tc, const struct trial *t, int rank, unsigned char *at)
{
	memcpy(at, expect(tc, t, rank)->in, tc->send_elems(t, rank) * choir_dtype_bytes(t->dtype));
}

static void check_output(struct world *world, int rank, const struct test_case *tc, const struct trial *t,
                         const unsigned char *at)
{
	size_t elem = choir_dtype_bytes(t->dtype), elems = tc->recv_elems(t, rank);
	const unsigned char *wanted = expect(tc, t, rank)->out;

	if (memcmp(at, wanted, elems * elem) == 0)
		return;
	for (size_t i = 0; i < elems; i++) {
		if (memcmp(at + i * elem, wanted + i * elem, elem) == 0 ||
		    (t->in_place && tc->result(t, rank, i) == -1)) /* in place gaps hold input */
			continue;
		world_fail(world, rank, "%s of %zu x %s, %s, root %d, %s%s%s: element %zu is %g, not %g", tc->name,
		           t->count, choir_dtype_name(t->dtype), choir_op_name(t->op), t->root,
		           t->in_place ? "in place, " : "", t->device ? "cl_mem, " : "host, ",
		           t->options != NULL ? t->options : "auto", i, value_load(t->dtype, at, i),
		           value_load(t->dtype, wanted, i));
		return;
	}
}

static void check_send_kept(struct world *world, int rank, const struct test_case *tc, const struct trial *t,
                            struct memory *send)
{
	memory_pull(send);
	if (memcmp(expect(tc, t, rank)->in, memory_payload(send),
	           tc->send_elems(t, rank) * choir_dtype_bytes(t->dtype)) != 0)
		world_fail(world, rank, "%s of %zu x %s (%s) wrote into its input", tc->name, t->count,
		           choir_dtype_name(t->dtype), t->options != NULL ? t->options : "auto");
	if (!memory_sentinels_stand(send))
		world_fail(world, rank, "%s of %zu x %s: wrote round its input", tc->name, t->count,
		           choir_dtype_name(t->dtype));
}

/* In place: one buffer holds both; the smaller lies at `inner` of the larger. */
static void place(const struct test_case *tc, const struct trial *t, int rank, struct memory *one, choir_buffer *send,
                  choir_buffer *recv, size_t *send_off, size_t *recv_off)
{
	size_t elem = choir_dtype_bytes(t->dtype), s = tc->send_elems(t, rank), r = tc->recv_elems(t, rank);
	size_t inner = (s == 0 || r == 0 ? 0 : tc->inner(t, rank)) * elem;

	*send_off = s <= r ? inner : 0;
	*recv_off = s <= r ? 0 : inner;
	*send = *recv = one->buffer;
	if (t->device) {
		send->offset_bytes += *send_off;
		recv->offset_bytes += *recv_off;
	} else {
		*send = choir_host(memory_payload(one) + *send_off);
		*recv = choir_host(memory_payload(one) + *recv_off);
	}
}

static choir_status run_call(const struct test_case *tc, const struct trial *t, choir_comm *comm, choir_buffer send,
                             choir_buffer recv)
{
	choir_call call = CHOIR_CALL_INIT;

	call.options = t->options;
	call.factor = value_factor(t->op);
	return case_call(tc, t, comm, send, recv, &call, NULL);
}

/* Large counts with a forced algorithm may be refused ("needs the input to fit a slot"), on all ranks alike. */
static bool refused(const struct trial *t, choir_status st)
{
	return st == CHOIR_UNSUPPORTED && t->options != NULL && strstr(t->options, "auto") == NULL && t->count > 10000;
}

static void run_in_place(struct world *world, int rank, choir_comm *comm, const struct test_case *tc,
                         const struct trial *t)
{
	size_t elem = choir_dtype_bytes(t->dtype), s = tc->send_elems(t, rank), r = tc->recv_elems(t, rank), send_off,
	       recv_off;
	struct memory one;
	choir_buffer send, recv;

	CHECK(memory_make(&one, world->device, t->device, (s > r ? s : r) * elem, elem));
	place(tc, t, rank, &one, &send, &recv, &send_off, &recv_off);
	write_input(tc, t, rank, memory_payload(&one) + send_off);
	memory_push(&one);
	choir_status st = run_call(tc, t, comm, send, recv);
	if (!refused(t, st) && OK(st)) {
		memory_pull(&one);
		check_output(world, rank, tc, t, memory_payload(&one) + recv_off);
		CHECK(memory_sentinels_stand(&one));
	}
	memory_free(&one);
}

void case_run(struct world *world, int rank, choir_comm *comm, const struct test_case *tc, const struct trial *t)
{
	size_t elem = choir_dtype_bytes(t->dtype);
	struct memory send, recv;

	if (t->in_place && tc->inner != NULL) {
		run_in_place(world, rank, comm, tc, t);
		return;
	}
	CHECK(memory_make(&send, world->device, t->device, tc->send_elems(t, rank) * elem, elem));
	CHECK(memory_make(&recv, world->device, t->device, tc->recv_elems(t, rank) * elem, 3 * elem));
	write_input(tc, t, rank, memory_payload(&send));
	memory_push(&send);
	choir_status st = run_call(tc, t, comm, send.buffer, recv.buffer);
	if (!refused(t, st) && OK(st)) {
		memory_pull(&recv);
		check_output(world, rank, tc, t, memory_payload(&recv));
		if (!memory_sentinels_stand(&recv))
			world_fail(world, rank, "%s of %zu x %s (%s): wrote round its output", tc->name, t->count,
			           choir_dtype_name(t->dtype), t->options != NULL ? t->options : "auto");
		check_send_kept(world, rank, tc, t, &send);
	}
	memory_free(&send);
	memory_free(&recv);
}
