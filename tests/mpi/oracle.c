/* SPDX-License-Identifier: MIT */
/* MPI is the oracle: every collective once more by MPI on the host copy, compared to the bit.  Integers are random over
 * their whole range; floats are small integers, exact in any order.  Narrow types have no MPI type: MPI moves them,
 * matrix_types reduces them. */
#include "lib/collective_mpi.h"
#include "lib/mpi_types.h"
#include "mpi/cases.h"
#include "seeded.h"
#include "world/matrix.h"

#include <stdlib.h>
#include <string.h>

struct oracle {
	struct job *job;
	struct dense_flight flight;
	struct collective_mpi mpi;
	void *in, *out; /* host copies */
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

static bool is_narrow(choir_dtype dtype)
{
	return dtype == CHOIR_F16 || dtype == CHOIR_BF16 || dtype == CHOIR_F8E4M3 || dtype == CHOIR_F8E5M2;
}

static bool is_pair(choir_dtype dtype)
{
	return dtype >= CHOIR_F32_I32 && dtype <= CHOIR_I64_I32;
}

static bool is_float(choir_dtype dtype)
{
	return is_narrow(dtype) || dtype == CHOIR_F32 || dtype == CHOIR_F64;
}

/* mean must not wrap: MPI sums it in the type itself */
static bool random_bits(const struct dense_call *t)
{
	return !is_float(t->dtype) && t->dtype != CHOIR_BOOL && !is_pair(t->dtype) && t->op != CHOIR_OP_MEAN;
}

static bool is_unsigned(choir_dtype dtype)
{
	return dtype == CHOIR_U8 || dtype == CHOIR_U16 || dtype == CHOIR_U32 || dtype == CHOIR_U64;
}

/* MPICH 4.0.2 compares unsigned integers as signed ones (MPI_MAX of 5 and 200 as MPI_UINT8_T is 5): it gets none with
 * the top bit. */
static void randomise(struct dense_flight *flight)
{
	unsigned char *payload = flight_in(flight);
	size_t elem = choir_dtype_bytes(flight->call.dtype);
	bool compared = flight->call.op == CHOIR_OP_MIN || flight->call.op == CHOIR_OP_MAX;

	for (size_t i = 0; i < flight->send.bytes; i++) {
		payload[i] =
		    (unsigned char)random_mix((uint64_t)flight->rank << 40 ^ i * 31 ^ (uint64_t)flight->call.op);
		if (compared && is_unsigned(flight->call.dtype) && i % elem == elem - 1)
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
	case CHOIR_I8:
		SQUARE(int8_t, int);
	case CHOIR_U8:
		SQUARE(uint8_t, int);
	case CHOIR_I16:
		SQUARE(int16_t, int);
	case CHOIR_U16:
		SQUARE(uint16_t, uint32_t);
	case CHOIR_I32:
	case CHOIR_U32:
		SQUARE(uint32_t, uint32_t);
	case CHOIR_I64:
	case CHOIR_U64:
		SQUARE(uint64_t, uint64_t);
	case CHOIR_F32:
		SQUARE(float, float);
	case CHOIR_F64:
		SQUARE(double, double);
	default:
		break;
	}
#undef SQUARE
}

static bool is_logical(choir_op op)
{
	return op == CHOIR_OP_LOGICAL_AND || op == CHOIR_OP_LOGICAL_OR || op == CHOIR_OP_LOGICAL_XOR;
}

/* Each element becomes 1 or 0. */
static void truths(choir_dtype dtype, unsigned char *data, size_t count)
{
	size_t bytes = choir_dtype_bytes(dtype);

	for (size_t i = 0; i < count; i++, data += bytes) {
		bool is_true = false;

		for (size_t b = 0; b < bytes; b++)
			is_true |= data[b] != 0;
		memset(data, 0, bytes);
		data[0] = is_true;
	}
}

/* What MPI makes of the same input, in out. */
static void ask(struct oracle *o)
{
	const struct dense_call *c = &o->flight.call;
	MPI_Request request = MPI_REQUEST_NULL;

	if (c->what->reduces && is_logical(c->op)) /* MPI keeps the value of a rank that is alone */
		truths(c->dtype, o->in, o->flight.layout.send_count);
	if (c->what->reduces && c->op == CHOIR_OP_SQUARE_ADD && c->dtype != CHOIR_BOOL)
		square(c->dtype, o->in, o->flight.layout.send_count);
	collective_mpi_call(&o->mpi, o->in, o->out, &request);
	job_await(o->job, &request);
	if (c->what->reduces && c->op == CHOIR_OP_MEAN && c->dtype != CHOIR_BOOL)
		mpi_divide(c->dtype, o->out, o->flight.layout.recv_count, c->n);
}

/* MPI leaves the bytes behind the index of a pair as they are; they are nobody's. */
static void take_unused(const struct oracle *o, const unsigned char *got)
{
	choir_dtype dtype = o->flight.call.dtype;
	size_t bytes = choir_dtype_bytes(dtype);

	for (size_t i = 0; is_pair(dtype) && bytes == 16 && i < o->flight.recv.bytes; i += bytes)
		memcpy((unsigned char *)o->out + i + 12, got + i + 12, 4);
}

static void compare(struct oracle *o)
{
	struct dense_flight *flight = &o->flight;
	const unsigned char *wanted = o->out, *got;
	char text[FLIGHT_TEXT_BYTES];

	memory_pull(&flight->recv);
	got = flight_out(flight);
	take_unused(o, got);
	for (size_t i = 0; i < flight->recv.bytes; i++)
		if (got[i] != wanted[i]) {
			world_fail(&o->job->world, flight->rank, "%s: byte %zu differs from MPI's",
			           flight_text(flight, text), i);
			return;
		}
	if (!memory_sentinels_stand(&flight->recv))
		world_fail(&o->job->world, flight->rank, "%s: it wrote round its output", flight_text(flight, text));
}

static void run_call(struct job *job, choir_comm *comm, const struct dense_call *c)
{
	struct oracle o = { .job = job };
	struct dense_flight *flight = &o.flight;
	int rank = choir_comm_rank(comm);

	flight_make(flight, &job->world, rank, c);
	if (random_bits(c))
		randomise(flight);
	collective_mpi_init(&o.mpi, &flight->shape, &flight->layout, rank);
	o.mpi.comm = MPI_COMM_WORLD;
	o.mpi.type = mpi_type_of(c->dtype);
	o.mpi.op = op_of(c->dtype, c->op);
	o.in = malloc(flight->send.bytes + 1);
	o.out = malloc(flight->recv.bytes + 1);
	memcpy(o.in, flight_in(flight), flight->send.bytes);
	memset(o.out, SENTINEL, flight->recv.bytes);
	flight_start(flight, &job->world, comm, NULL);
	ask(&o); /* both at once: choir's transport and the application share MPI */
	if (flight->event != NULL &&
	    world_is(&job->world, rank, choir_event_wait(flight->event, -1), CHOIR_SUCCESS, c->what->name))
		compare(&o);
	free(o.in);
	free(o.out);
	flight_free(flight);
}

static bool has_oracle(choir_comm *comm, const struct dense_call *c)
{
	int n = choir_comm_size(comm);

	if (c->op == CHOIR_OP_LOCAL || c->op == CHOIR_OP_PREMUL_SUM)
		return false;
	if (c->op == CHOIR_OP_MEAN && c->dtype == CHOIR_I8 && 6 * n > INT8_MAX) /* the sum would wrap */
		return false;
	if (c->what->reduces && is_narrow(c->dtype))
		return false;
	/* MPI takes milliseconds a call where ranks outnumber cores */
	if (n > 4 && !is_pair(c->dtype) && (c->dtype + c->op) % 4 != 0)
		return false;
	return choir_supports(comm, c->what->name, c->dtype, c->op, choir_none()) == CHOIR_SUCCESS;
}

/* Every algorithm by its name; a send, a recv and the two together have one each. */
static void every_algorithm(struct job *job, choir_comm *comm)
{
	char options[MATRIX_OPTIONS][MATRIX_OPTION_BYTES];

	for (int what = 0; what < N_MOVING_COLLECTIVES; what++) {
		struct dense_call c = { .what = &collectives[what],
			                .dtype = CHOIR_I32,
			                .op = CHOIR_OP_SUM,
			                .n = job->size,
			                .count = 1003 };
		size_t n_options = c.what->asks == NULL ? matrix_options(comm, c.what->name, options) : 0;
		bool runs[MATRIX_OPTIONS];

		for (size_t o = 0; o < n_options; o++) {
			c.options = options[o];
			c.root = (int)o % job->size;
			runs[o] = matrix_can_run(&job->world, choir_comm_rank(comm), comm, &c);
			if (runs[o])
				run_call(job, comm, &c);
		}
		matrix_methods_ran(&job->world, choir_comm_rank(comm), &c, options, runs, n_options);
	}
}

void case_oracle(struct job *job)
{
	static const size_t counts[] = { 41, 1003 };
	choir_comm *comm;

	if (!job_comms(job, 1, "oracle", &comm))
		return;
	for (int what = 0; what < N_MOVING_COLLECTIVES; what++)
		for (choir_dtype dtype = 0; choir_dtype_bytes(dtype) > 0; dtype++)
			for (choir_op op = 0; op <= (collectives[what].reduces ? VALUES_OPS - 1 : 0); op++) {
				struct dense_call c = { .what = &collectives[what],
					                .dtype = dtype,
					                .op = op,
					                .n = job->size,
					                .root = (int)(dtype + op) % job->size,
					                .count = counts[op % 2],
					                .device = dtype % 2 };

				if (has_oracle(comm, &c))
					run_call(job, comm, &c);
			}
	every_algorithm(job, comm);
	choir_comm_destroy(comm);
}
