/* SPDX-License-Identifier: MIT */
#include "world/spans.h"

#include "exec/comm.h"
#include "world/gate.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

/* In bytes, which begin anywhere: beside the flag or not, one piece or several, more than the ring holds. */
static const size_t spans[] = { 0,    1,    39,    40,    41,    63,     64,     65,      4095,
	                        4096, 4097, 65535, 65536, 65537, 131072, 200001, 1100003, 5000001 };
enum { SPANS = sizeof spans / sizeof *spans, LONGEST_SPAN = 5000001, SHORTER_SPANS = SPANS - 2 };

static void write_span(unsigned char *out, size_t bytes, int seed)
{
	uint32_t x = (uint32_t)seed * 2654435761u + 1;

	for (size_t i = 0; i < bytes; i++, x = x * 1664525u + 1013904223u)
		out[i] = (unsigned char)(x >> 24);
}

/* And nothing behind it. */
static bool is_span(const unsigned char *in, size_t bytes, int seed)
{
	uint32_t x = (uint32_t)seed * 2654435761u + 1;

	for (size_t i = 0; i < bytes; i++, x = x * 1664525u + 1013904223u)
		if (in[i] != (unsigned char)(x >> 24))
			return false;
	return in[bytes] == 0xA5;
}

/* From now on each size is stored by nt stores, until its first message was taken. */
static void nt_from(choir_comm *comm, int left)
{
	if (comm->layout.n_nodes == 1 && arena_take_ring(comm->arena, left, comm->rank) == CHOIR_SUCCESS)
		atomic_store(&arena_ring(comm->arena, left, comm->rank)->nt, UINT64_MAX);
}

/* Both ways at once, around a circle, blocking and not, and over and over again so that the rings come round. */
static void spans_around(struct world *world, int rank, choir_comm *comm, void *unused)
{
	size_t most = world->n > 3 ? spans[SHORTER_SPANS - 1] : LONGEST_SPAN;
	unsigned char *out = malloc(most + 8), *in = malloc(most + 8);
	int n = world->n, left = (rank + n - 1) % n, right = (rank + 1) % n;

	(void)unused;
	for (int i = 0; i < 2 * SPANS && out != NULL && in != NULL; i++) {
		size_t bytes = spans[i % SPANS], shift = (size_t)i % 3;
		choir_event *event = NULL;

		if (i == SPANS)
			nt_from(comm, left);
		if (bytes > most)
			continue;
		write_span(out + shift, bytes, rank * 100 + i);
		in[shift + bytes] = 0xA5;
		OK(choir_sendrecv(comm, choir_host(out + shift), bytes, right, choir_host(in + shift), bytes, left,
		                  CHOIR_U8, NULL, i < SPANS ? NULL : &event));
		if (event != NULL)
			OK(choir_event_wait(event, -1));
		choir_event_release(event);
		CHECK(is_span(in + shift, bytes, left * 100 + i));
	}
	CHECK(out != NULL && in != NULL);
	free(out);
	free(in);
}

/* The first message is wanted last: nothing behind it may wait for that, though it lies in front. */
static void first_is_last(struct world *world, int rank, choir_comm *comm, void *unused)
{
	static __thread unsigned char bytes[SHORTER_SPANS][200008];
	cl_event gate = gate_make(choir_device_context(world->device));
	choir_event *events[SHORTER_SPANS] = { NULL };
	choir_call call = CHOIR_CALL_INIT;

	(void)unused;
	call.cl_deps = &gate;
	call.n_cl_deps = 1;
	for (int i = 0; i < SHORTER_SPANS; i++) {
		bool first = i % 7 == 0;
		size_t count = spans[SHORTER_SPANS - 1 - i];

		write_span(bytes[i], rank == 0 ? count : 0, i);
		bytes[i][count] = 0xA5;
		if (rank == 0)
			OK(choir_send(comm, choir_host(bytes[i]), count, CHOIR_U8, 1, NULL, &events[i]));
		else
			OK(choir_recv(comm, choir_host(bytes[i]), count, CHOIR_U8, 0, first ? &call : NULL,
			              &events[i]));
	}
	for (int pass = 0; pass < 2; pass++) {
		for (int i = 0; i < SHORTER_SPANS; i++) {
			if ((rank == 1 && i % 7 == 0) != (pass == 1))
				continue;
			OK(choir_event_wait(events[i], -1));
			CHECK(is_span(bytes[i], spans[SHORTER_SPANS - 1 - i], i));
			choir_event_release(events[i]);
		}
		if (pass == 0)
			gate_open(gate, CL_COMPLETE);
	}
	clReleaseEvent(gate);
	if (rank == 1 && comm->layout.n_nodes == 1) { /* and all room was given back */
		const struct ring *ring = arena_ring(comm->arena, 0, 1);

		CHECK(ring->early == 0 && atomic_load(&ring->freed) == ring->put && ring->put > 0);
	}
}

void test_spans(void **state)
{
	static const int sizes[] = { 1, 2, 3, 5, 8 };

	(void)state;
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
		line_up_layouts(sizes[i], spans_around);
	line_up_layouts(2, first_is_last);
}
