/* SPDX-License-Identifier: MIT */
/* MPI is the oracle: every collective once more by MPI on the host copy, compared to the bit.  Integers are random over
 * their whole range; floats are small integers, exact in any order.  f16 and bf16 have no MPI type: MPI moves them,
 * matrix_types reduces them. */
#include "lib/mpi_types.h"
#include "mpi/cases.h"
#include "world/flight.h"

#include <stdlib.h>
#include <string.h>

struct oracle {
	struct job *job;
	const struct flight *flight;
	const struct trial *t;
	int n, rank;
	void *in, *out; /* host copies */
	MPI_Datatype type;
	MPI_Op op;
};

/* What MPI has no operator for is made of others, before and after: see ask. */
static MPI_Op op_of(choir_dtype dtype, choir_op op)
{
	if (op == CHOIR_OP_SQUARE_ADD)
		op = CHOIR_OP_SUM;
	if (op == CHOIR_OP_MEAN && dtype == CHOIR_BOOL)
		op = CHOIR_OP_MIN;
	return mpi_op_of(dtype, op);
}

static bool is_float(choir_dtype dtype)
{
	return dtype == CHOIR_F16 || dtype == CHOIR_BF16 || dtype == CHOIR_F32 || dtype == CHOIR_F64;
}

static uint64_t mix(uint64_t x)
{
	x += 0x9e3779b97f4a7c15ull;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return x ^ x >> 31;
}

/* mean must not wrap: MPI sums it in the type itself */
static bool random_bits(const struct trial *t)
{
	return !is_float(t->dtype) && t->dtype != CHOIR_BOOL && t->op != CHOIR_OP_MEAN;
}

static bool is_unsigned(choir_dtype dtype)
{
	return dtype == CHOIR_U8 || dtype == CHOIR_U16 || dtype == CHOIR_U32 || dtype == CHOIR_U64;
}

/* MPICH 4.0.2 compares unsigned integers as signed ones (MPI_MAX of 5 and 200 as MPI_UINT8_T is 5): it gets none with
 * the top bit. */
static void randomise(struct flight *flight)
{
	unsigned char *payload = memory_payload(&flight->send);
	size_t elem = choir_dtype_bytes(flight->t.dtype);
	bool compared = flight->t.op == CHOIR_OP_MIN || flight->t.op == CHOIR_OP_MAX;

	for (size_t i = 0; i < flight->send.bytes; i++) {
		payload[i] = (unsigned char)mix((uint64_t)flight->rank << 40 ^ i * 31 ^ (uint64_t)flight->t.op);
		if (compared && is_unsigned(flight->t.dtype) && i % elem == elem - 1)
			payload[i] &= 0x7f;
	}
	memory_push(&flight->send);
}

/* Signed products that wrap are the unsigned ones. */
static void square(choir_dtype dtype, void *data, size_t count)
{
#define SQUARE(type, wide)                                                                                             \
	for (size_t i = 0; i < count; i++)                                                                             \
		((type *)data)[i] = (type)((wide)((type *)data)[i] * (wide)((type *)data)[i]);                         \
	break
	switch (dtype) {
	case CHOIR_I8: SQUARE(int8_t, int);
	case CHOIR_U8: SQUARE(uint8_t, int);
	case CHOIR_I16: SQUARE(int16_t, int);
	case CHOIR_U16: SQUARE(uint16_t, uint32_t);
	case CHOIR_I32: case CHOIR_U32: SQUARE(uint32_t, uint32_t);
	case CHOIR_I64: case CHOIR_U64: SQUARE(uint64_t, uint64_t);
	case CHOIR_F32: SQUARE(float, float);
	case CHOIR_F64: SQUARE(double, double);
	default: break;
	}
#undef SQUARE
}

static void by_allreduce(struct oracle *o, MPI_Request *request)
{
	MPI_Iallreduce(o->in, o->out, (int)o->t->count, o->type, o->op, MPI_COMM_WORLD, request);
}

static void by_reduce(struct oracle *o, MPI_Request *request)
{
	MPI_Ireduce(o->in, o->out, (int)o->t->count, o->type, o->op, o->t->root, MPI_COMM_WORLD, request);
}

static void by_reduce_scatter(struct oracle *o, MPI_Request *request)
{
	MPI_Ireduce_scatter_block(o->in, o->out, (int)o->t->count, o->type, o->op, MPI_COMM_WORLD, request);
}

static void by_reduce_scatterv(struct oracle *o, MPI_Request *request)
{
	static int counts[64]; /* until the request is done */

	for (int r = 0; r < o->n; r++)
		counts[r] = (int)o->flight->tc->recv_elems(o->t, r);
	MPI_Ireduce_scatter(o->in, o->out, counts, o->type, o->op, MPI_COMM_WORLD, request);
}

static void by_alltoall(struct oracle *o, MPI_Request *request)
{
	MPI_Ialltoall(o->in, (int)o->t->count, o->type, o->out, (int)o->t->count, o->type, MPI_COMM_WORLD, request);
}

static void by_alltoallv(struct oracle *o, MPI_Request *request)
{
	static int numbers[4][64];

	for (int r = 0; r < o->n; r++) {
		numbers[0][r] = (int)case_pair_count(o->t, o->rank, r);
		numbers[1][r] = (int)case_pair_send_off(o->t, o->rank, r);
		numbers[2][r] = (int)case_pair_count(o->t, r, o->rank);
		numbers[3][r] = (int)case_pair_recv_off(o->t, o->rank, r);
	}
	MPI_Ialltoallv(o->in, numbers[0], numbers[1], o->type, o->out, numbers[2], numbers[3], o->type, MPI_COMM_WORLD,
	               request);
}

static void by_allgather(struct oracle *o, MPI_Request *request)
{
	MPI_Iallgather(o->in, (int)o->t->count, o->type, o->out, (int)o->t->count, o->type, MPI_COMM_WORLD, request);
}

static void by_allgatherv(struct oracle *o, MPI_Request *request)
{
	static int counts[64], offs[64]; /* until the request is done */

	for (int r = 0; r < o->n; r++) {
		counts[r] = (int)o->flight->tc->send_elems(o->t, r);
		offs[r] = (int)o->flight->tc->inner(o->t, r);
	}
	MPI_Iallgatherv(o->in, counts[o->rank], o->type, o->out, counts, offs, o->type, MPI_COMM_WORLD, request);
}

static void by_broadcast(struct oracle *o, MPI_Request *request)
{
	if (o->rank == o->t->root)
		memcpy(o->out, o->in, o->t->count * choir_dtype_bytes(o->t->dtype));
	MPI_Ibcast(o->out, (int)o->t->count, o->type, o->t->root, MPI_COMM_WORLD, request);
}

static void by_send(struct oracle *o, MPI_Request *request)
{
	MPI_Isend(o->in, (int)o->t->count, o->type, (o->rank + 1) % o->n, 0, MPI_COMM_WORLD, &request[1]);
	MPI_Irecv(o->out, (int)o->t->count, o->type, (o->rank + o->n - 1) % o->n, 0, MPI_COMM_WORLD, request);
}

static const struct {
	const char *name;
	void (*ask)(struct oracle *, MPI_Request *);
} oracles[] = {
	{ "allreduce", by_allreduce }, { "reduce", by_reduce },         { "reduce_scatter", by_reduce_scatter },
	{ "allgather", by_allgather }, { "allgatherv", by_allgatherv }, { "broadcast", by_broadcast },
	{ "send", by_send },           { "sendrecv", by_send },         { "reduce_scatterv", by_reduce_scatterv },
	{ "alltoall", by_alltoall },   { "alltoallv", by_alltoallv },
};

/* What MPI makes of the same input, in out. */
static void ask(struct oracle *o)
{
	MPI_Request requests[2] = { MPI_REQUEST_NULL, MPI_REQUEST_NULL };
	const struct test_case *tc = o->flight->tc;
	int rank = o->rank;
	struct world *world = &o->job->world;
	bool known = false;

	if (tc->reduces && o->t->op == CHOIR_OP_SQUARE_ADD && o->t->dtype != CHOIR_BOOL)
		square(o->t->dtype, o->in, tc->send_elems(o->t, rank));
	for (size_t i = 0; i < sizeof oracles / sizeof *oracles; i++)
		if (strcmp(oracles[i].name, tc->name) == 0) {
			oracles[i].ask(o, requests);
			known = true;
		}
	CHECK(known); /* a new row of the table needs its oracle */
	job_await(o->job, &requests[0]);
	job_await(o->job, &requests[1]);
	if (tc->reduces && o->t->op == CHOIR_OP_MEAN && o->t->dtype != CHOIR_BOOL)
		mpi_divide(o->t->dtype, o->out, tc->recv_elems(o->t, rank), o->n);
}

static void compare(struct oracle *o, const unsigned char *got)
{
	const unsigned char *wanted = o->out;
	size_t bytes = o->flight->recv.bytes, elem = choir_dtype_bytes(o->t->dtype);

	for (size_t i = 0; i < bytes; i++)
		if (got[i] != wanted[i]) {
			world_fail(&o->job->world, o->rank,
			           "%s of %zu x %s, %s, root %d, %s: element %zu differs from MPI's",
			           o->flight->tc->name, o->t->count, choir_dtype_name(o->t->dtype),
			           choir_op_name(o->t->op), o->t->root, o->t->device ? "cl_mem" : "host", i / elem);
			return;
		}
}

static void run_trial(struct job *job, choir_comm *comm, const struct test_case *tc, const struct trial *t)
{
	struct flight flight;
	struct oracle o = { .job = job,
		            .flight = &flight,
		            .t = t,
		            .n = t->n,
		            .rank = choir_comm_rank(comm),
		            .type = mpi_type_of(t->dtype),
		            .op = op_of(t->dtype, t->op) };

	flight_make(&flight, &job->world, o.rank, tc, t);
	if (random_bits(t))
		randomise(&flight);
	o.in = malloc(flight.send.bytes + 1);
	o.out = malloc(flight.recv.bytes + 1);
	memcpy(o.in, memory_payload(&flight.send), flight.send.bytes);
	memset(o.out, SENTINEL, flight.recv.bytes);
	flight_start(&flight, &job->world, comm, NULL);
	ask(&o); /* both at once: choir's transport and the application share MPI */
	if (flight.event != NULL &&
	    world_is(&job->world, o.rank, choir_event_wait(flight.event, -1), CHOIR_SUCCESS, tc->name)) {
		memory_pull(&flight.recv);
		compare(&o, memory_payload(&flight.recv));
		if (!memory_sentinels_stand(&flight.recv))
			world_fail(&job->world, o.rank, "%s wrote round its output", tc->name);
	}
	free(o.in);
	free(o.out);
	flight_free(&flight);
}

static bool has_oracle(choir_comm *comm, const struct test_case *tc, choir_dtype dtype, choir_op op)
{
	int n = choir_comm_size(comm);

	if (op == CHOIR_OP_MEAN && dtype == CHOIR_I8 && 6 * n > INT8_MAX) /* the sum would wrap */
		return false;
	if (tc->reduces && (dtype == CHOIR_F16 || dtype == CHOIR_BF16))
		return false;
	if (n > 4 && (dtype + op) % 4 != 0) /* MPI takes milliseconds a call where ranks outnumber cores */
		return false;
	return choir_supports(comm, tc->name, dtype, op, choir_none()) == CHOIR_SUCCESS;
}

void case_oracle(struct job *job)
{
	static const size_t counts[] = { 41, 1003 };
	choir_comm *comm;

	if (!job_comms(job, 1, "oracle", &comm))
		return;
	for (size_t c = 0; c < n_test_cases; c++)
		for (choir_dtype dtype = 0; choir_dtype_bytes(dtype) > 0; dtype++)
			for (choir_op op = 0; op <= (test_cases[c].reduces ? CHOIR_OP_BXOR : 0); op++) {
				struct trial t = { .dtype = dtype,
					           .op = op,
					           .n = job->size,
					           .count = counts[op % 2],
					           .device = dtype % 2 };

				t.root = (dtype + op) % t.n;
				if (has_oracle(comm, &test_cases[c], dtype, op))
					run_trial(job, comm, &test_cases[c], &t);
			}
	choir_comm_destroy(comm);
}
