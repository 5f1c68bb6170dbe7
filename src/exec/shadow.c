/* SPDX-License-Identifier: MIT */
/* Note [shadows].  A copy step of a staged plan is a command, and a command of a GPU takes about as long for few bytes
 * as for many; of class map each buffer costs two, a map and an unmap.  A short buffer has a shadow instead: pinned
 * memory of the run behind its scratch.  One read fills SEND's before the plan begins, one write empties RECV's after
 * it has ended, and in between the plan takes the shadows for SEND and RECV.  In place both lie in one.  Which buffers
 * are short: dev_short_bytes, dev_short_map_bytes.  Each rank decides for itself, since a plan's copies from and to its
 * rank's buffers are no other rank's concern. */
#include "exec/shadow.h"

#include "base/arithmetic.h"

enum { LINE_BYTES = 64 };

static bool has_shadows(const struct run *run)
{
	return (run->bound.send_shadow || run->bound.recv_shadow) && !run->plan->device;
}

static uint64_t recv_off(const struct bound *bound)
{
	return bound->send_shadow && !bound->send_in_recv ? round_up(bound->send.bytes, LINE_BYTES) : 0;
}

uint64_t shadow_bytes(const struct run *run)
{
	const struct bound *bound = &run->bound;

	if (!has_shadows(run))
		return 0;
	if (bound->recv_in_send)
		return LINE_BYTES + round_up(bound->send.bytes, LINE_BYTES);
	return LINE_BYTES + recv_off(bound) + (bound->recv_shadow ? round_up(bound->recv.bytes, LINE_BYTES) : 0);
}

static void place(struct run *run)
{
	struct bound *bound = &run->bound;
	unsigned char *base = (unsigned char *)run->host_scratch.ptr + round_up(run->plan->scratch_bytes, LINE_BYTES);

	if (bound->send_shadow)
		bound->send.ptr = base + (bound->send_in_recv ? bound->inner_off : 0);
	if (bound->recv_shadow)
		bound->recv.ptr = base + (bound->recv_in_send ? bound->inner_off : recv_off(bound));
}

/* In place a part of RECV may stay as it is, which all of RECV is copied with. */
static bool needs_send(const struct run *run)
{
	return run->plan->reads_send || (run->bound.send_in_recv && run->plan->writes_recv);
}

/* Behind the kernel that gathers, or before the one that scatters, on their queue. */
static choir_status start_read(struct run *run, cl_event *event_p)
{
	const struct dev_access *send = &run->bound.send;

	return run->bound.gathered != NULL
	           ? dev_read(run->comm->device, send, 0, send->ptr, send->bytes, event_p)
	           : dev_stage_read(run->comm->device, send, 0, send->ptr, send->bytes, event_p);
}

static choir_status start_write(struct run *run, cl_event *event_p)
{
	const struct dev_access *recv = &run->bound.recv;

	return run->bound.scattered != NULL
	           ? dev_write(run->comm->device, recv, 0, recv->ptr, recv->bytes, event_p)
	           : dev_stage_write(run->comm->device, recv, 0, recv->ptr, recv->bytes, event_p);
}

choir_status shadow_fill(struct run *run, cl_event *event_p)
{
	const struct dev_access *send = &run->bound.send;

	if (run->shadows_filled || !has_shadows(run))
		return CHOIR_SUCCESS;
	place(run);
	if (run->bound.send_shadow && needs_send(run))
		TRY(event_p != NULL ? start_read(run, event_p)
		                    : dev_stage_read_now(run->comm->device, send, 0, send->ptr, send->bytes));
	run->shadows_filled = true;
	return CHOIR_SUCCESS;
}

choir_status shadow_empty(struct run *run, cl_event *event_p)
{
	const struct dev_access *recv = &run->bound.recv;

	if (!run->shadows_filled)
		return CHOIR_SUCCESS;
	if (run->bound.recv_shadow && run->plan->writes_recv)
		TRY(event_p != NULL ? start_write(run, event_p)
		                    : dev_stage_write_now(run->comm->device, recv, 0, recv->ptr, recv->bytes));
	run->shadows_filled = false;
	return CHOIR_SUCCESS;
}

void shadow_drop(struct run *run)
{
	run->shadows_filled = false;
}
