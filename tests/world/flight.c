/* SPDX-License-Identifier: MIT */
#include "world/flight.h"

#include <stdio.h>
#include <string.h>

enum { MAY_BE_REFUSED = 10000 };

unsigned char *flight_in(struct dense_flight *f)
{
	size_t at = f->in_place ? f->layout.send_at : 0;

	return memory_payload(&f->send) + at * choir_dtype_bytes(f->call.dtype);
}

unsigned char *flight_out(struct dense_flight *f)
{
	if (!f->in_place)
		return memory_payload(&f->recv);
	return memory_payload(&f->send) + f->layout.recv_at * choir_dtype_bytes(f->call.dtype);
}

static choir_buffer moved(choir_buffer buffer, size_t bytes)
{
	buffer.offset_bytes += bytes;
	return buffer;
}

/* Off the root one buffer may be none; calls of even counts give one all the same. */
static bool not_looked_at(const struct dense_flight *f, size_t elements)
{
	return f->call.what->rooted && elements == 0 && f->call.count % 2 == 1;
}

/* In place: one buffer holds both. */
static void take_memory(struct dense_flight *f, struct world *world)
{
	size_t elem = choir_dtype_bytes(f->call.dtype), sent = f->layout.send_count, received = f->layout.recv_count;
	int rank = f->rank;

	if (!f->in_place) {
		CHECK(memory_make(&f->send, world->device, f->call.device, sent * elem, elem));
		CHECK(memory_make(&f->recv, world->device, f->call.device, received * elem, 3 * elem));
		f->args.send = not_looked_at(f, sent) ? choir_none() : f->send.buffer;
		f->args.recv = not_looked_at(f, received) ? choir_none() : f->recv.buffer;
		return;
	}
	CHECK(memory_make(&f->send, world->device, f->call.device, (sent > received ? sent : received) * elem, elem));
	f->args.send = moved(f->send.buffer, f->layout.send_at * elem);
	f->args.recv = moved(f->send.buffer, f->layout.recv_at * elem);
}

void flight_make(struct dense_flight *f, struct world *world, int rank, const struct dense_call *call)
{
	*f = (struct dense_flight){ .call = *call, .rank = rank, .in_place = call->in_place && call->what->in_place };
	f->shape = (struct collective_shape){
		.what = call->what, .n = call->n, .root = call->root, .count = call->count, .gaps = true
	};
	f->data = (struct collective_data){ .shape = &f->shape,
		                            .dtype = call->dtype,
		                            .op = call->what->reduces ? call->op : CHOIR_OP_LOCAL };
	collective_lay_out(&f->shape, rank, &f->layout);
	f->args = collective_args_of(&f->shape, &f->layout, NULL, rank);
	f->args.dtype = call->dtype;
	f->args.op = call->op;
	take_memory(f, world);
	collective_input(&f->data, rank, f->layout.send_count, flight_in(f));
	memory_push(&f->send);
}

void flight_free(struct dense_flight *f)
{
	choir_event_release(f->event);
	memory_free(&f->send);
	if (!f->in_place)
		memory_free(&f->recv);
}

choir_status flight_call(struct dense_flight *f, choir_comm *comm, const choir_call *call, choir_event **event_p)
{
	choir_call own = CHOIR_CALL_INIT;

	own.options = f->call.options;
	own.factor = values_factor(f->data.op);
	if (call == NULL && (own.options != NULL || f->data.op == CHOIR_OP_PREMUL_SUM))
		call = &own;
	f->args.comm = comm;
	return f->call.what->call(&f->args, call, event_p);
}

void flight_start(struct dense_flight *f, struct world *world, choir_comm *comm, const choir_call *call)
{
	int rank = f->rank;

	OK(flight_call(f, comm, call, &f->event));
}

const char *flight_text(const struct dense_flight *f, char text[FLIGHT_TEXT_BYTES])
{
	const struct dense_call *c = &f->call;

	snprintf(text, FLIGHT_TEXT_BYTES, "%s of %zu x %s, %s, root %d, %s%s, %s", c->what->name, c->count,
	         choir_dtype_name(c->dtype), choir_op_name(f->data.op), c->root, f->in_place ? "in place, " : "",
	         c->device ? memory_kind_names[f->send.kind] : "host", c->options != NULL ? c->options : "auto");
	return text;
}

static void tell_wrong(struct dense_flight *f, struct world *world, uint64_t wrong,
                       const struct collective_fault *first)
{
	size_t elem = choir_dtype_bytes(f->call.dtype);
	const unsigned char *got = flight_out(f) + first->at * elem;
	char text[FLIGHT_TEXT_BYTES], bytes[2 * 8 + 1] = "";

	for (size_t i = 0; i < elem; i++) /* the highest byte first */
		snprintf(bytes + 2 * i, 3, "%02x", got[elem - 1 - i]);
	world_fail(world, f->rank, "%s: %llu wrong elements; element %zu is %s in hex, not %d in decimal",
	           flight_text(f, text), (unsigned long long)wrong, first->at, bytes, (int)first->wanted);
}

void flight_compare(struct dense_flight *f, struct world *world)
{
	struct collective_fault first;
	char text[FLIGHT_TEXT_BYTES];
	uint64_t wrong;

	memory_pull(&f->send);
	if (!f->in_place)
		memory_pull(&f->recv);
	wrong = collective_wrong(&f->data, f->rank, flight_out(f), &first);
	if (wrong > 0)
		tell_wrong(f, world, wrong, &first);
	if (!memory_sentinels_stand(&f->send))
		world_fail(world, f->rank, "%s: it wrote round its input", flight_text(f, text));
	if (f->in_place)
		return;
	if (!memory_sentinels_stand(&f->recv) || !collective_gaps_hold(&f->data, f->rank, flight_out(f), SENTINEL))
		world_fail(world, f->rank, "%s: it wrote round its output", flight_text(f, text));
	if (collective_wrong_input(&f->data, f->rank, f->layout.send_count, flight_in(f)) > 0)
		world_fail(world, f->rank, "%s: it wrote into its input", flight_text(f, text));
}

void flight_land(struct dense_flight *f, struct world *world)
{
	int rank = f->rank;

	if (f->event != NULL && OK(choir_event_wait(f->event, -1)))
		flight_compare(f, world);
}

/* Large counts with a forced algorithm may be refused ("needs the input to fit a slot"), on all ranks alike. */
static bool may_be_refused(const struct dense_call *c)
{
	return c->options != NULL && strstr(c->options, "auto") == NULL && c->count > MAY_BE_REFUSED;
}

void flight_run(struct world *world, int rank, choir_comm *comm, const struct dense_call *call)
{
	struct dense_flight flight;
	choir_status st;

	flight_make(&flight, world, rank, call);
	st = flight_call(&flight, comm, NULL, NULL);
	if (!(st == CHOIR_UNSUPPORTED && may_be_refused(call)) && OK(st))
		flight_compare(&flight, world);
	flight_free(&flight);
}
