/* SPDX-License-Identifier: MIT */
#include "world/cases.h"

#include "world/values.h"

static size_t zero(const struct trial *t, int rank) { (void)t; (void)rank; return 0; }
static size_t count(const struct trial *t, int rank) { (void)rank; return t->count; }
static size_t all_counts(const struct trial *t, int rank) { (void)rank; return t->count * (size_t)t->n; }
static size_t at_root(const struct trial *t, int rank) { return rank == t->root ? t->count : 0; }
static size_t my_block(const struct trial *t, int rank) { return t->count * (size_t)rank; }

/* allgatherv: rank r gives (count + 3r) mod (2 count + 1) elements, with a gap of r elements before its block */
static size_t v_count(const struct trial *t, int rank) { return (t->count + 3 * (size_t)rank) % (2 * t->count + 1); }

static size_t v_off(const struct trial *t, int rank)
{
	size_t off = 0;

	for (int r = 0; r < rank; r++)
		off += v_count(t, r) + (size_t)r;
	return off + (size_t)rank;
}

static size_t v_total(const struct trial *t, int rank)
{
	(void)rank;
	return v_off(t, t->n - 1) + v_count(t, t->n - 1);
}

/* reduce_scatterv: the same counts, packed */
static size_t s_off(const struct trial *t, int rank)
{
	size_t off = 0;

	for (int r = 0; r < rank; r++)
		off += v_count(t, r);
	return off;
}

static size_t s_total(const struct trial *t, int rank) { (void)rank; return s_off(t, t->n); }

/* alltoallv: rank a sends (count + 3a + 5b) mod (count + 2) elements to rank b, with a gap of 2 elements before each
 * block and before what comes in one of b + 1; the blocks stand in the opposite order in both buffers */
size_t case_pair_count(const struct trial *t, int from, int to)
{
	return (t->count + 3 * (size_t)from + 5 * (size_t)to) % (t->count + 2);
}

size_t case_pair_send_off(const struct trial *t, int me, int to)
{
	size_t off = 2;

	for (int r = t->n - 1; r > to; r--)
		off += case_pair_count(t, me, r) + 2;
	return off;
}

size_t case_pair_recv_off(const struct trial *t, int me, int from)
{
	size_t off = (size_t)me + 1;

	for (int r = t->n - 1; r > from; r--)
		off += case_pair_count(t, r, me) + (size_t)me + 1;
	return off;
}

static size_t p_sent(const struct trial *t, int rank)
{
	return case_pair_send_off(t, rank, 0) + case_pair_count(t, rank, 0);
}
static size_t p_received(const struct trial *t, int rank)
{
	return case_pair_recv_off(t, rank, 0) + case_pair_count(t, 0, rank);
}

static double in_op(const struct trial *t, int rank, size_t i) { return value_input(t->dtype, t->op, t->n, rank, i); }

/* Element i of the reduction; "local" keeps what the rank has there. */
static double out_op(const struct trial *t, int rank, size_t i)
{
	return t->op == CHOIR_OP_LOCAL ? in_op(t, rank, i) : value_reduced(t->dtype, t->op, t->n, i);
}

static double out_block(const struct trial *t, int rank, size_t i)
{
	return out_op(t, rank, t->count * (size_t)rank + i);
}

static double out_gathered(const struct trial *t, int rank, size_t i)
{
	(void)rank;
	return in_op(t, (int)(i / t->count), i % t->count);
}

/* -1: a gap, which nobody may write */
static double out_gathered_v(const struct trial *t, int rank, size_t i)
{
	(void)rank;
	for (int r = 0; r < t->n; r++)
		if (i >= v_off(t, r) && i < v_off(t, r) + v_count(t, r))
			return in_op(t, r, i - v_off(t, r));
	return -1;
}

static double out_scattered(const struct trial *t, int rank, size_t i)
{
	return out_op(t, rank, s_off(t, rank) + i);
}

static double out_turned(const struct trial *t, int rank, size_t i)
{
	return in_op(t, (int)(i / t->count), t->count * (size_t)rank + i % t->count);
}

static double out_turned_v(const struct trial *t, int rank, size_t i)
{
	for (int r = 0; r < t->n; r++)
		if (i >= case_pair_recv_off(t, rank, r) &&
		    i < case_pair_recv_off(t, rank, r) + case_pair_count(t, r, rank))
			return in_op(t, r, case_pair_send_off(t, r, rank) + i - case_pair_recv_off(t, rank, r));
	return -1;
}

static double out_root(const struct trial *t, int rank, size_t i) { (void)rank; return in_op(t, t->root, i); }

static void v_blocks(const struct trial *t, int me, int peer, struct case_block *send, struct case_block *recv)
{
	(void)me;
	*send = *recv = (struct case_block){ v_count(t, peer), v_off(t, peer) };
}

static void p_blocks(const struct trial *t, int me, int peer, struct case_block *send, struct case_block *recv)
{
	*send = (struct case_block){ case_pair_count(t, me, peer), case_pair_send_off(t, me, peer) };
	*recv = (struct case_block){ case_pair_count(t, peer, me), case_pair_recv_off(t, me, peer) };
}

/* Round the ring, both halves at once: rank r sends to r + 1 and receives from r - 1. */
static double out_left(const struct trial *t, int rank, size_t i) { return in_op(t, (rank + t->n - 1) % t->n, i); }

static choir_status send_and_recv(const struct collective_args *a, const choir_call *call, choir_event **event_p)
{
	int n = choir_comm_size(a->comm), me = choir_comm_rank(a->comm);
	choir_event *sent = NULL;
	choir_status st = choir_send(a->comm, a->send, a->count, a->dtype, (me + 1) % n, call, &sent);

	if (st == CHOIR_SUCCESS)
		st = choir_recv(a->comm, a->recv, a->count, a->dtype, (me + n - 1) % n, call, event_p);
	if (st == CHOIR_SUCCESS)
		st = choir_event_wait(sent, -1);
	choir_event_release(sent);
	return st;
}

const struct test_case test_cases[] = {
	{ .name = "allreduce",
	  .reduces = true,
	  .send_elems = count,
	  .recv_elems = count,
	  .inner = zero,
	  .input = in_op,
	  .result = out_op,
	  .call = collective_allreduce },
	{ .name = "reduce_scatter",
	  .reduces = true,
	  .send_elems = all_counts,
	  .recv_elems = count,
	  .inner = my_block,
	  .input = in_op,
	  .result = out_block,
	  .call = collective_reduce_scatter },
	{ .name = "reduce_scatterv",
	  .reduces = true,
	  .send_elems = s_total,
	  .recv_elems = v_count,
	  .inner = s_off,
	  .blocks = v_blocks,
	  .input = in_op,
	  .result = out_scattered,
	  .call = collective_reduce_scatterv },
	{ .name = "allgather",
	  .send_elems = count,
	  .recv_elems = all_counts,
	  .inner = my_block,
	  .input = in_op,
	  .result = out_gathered,
	  .call = collective_allgather },
	{ .name = "allgatherv",
	  .send_elems = v_count,
	  .recv_elems = v_total,
	  .inner = v_off,
	  .blocks = v_blocks,
	  .input = in_op,
	  .result = out_gathered_v,
	  .call = collective_allgatherv },
	{ .name = "alltoall",
	  .send_elems = all_counts,
	  .recv_elems = all_counts,
	  .inner = zero,
	  .input = in_op,
	  .result = out_turned,
	  .call = collective_alltoall },
	{ .name = "alltoallv",
	  .send_elems = p_sent,
	  .recv_elems = p_received,
	  .blocks = p_blocks,
	  .input = in_op,
	  .result = out_turned_v,
	  .call = collective_alltoallv },
	{ .name = "broadcast",
	  .rooted = true,
	  .send_elems = at_root,
	  .recv_elems = count,
	  .inner = zero,
	  .input = in_op,
	  .result = out_root,
	  .call = collective_broadcast },
	{ .name = "reduce",
	  .reduces = true,
	  .rooted = true,
	  .send_elems = count,
	  .recv_elems = at_root,
	  .inner = zero,
	  .input = in_op,
	  .result = out_op,
	  .call = collective_reduce },
	{ .name = "send",
	  .waits = true,
	  .send_elems = count,
	  .recv_elems = count,
	  .input = in_op,
	  .result = out_left,
	  .call = send_and_recv },
	{ .name = "sendrecv",
	  .send_elems = count,
	  .recv_elems = count,
	  .input = in_op,
	  .result = out_left,
	  .call = collective_sendrecv },
};
const size_t n_test_cases = sizeof test_cases / sizeof *test_cases;

choir_status case_call(const struct test_case *tc, const struct trial *t, choir_comm *comm, choir_buffer send,
                       choir_buffer recv, const choir_call *call, choir_event **event_p)
{
	size_t sent[64], from[64], received[64], to[64];
	int me = choir_comm_rank(comm);
	struct collective_args args = { .comm = comm,
		                        .send = send,
		                        .recv = recv,
		                        .count = t->count,
		                        .send_counts = sent,
		                        .send_offs = from,
		                        .recv_counts = received,
		                        .recv_offs = to,
		                        .dtype = t->dtype,
		                        .op = t->op,
		                        .root = t->root };

	for (int r = 0; r < t->n && tc->blocks != NULL; r++) {
		struct case_block out, in;

		tc->blocks(t, me, r, &out, &in);
		sent[r] = out.count;
		from[r] = out.off;
		received[r] = in.count;
		to[r] = in.off;
	}
	if (tc->blocks != NULL)
		args.count = received[me];
	return tc->call(&args, call, event_p);
}
