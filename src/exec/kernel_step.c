/* SPDX-License-Identifier: MIT */
/* A REDUCE of a plan on the host, by a kernel.  Operands that the device reads in place (a caller's cl_mem that the
 * host reaches too or that stays on the device: Note [own block] in algo/reduce_scatter_slots.c; wrapped arena or
 * scratch on CPU devices) are used there; the others are copied into device scratch first and the result back, all on
 * the device's queue of kernels, so only the last event is watched.
 *
 * Note [uploads beside kernels].  A GPU writes the operands of one chunk of an own block while its kernel reduces the
 * chunk before: they go on the queue of writes, and the queue of kernels waits for them there.  The plan has no more
 * than OWN_BLOCK_TURNS such reductions under way, each with a buffer of its own. */
#include "exec/steps.h"

#include "base/arithmetic.h"
#include "exec/device_memory.h"
#include "exec/operand.h"
#include "kern/reduce.h"

#include <stdlib.h>

/* The arena as the device sees it.  OpenCL may access all of it, so all of it is allocated. */
static cl_mem arena_mem(struct choir_comm *comm)
{
	struct arena_use *use = &comm->engine.arena;

	if (use->wrap_tried)
		return use->mem.mem;
	use->wrap_tried = true;
	if (dev_is_cpu(comm->device) && arena_take_all(comm->arena) == CHOIR_SUCCESS)
		(void)dev_memory_wrap(comm->device, arena_base(comm->arena), arena_bytes(comm->arena), &use->mem);
	return use->mem.mem;
}

/* The cl_mem over a reference, if the device may use it in place during the run. */
static bool in_place_operand(struct run *run, struct plan_ref ref, struct reduce_operand *out)
{
	const struct dev_access *access = ref.buf == PLAN_SEND ? &run->bound.send : &run->bound.recv;

	switch (ref.buf) {
	case PLAN_SEND:
	case PLAN_RECV:
		*out = (struct reduce_operand){ access->mem, access->off + ref.off };
		return access->mem != NULL && (access->direct || run->bound.in.owns_reduced) && dev_kernels_may(access);
	case PLAN_SCRATCH:
		*out = (struct reduce_operand){ run->host_scratch.mem, ref.off };
		return run->host_scratch.mem != NULL && dev_is_cpu(run->comm->device);
	case PLAN_SLOT:
		*out = (struct reduce_operand){ arena_mem(run->comm),
			                        (uint64_t)(operand_at(run, ref) -
			                                   (unsigned char *)arena_base(run->comm->arena)) };
		return out->mem != NULL;
	case PLAN_PEER_SEND:
	case PLAN_PEER_RECV:
		return false;
	}
	return false;
}

static bool goes_beside(const struct run *run, const struct plan_step *step)
{
	return run->bound.in.far_memory && steps_reduces_on_device(run, step);
}

/* The memory for the operands of this reduction, of so many bytes. */
static choir_status take_scratch(struct run *run, bool beside, uint64_t bytes, cl_mem *out_p)
{
	struct device_memory *memory = &run->device_memory;
	struct device_buffer *buffer = &memory->scratch;

	if (beside)
		buffer = &memory->turns[memory->reductions++ % OWN_BLOCK_TURNS];
	TRY(beside ? device_memory_grow_unplaced(run, buffer, bytes) : device_memory_grow(run, buffer, bytes));
	*out_p = buffer->mem;
	return CHOIR_SUCCESS;
}

/* To the place in scratch that `to` says.  uploaded_p NULL: on the queue of kernels. */
static choir_status upload(struct run *run, struct plan_ref ref, struct reduce_operand to, uint64_t len,
                           cl_event *uploaded_p)
{
	struct dev_access access = dev_buffer_access(to.mem, to.off, len);

	device_memory_pin_slots(run->comm, ref, len);
	if (uploaded_p == NULL)
		return dev_write(run->comm->device, &access, 0, operand_at(run, ref), len, NULL);
	return dev_stage_write(run->comm->device, &access, 0, operand_at(run, ref), len, uploaded_p);
}

/* The sources that the device does not read in place.  Writes are in order, so the kernels wait for the last one. */
static choir_status upload_all(struct run *run, const struct plan_step *step, bool beside, cl_mem scratch,
                               struct reduce_operand *src)
{
	const struct plan_ref *refs = &run->plan->refs[step->src_first];
	cl_event uploaded = NULL;

	for (uint32_t i = 0; i < step->n_src; i++) {
		if (src[i].mem != NULL)
			continue;
		if (uploaded != NULL)
			clReleaseEvent(uploaded);
		src[i].mem = scratch;
		TRY(upload(run, refs[i], src[i], step->len, beside ? &uploaded : NULL));
	}
	return uploaded != NULL ? dev_queue_after(run->comm->device, &uploaded) : CHOIR_SUCCESS;
}

/* From where the kernel leaves the result to the destinations that it did not write. */
static choir_status copy_out(struct run *run, const struct plan_step *step, struct reduce_operand from, bool written,
                             cl_event *event_p)
{
	struct dev_access result = dev_buffer_access(from.mem, from.off, step->len);

	for (uint32_t i = 0; i < step->n_more; i++)
		TRY(dev_read(run->comm->device, &result, 0, operand_at(run, run->plan->refs[step->more_first + i]),
		             step->len, written && i + 1 == step->n_more ? event_p : NULL));
	return written ? CHOIR_SUCCESS
	               : dev_read(run->comm->device, &result, 0, operand_at(run, step->dst), step->len, event_p);
}

choir_status steps_kernel_reduce(struct run *run, const struct plan_step *step, struct reduce_operand *src,
                                 cl_event *event_p)
{
	const struct plan_ref *refs = &run->plan->refs[step->src_first];
	uint64_t room = round_up(step->len, 64), copied = 0;
	struct reduce_operand dst;
	struct reduce_call call;
	bool dst_in_place = in_place_operand(run, step->dst, &dst), last = dst_in_place && step->n_more == 0;
	bool beside = goes_beside(run, step);
	cl_mem scratch;

	for (uint32_t i = 0; i < step->n_src; i++)
		if (!in_place_operand(run, refs[i], &src[i]))
			src[i] = (struct reduce_operand){ .mem = NULL, .off = room * copied++ };
	if (!dst_in_place)
		dst = (struct reduce_operand){ .mem = NULL, .off = room * copied++ };
	TRY(take_scratch(run, beside, room * copied, &scratch));
	TRY(upload_all(run, step, beside, scratch, src));
	if (!dst_in_place)
		dst.mem = scratch;
	operand_reduce_call(run, step, step->len, &call);
	TRY(reduce_kernel_start(run->comm->device, &call, dst, src, last ? event_p : NULL));
	return last ? CHOIR_SUCCESS : copy_out(run, step, dst, dst_in_place, event_p);
}

choir_status steps_reduce_by(struct run *run, const struct plan_step *step, steps_reduction *reduction,
                             cl_event *event_p)
{
	struct reduce_operand *src = malloc(step->n_src * sizeof *src);
	choir_status st;

	if (src == NULL)
		return error_no_memory("sources of a reduction", step->n_src * sizeof *src);
	dev_build_deadline(run_deadline_ns(run));
	st = reduction(run, step, src, event_p);
	dev_build_deadline(0);
	free(src);
	if (st != CHOIR_SUCCESS)
		dev_drain(run->comm->device);
	return st;
}

bool steps_reduces_on_device(const struct run *run, const struct plan_step *step)
{
	return run->bound.in.owns_reduced && step->dst.buf == PLAN_RECV;
}
