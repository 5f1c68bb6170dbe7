/* SPDX-License-Identifier: MIT */
/* The call of a trial: its buffers, made once, and what must come out of them. */
#include "trials/trials.h"
#include "world/memory.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { ROW_WIDTH = 16, MARK = -1, SAMPLES = 50 };

struct call_state {
	const struct trial *trial;
	choir_comm *comm;
	int rank;
	int32_t *in, *out; /* mapped; for symmetric memory both in one share */
	size_t bytes;      /* of each */
	struct memory device_in, device_out;
	size_t counts[2][MOST_RANKS], offsets[2][MOST_RANKS]; /* of alltoallv: what is sent, what is received */
	size_t n_ind, n_val;                                  /* of sparse: what came */
};

static size_t pair_count(const struct trial *t, int from, int to)
{
	return t->count / 8 * (size_t)(1 + (from + 2 * to) % 3) + 1;
}

static void lay_out(struct call_state *s)
{
	size_t at[2] = { 0, 0 };

	for (int rank = 0; rank < s->trial->n; rank++)
		for (int i = 0; i < 2; i++) {
			s->counts[i][rank] =
			    i == 0 ? pair_count(s->trial, s->rank, rank) : pair_count(s->trial, rank, s->rank);
			s->offsets[i][rank] = at[i];
			at[i] += s->counts[i][rank];
		}
}

/* Room for the largest form of the call: four blocks, or rows with one of each rank more. */
static size_t room_of(const struct trial *t)
{
	size_t elements = t->kind == CALL_SPARSE ? (t->count / ROW_WIDTH + 8) * (ROW_WIDTH + 1) : 2 * t->count + 64;

	return (elements * sizeof(int32_t) + 4095) / 4096 * 4096;
}

static size_t rows_of(const struct trial *t)
{
	return t->count / ROW_WIDTH + 1; /* the last one is this rank's alone */
}

/* Sparse: indices, then rows, of float. */
static void fill_rows(struct call_state *s)
{
	size_t rows = rows_of(s->trial);
	float *values = (float *)(void *)(s->in + rows);

	for (size_t i = 0; i < rows; i++)
		s->in[i] = (int32_t)i + (i + 1 == rows ? s->rank : 0);
	for (size_t i = 0; i < rows * ROW_WIDTH; i++)
		values[i] = (float)(s->rank + 1);
}

static void *map(size_t bytes)
{
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return at != MAP_FAILED ? at : NULL;
}

static bool take_memory(struct call_state *s)
{
	s->bytes = room_of(s->trial);
	if (s->trial->kind == CALL_SYMMETRIC) {
		if (choir_mem_alloc(s->comm, 2 * s->bytes, (void **)&s->in, NULL) != CHOIR_SUCCESS)
			return false;
		s->out = s->in + s->bytes / sizeof *s->in;
		return true;
	}
	s->in = map(s->bytes);
	s->out = map(s->bytes);
	return s->in != NULL && s->out != NULL;
}

static bool take_device_memory(struct call_state *s)
{
	choir_device *device = choir_comm_device(s->comm);
	size_t bytes = s->trial->count * sizeof *s->in;

	if (!memory_make(&s->device_in, device, true, bytes, 0) || !memory_make(&s->device_out, device, true, bytes, 0))
		return false;
	memcpy(memory_payload(&s->device_in), s->in, bytes);
	memory_push(&s->device_in);
	return true;
}

struct call_state *call_begin(const struct trial *trial, int rank, choir_comm *comm)
{
	struct call_state *s = calloc(1, sizeof *s);

	*s = (struct call_state){ .trial = trial, .comm = comm, .rank = rank };
	lay_out(s);
	if (!take_memory(s)) {
		free(s);
		return NULL;
	}
	for (size_t i = 0; i < s->bytes / sizeof *s->in; i++)
		s->in[i] = rank + (int32_t)(i % 7);
	if (trial->kind == CALL_SPARSE)
		fill_rows(s);
	if (trial->kind == CALL_DEVICE && !take_device_memory(s)) {
		free(s);
		return NULL;
	}
	return s;
}

static choir_status make_sparse(struct call_state *s)
{
	size_t rows = rows_of(s->trial), most = rows + (size_t)s->trial->n;
	choir_sparse_attr attr = CHOIR_SPARSE_ATTR_INIT;

	s->n_ind = most;
	s->n_val = most * ROW_WIDTH;
	return choir_sparse_allreduce(s->comm, choir_host(s->in), rows, choir_host(s->in + rows), rows * ROW_WIDTH,
	                              choir_host(s->out), &s->n_ind, choir_host(s->out + most), &s->n_val, CHOIR_I32,
	                              CHOIR_F32, CHOIR_OP_SUM, &attr, NULL, NULL);
}

choir_status call_make(struct call_state *s, int number)
{
	const struct trial *t = s->trial;
	choir_buffer in = choir_host(s->in), out = choir_host(s->out);
	int n = t->n, next = (s->rank + 1) % n, before = (s->rank + n - 1) % n;

	s->out[0] = MARK;
	switch (t->kind) {
	case CALL_DEVICE:
		return choir_allreduce(s->comm, s->device_in.buffer, s->device_out.buffer, t->count, CHOIR_I32,
		                       CHOIR_OP_SUM, NULL, NULL);
	case CALL_BROADCAST:
		return choir_broadcast(s->comm, in, out, t->count, CHOIR_I32, number % n, NULL, NULL);
	case CALL_ALLTOALLV:
		return choir_alltoallv(s->comm, in, s->counts[0], s->offsets[0], out, s->counts[1], s->offsets[1],
		                       CHOIR_I32, NULL, NULL);
	case CALL_SENDRECV:
		return choir_sendrecv(s->comm, in, t->count, next, out, t->count, before, CHOIR_I32, NULL, NULL);
	case CALL_SPARSE:
		return make_sparse(s);
	default:
		return choir_allreduce(s->comm, in, out, t->count, CHOIR_I32, CHOIR_OP_SUM, NULL, NULL);
	}
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

static int32_t input_of(int rank, size_t i)
{
	return rank + (int32_t)(i % 7);
}

/* What element i of the result is. */
static int32_t expected(const struct call_state *s, int number, size_t i)
{
	int n = s->trial->n;

	switch (s->trial->kind) {
	case CALL_BROADCAST: return input_of(number % n, i);
	case CALL_SENDRECV: return input_of((s->rank + n - 1) % n, i);
	default: return n * input_of(0, i) + n * (n - 1) / 2;
	}
}

static bool alltoallv_is_right(const struct call_state *s)
{
	for (int from = 0; from < s->trial->n; from++) {
		size_t theirs = 0; /* where my part begins in their buffer */

		for (int to = 0; to < s->rank; to++)
			theirs += pair_count(s->trial, from, to);
		for (size_t i = 0; i < s->counts[1][from]; i += 1 + s->counts[1][from] / SAMPLES)
			if (s->out[s->offsets[1][from] + i] != input_of(from, theirs + i))
				return false;
	}
	return true;
}

bool call_is_right(struct call_state *s, int number)
{
	const struct trial *t = s->trial;
	const int32_t *out = s->out;

	if (t->kind == CALL_SPARSE)
		return sparse_is_right(s);
	if (t->kind == CALL_ALLTOALLV)
		return alltoallv_is_right(s);
	if (t->kind == CALL_DEVICE) {
		memory_pull(&s->device_out);
		out = (const int32_t *)(const void *)memory_payload(&s->device_out);
	}
	for (size_t i = 0; i < t->count; i += 1 + t->count / SAMPLES)
		if (out[i] != expected(s, number, i))
			return false;
	return out[t->count - 1] == expected(s, number, t->count - 1);
}

void call_end(struct call_state *s)
{
	if (s->trial->kind == CALL_DEVICE) {
		memory_free(&s->device_in);
		memory_free(&s->device_out);
	}
	if (s->trial->kind == CALL_SYMMETRIC) {
		if (s->trial->ending !=
		    ENDS_DESTROYED) /* else it goes with the comm: giving it back is a call of all ranks */
			(void)choir_mem_free(s->comm, s->in);
	} else {
		munmap(s->in, s->bytes);
		munmap(s->out, s->bytes);
	}
	free(s);
}
