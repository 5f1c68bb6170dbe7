/* SPDX-License-Identifier: MIT */
/* The copies and reductions of a plan on the device, and the copies of other plans from one buffer of the caller's to
 * another: all operands are memory of the comm's context, and all commands go to the device's queue of kernels.  A copy
 * from or to a list is a command a segment, so the event of the last one tells of all.  Note [device plans] in
 * algo/device.h. */
#include "exec/steps.h"

#include "exec/device_copy.h"
#include "exec/device_memory.h"
#include "exec/operand.h"
#include "exec/symmetric.h"

static struct dev_bytes at_off(struct dev_bytes bytes, uint64_t off)
{
	bytes.off += off;
	return bytes;
}

/* The memory of that rank from which its peers copy in this call; valid after the rank has raised its flag, until it
 * leaves the call. */
static const struct run_source *source_of(const struct run *run, int rank)
{
	return symmetric_source(comm_lane(run->comm, run->comm->layout.local_rank_of[rank], run->lane)->send_address);
}

static struct dev_bytes bytes_of(const struct run *run, struct plan_ref ref)
{
	const struct dev_access *send = &run->bound.send, *recv = &run->bound.recv;

	switch (ref.buf) {
	case PLAN_SEND:
		return at_off(dev_bytes_of(send), ref.off);
	case PLAN_RECV:
		return at_off(dev_bytes_of(recv), ref.off);
	case PLAN_SCRATCH:
		return (struct dev_bytes){ .mem = run->device_memory.scratch.mem, .off = ref.off };
	case PLAN_SLOT:
		return (struct dev_bytes){ .mem = source_of(run, ref.peer)->slot, .off = ref.off };
	case PLAN_PEER_SEND:
		return at_off(source_of(run, ref.peer)->send, ref.off);
	case PLAN_PEER_RECV:
		break;
	}
	return (struct dev_bytes){ .mem = NULL };
}

/* One end of a copy: bytes that stand together, or those of a list's segments.  The list is a copy: peers search it
 * at once. */
struct end {
	struct dev_bytes bytes;
	struct segments list;
	uint64_t off;
};

static struct end end_of(const struct run *run, struct plan_ref ref)
{
	struct end end = { .off = ref.off };

	if (ref.buf == PLAN_SEND)
		end.list = run->bound.send_list;
	else if (ref.buf == PLAN_RECV)
		end.list = run->bound.recv_list;
	else if (ref.buf == PLAN_PEER_SEND)
		end.list = source_of(run, ref.peer)->send_list;
	if (end.list.n == 0)
		end.bytes = bytes_of(run, ref);
	return end;
}

/* Where byte `done` of an end is.  *left is lowered to the bytes that lie together from there on.  True: these are
 * padding. */
static bool find_in(struct end *end, uint64_t done, struct dev_bytes *bytes, uint64_t *left)
{
	struct segment_at at;

	if (end->list.n == 0) {
		*bytes = at_off(end->bytes, done);
		return false;
	}
	at = segments_find(&end->list, end->off + done);
	if (at.left < *left)
		*left = at.left;
	if (!at.padded)
		*bytes = at_off(dev_bytes_of(at.segment->access), at.off);
	return at.padded;
}

/* Bytes copied to padding are dropped; bytes copied from padding are zeros. */
static choir_status copy_pieces(struct run *run, struct end *to, struct end *from, uint64_t len, cl_event *event_p)
{
	choir_device *device = run->comm->device;
	struct dev_bytes dst, src;

	for (uint64_t done = 0, part; done < len; done += part) {
		bool is_lost, is_zero;
		cl_event *last_p;

		part = len - done;
		is_lost = find_in(to, done, &dst, &part);
		is_zero = find_in(from, done, &src, &part);
		last_p = done + part == len ? event_p : NULL;
		if (is_lost)
			continue;
		if (is_zero)
			TRY(dev_fill_zero(device, dst.mem, dst.off, part, run->plan->elem_bytes, last_p));
		else
			TRY(device_copy(run, dst, src, part, last_p));
	}
	return *event_p == NULL ? dev_marker(dev_queue(device), event_p) : CHOIR_SUCCESS;
}

choir_status steps_device_copy(struct run *run, const struct plan_step *step, cl_event *event_p)
{
	struct end to = end_of(run, step->dst), from = end_of(run, run->plan->refs[step->src_first]);
	choir_status st;

	dev_build_deadline(run_deadline_ns(run)); /* of memory of two kinds, by a kernel */
	st = copy_pieces(run, &to, &from, step->len, event_p);
	dev_build_deadline(0);
	if (st != CHOIR_SUCCESS)
		dev_drain(run->comm->device);
	return st;
}

/* Kernels read cl_mems only: of a SEND that is none, a copy. */
static choir_status find_source(struct run *run, struct plan_ref ref, uint64_t len, struct reduce_operand *out)
{
	struct dev_bytes from = bytes_of(run, ref), copy = { .off = 0 };

	if (from.mem == NULL) {
		TRY(device_memory_grow(run, &run->device_memory.sent, len));
		copy.mem = run->device_memory.sent.mem;
		TRY(device_copy(run, copy, from, len, NULL));
		from = copy;
	}
	*out = (struct reduce_operand){ from.mem, from.off };
	return CHOIR_SUCCESS;
}

choir_status steps_device_reduce(struct run *run, const struct plan_step *step, struct reduce_operand *src,
                                 cl_event *event_p)
{
	struct dev_bytes dst = bytes_of(run, step->dst);
	struct reduce_call call;

	for (uint32_t i = 0; i < step->n_src; i++)
		TRY(find_source(run, run->plan->refs[step->src_first + i], step->len, &src[i]));
	operand_reduce_call(run, step, step->len, &call);
	if (step->peer != PLAN_ALL)
		call.factor = source_of(run, step->peer)->factor;
	return reduce_kernel_start(run->comm->device, &call, (struct reduce_operand){ dst.mem, dst.off }, src, event_p);
}
