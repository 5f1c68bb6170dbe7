/* SPDX-License-Identifier: MIT */
/* The call of a trial: its buffers, made once, and what must come out of them. */
#include "trials/sparse_calls.h"
#include "trials/trials.h"
#include "world/flight.h"
#include "world/matrix.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { PAGE = 4096 };

struct call_state {
	const struct trial *trial;
	choir_comm *comm;
	int rank;
	unsigned char *room; /* all host memory: mapped, or symmetric */
	size_t bytes;
	struct world world; /* what the flight finds wrong */
	char option[MATRIX_OPTION_BYTES];
	struct dense_flight flight;
	struct sparse_rows sparse;
	char error[600]; /* of the last call */
};

static bool is_sparse(const struct trial *t)
{
	return t->kind == CALL_SPARSE || t->kind == CALL_SPARSE_DEVICE;
}

static bool is_on_device(const struct trial *t)
{
	return t->kind == CALL_DEVICE || t->kind == CALL_SPARSE_DEVICE || t->memory_class != CHOIR_CLASS_AUTO;
}

/* Where a buffer holds blocks of all ranks, these are shorter. */
static size_t count_of(const struct trial *t)
{
	return collectives[t->what].kind == SPREAD_WHOLE ? t->count : t->count / 4;
}

/* The same on all ranks: enough for the largest buffers of any of them. */
static size_t room_of(const struct trial *t)
{
	size_t most = sparse_rows_bytes(t->n, t->count);

	for (int r = 0; r < t->n && !is_sparse(t); r++) {
		struct collective_shape shape = {
			.what = &collectives[t->what], .n = t->n, .root = r, .count = count_of(t), .gaps = true
		};
		struct collective_layout layout;
		size_t bytes;

		collective_lay_out(&shape, r, &layout);
		bytes = (layout.send_count + layout.recv_count) * sizeof(int32_t) + 8 * SENTINEL_BYTES;
		most = bytes > most ? bytes : most;
	}
	return (most / PAGE + 1) * PAGE;
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

/* NULL: the library chooses. */
static const char *choose_option(struct call_state *s)
{
	const struct collective_row *what = &collectives[s->trial->what];
	char options[MATRIX_OPTIONS][MATRIX_OPTION_BYTES];
	size_t n;

	if (s->trial->algorithm == 0)
		return NULL;
	n = matrix_options(s->comm, what->asks != NULL ? what->asks : what->name, options);
	snprintf(s->option, sizeof s->option, "%s", options[(size_t)s->trial->algorithm % n]);
	return s->option;
}

/* Each rank makes its input as if it were the root: the root changes from call to call. */
static bool make_flight(struct call_state *s)
{
	const struct trial *t = s->trial;
	struct dense_call call = { .what = &collectives[t->what],
		                   .dtype = CHOIR_I32,
		                   .op = CHOIR_OP_SUM,
		                   .count = count_of(t),
		                   .n = t->n,
		                   .root = s->rank,
		                   .device = is_on_device(t),
		                   .options = choose_option(s) };

	flight_make(&s->flight, &s->world, s->rank, &call);
	return s->world.failure[0] == '\0';
}

struct call_state *call_begin(const struct trial *trial, int rank, choir_comm *comm)
{
	struct call_state *s = calloc(1, sizeof *s);
	bool made;

	*s = (struct call_state){ .trial = trial, .comm = comm, .rank = rank };
	s->world.n = trial->n;
	s->world.device = choir_comm_device(comm);
	if (!take_room(s)) {
		free(s);
		return NULL;
	}
	if (!is_on_device(trial))
		memory_use(s->room, NULL, s->bytes, 0);
	if (is_sparse(trial))
		made = sparse_rows_make(&s->sparse, s->world.device, is_on_device(trial), trial->n, rank, trial->count,
		                        trial->algorithm);
	else
		made = make_flight(s);
	memory_use(NULL, NULL, 0, 0);
	return made ? s : NULL;
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

/* An algorithm that does not fit the layout is refused on all ranks, before anything is sent: then any may run. */
static choir_status make_dense(struct call_state *s, choir_comm *comm)
{
	choir_status st = flight_call(&s->flight, comm, NULL, NULL);

	if (st != CHOIR_UNSUPPORTED || s->flight.call.options == NULL)
		return note(s, st);
	s->flight.call.options = NULL;
	return note(s, flight_call(&s->flight, comm, NULL, NULL));
}

static choir_status make_on_split(struct call_state *s)
{
	choir_comm *child;
	choir_status st = note(s, choir_comm_split(s->comm, 0, 0, &child));

	if (st != CHOIR_SUCCESS)
		return st;
	st = make_dense(s, child);
	choir_comm_destroy(child);
	return st;
}

void call_prepare(struct call_state *s, int number)
{
	struct dense_flight *flight = &s->flight;

	if (is_sparse(s->trial)) {
		sparse_rows_prepare(&s->sparse);
		return;
	}
	memset(memory_payload(&flight->recv), SENTINEL, flight->recv.bytes);
	memory_push(&flight->recv);
	flight->shape.root = flight->args.root = number % s->trial->n;
}

choir_status call_make(struct call_state *s)
{
	if (is_sparse(s->trial))
		return note(s, sparse_rows_call(&s->sparse, s->comm));
	if (s->trial->kind == CALL_MEMORY)
		return make_in_memory(s);
	if (s->trial->kind == CALL_SPLIT)
		return make_on_split(s);
	return make_dense(s, s->comm);
}

const char *call_error(const struct call_state *s)
{
	return s->error;
}

bool call_is_right(struct call_state *s)
{
	if (is_sparse(s->trial))
		return sparse_rows_are_right(&s->sparse);
	flight_compare(&s->flight, &s->world);
	return s->world.failure[0] == '\0';
}

void call_end(struct call_state *s)
{
	if (is_sparse(s->trial))
		sparse_rows_free(&s->sparse);
	else
		flight_free(&s->flight);
	if (s->trial->kind != CALL_SYMMETRIC)
		munmap(s->room, s->bytes);
	else if (s->trial->ending !=
	         ENDS_DESTROYED) /* else it goes with the comm: giving back is a call of all ranks */
		(void)choir_mem_free(s->comm, s->room);
	free(s);
}
