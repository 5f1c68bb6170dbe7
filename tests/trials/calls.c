/* SPDX-License-Identifier: MIT */
/* The call of a trial: its buffers, made once, and what must come out of them. */
#include "trials/trials.h"
#include "world/flight.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { ROW_WIDTH = 16, PAGE = 4096 };

struct call_state {
	const struct trial *trial;
	choir_comm *comm;
	int rank;
	unsigned char *room; /* all host memory: mapped, or symmetric */
	size_t bytes;
	struct world world; /* what the flight finds wrong */
	struct dense_flight flight;
	int32_t *in, *out;   /* of sparse: indices, then rows */
	size_t n_ind, n_val; /* that came */
	char error[600];     /* of the last call */
};

/* The collective of each kind; sparse apart. */
static const enum collective_index index_of[N_CALL_KINDS] = {
	[CALL_HOST] = ALLREDUCE,      [CALL_SYMMETRIC] = ALLREDUCE, [CALL_DEVICE] = ALLREDUCE,
	[CALL_BROADCAST] = BROADCAST, [CALL_ALLTOALLV] = ALLTOALLV, [CALL_SENDRECV] = SENDRECV,
	[CALL_MEMORY] = ALLREDUCE,    [CALL_SPLIT] = ALLREDUCE,
};

static size_t rows_of(const struct trial *t)
{
	return t->count / ROW_WIDTH + 1; /* the last one is this rank's alone */
}

/* The largest form of the call: two buffers of n blocks, or of rows with one of each rank more. */
static size_t room_of(const struct trial *t)
{
	size_t sparse = (t->count / ROW_WIDTH + 8) * (ROW_WIDTH + 1), dense = 2 * t->count + 64;

	return (2 * sizeof(int32_t) * (t->kind == CALL_SPARSE ? sparse : dense) / PAGE + 2) * PAGE;
}

static bool take_room(struct call_state *s)
{
	void *at = NULL;

	s->bytes = room_of(s->trial);
	if (s->trial->kind == CALL_SYMMETRIC) {
		if (choir_mem_alloc(s->comm, s->bytes, &at, NULL) != CHOIR_SUCCESS)
			return false;
	} else {
		at = mmap(NULL, s->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	}
	s->room = at;
	return at != MAP_FAILED;
}

static void fill_rows(struct call_state *s)
{
	size_t rows = rows_of(s->trial);
	float *values;

	s->in = (int32_t *)(void *)s->room;
	s->out = s->in + s->bytes / 2 / sizeof *s->in;
	values = (float *)(void *)(s->in + rows);
	for (size_t i = 0; i < rows; i++)
		s->in[i] = (int32_t)i + (i + 1 == rows ? s->rank : 0);
	for (size_t i = 0; i < rows * ROW_WIDTH; i++)
		values[i] = (float)(s->rank + 1);
}

/* Each rank makes its input as if it were the root: the root changes from call to call. */
static void make_flight(struct call_state *s)
{
	const struct trial *t = s->trial;
	struct dense_call call = { .what = &collectives[index_of[t->kind]],
		                   .dtype = CHOIR_I32,
		                   .op = CHOIR_OP_SUM,
		                   .count = t->kind == CALL_ALLTOALLV ? t->count / 4 : t->count,
		                   .n = t->n,
		                   .root = s->rank,
		                   .device = t->kind == CALL_DEVICE };

	if (t->kind != CALL_DEVICE)
		memory_use(s->room, NULL, s->bytes, 0);
	flight_make(&s->flight, &s->world, s->rank, &call);
	memory_use(NULL, NULL, 0, 0);
}

struct call_state *call_begin(const struct trial *trial, int rank, choir_comm *comm)
{
	struct call_state *s = calloc(1, sizeof *s);

	*s = (struct call_state){ .trial = trial, .comm = comm, .rank = rank };
	s->world.n = trial->n;
	s->world.device = choir_comm_device(comm);
	if (!take_room(s)) {
		free(s);
		return NULL;
	}
	if (trial->kind == CALL_SPARSE)
		fill_rows(s);
	else
		make_flight(s);
	return s;
}

static choir_status make_sparse(struct call_state *s)
{
	size_t rows = rows_of(s->trial), most = rows + (size_t)s->trial->n;
	choir_sparse_attr attr = CHOIR_SPARSE_ATTR_INIT;

	s->out[0] = -1;
	s->n_ind = most;
	s->n_val = most * ROW_WIDTH;
	return choir_sparse_allreduce(s->comm, choir_host(s->in), rows, choir_host(s->in + rows), rows * ROW_WIDTH,
	                              choir_host(s->out), &s->n_ind, choir_host(s->out + most), &s->n_val, CHOIR_I32,
	                              CHOIR_F32, CHOIR_OP_SUM, &attr, NULL, NULL);
}

static choir_status note(struct call_state *s, choir_status st)
{
	if (st != CHOIR_SUCCESS)
		snprintf(s->error, sizeof s->error, "%s", choir_last_error());
	return st;
}

static choir_status make_in_memory(struct call_state *s)
{
	size_t bytes = s->trial->count * sizeof(int32_t);
	void *share;
	choir_status st = note(s, choir_mem_alloc(s->comm, bytes, &share, NULL)), given;

	if (st != CHOIR_SUCCESS)
		return st;
	memcpy(share, memory_payload(&s->flight.send), bytes);
	st = note(s, choir_allreduce(s->comm, choir_host(share), s->flight.recv.buffer, s->trial->count, CHOIR_I32,
	                             CHOIR_OP_SUM, NULL, NULL));
	given = choir_mem_free(s->comm, share);
	return st == CHOIR_SUCCESS ? note(s, given) : st;
}

static choir_status make_on_split(struct call_state *s)
{
	choir_comm *child;
	choir_status st = note(s, choir_comm_split(s->comm, 0, 0, &child));

	if (st != CHOIR_SUCCESS)
		return st;
	st = note(s, flight_call(&s->flight, child, NULL, NULL));
	choir_comm_destroy(child);
	return st;
}

choir_status call_make(struct call_state *s, int number)
{
	struct dense_flight *flight = &s->flight;

	if (s->trial->kind == CALL_SPARSE)
		return note(s, make_sparse(s));
	memset(memory_payload(&flight->recv), SENTINEL, flight->recv.bytes);
	flight->shape.root = flight->args.root = number % s->trial->n;
	if (s->trial->kind == CALL_MEMORY)
		return make_in_memory(s);
	if (s->trial->kind == CALL_SPLIT)
		return make_on_split(s);
	return note(s, flight_call(flight, s->comm, NULL, NULL));
}

const char *call_error(const struct call_state *s)
{
	return s->error;
}

static bool sparse_is_right(const struct call_state *s)
{
	int n = s->trial->n;
	size_t rows = rows_of(s->trial), most = rows + (size_t)n;
	const float *values = (const float *)(const void *)(s->out + most);

	if (s->n_ind != rows - 1 + (size_t)n || s->n_val != s->n_ind * ROW_WIDTH)
		return false;
	for (size_t i = 0; i < s->n_ind; i++) {
		float want = i + 1 < rows ? (float)(n * (n + 1) / 2) : (float)(i + 2 - rows);

		if (s->out[i] != (int32_t)i || values[i * ROW_WIDTH] != want ||
		    values[i * ROW_WIDTH + ROW_WIDTH - 1] != want)
			return false;
	}
	return true;
}

bool call_is_right(struct call_state *s)
{
	if (s->trial->kind == CALL_SPARSE)
		return sparse_is_right(s);
	flight_compare(&s->flight, &s->world);
	return s->world.failure[0] == '\0';
}

void call_end(struct call_state *s)
{
	if (s->trial->kind != CALL_SPARSE)
		flight_free(&s->flight);
	if (s->trial->kind != CALL_SYMMETRIC)
		munmap(s->room, s->bytes);
	else if (s->trial->ending !=
	         ENDS_DESTROYED) /* else it goes with the comm: giving back is a call of all ranks */
		(void)choir_mem_free(s->comm, s->room);
	free(s);
}
