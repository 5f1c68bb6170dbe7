/* SPDX-License-Identifier: MIT */
/* The copies and reductions of a plan on the device: all operands are cl_mems of the comm's context, and all commands
 * go to the device's one in-order queue.  Note [device plans] in algo/device.h. */
#include "exec/steps.h"

#include "exec/operand.h"
#include "exec/symmetric.h"

#include <stdlib.h>

static struct dev_bytes at_off(struct dev_bytes bytes, uint64_t off)
{
	return (struct dev_bytes){ bytes.mem, bytes.off + off };
}

/* What peers copy from that rank in this call: it has raised its flag, and not left. */
static const struct run_source *source_of(const struct run *run, int rank)
{
	return symmetric_source(comm_lane(run->comm, run->comm->layout.local_rank_of[rank], run->lane)->send_address);
}

static struct dev_bytes bytes_of(const struct run *run, struct plan_ref ref)
{
	const struct dev_access *send = &run->bound.send, *recv = &run->bound.recv;

	switch (ref.buf) {
	case PLAN_SEND:
		return (struct dev_bytes){ send->mem, send->off + ref.off };
	case PLAN_RECV:
		return (struct dev_bytes){ recv->mem, recv->off + ref.off };
	case PLAN_SCRATCH:
		return (struct dev_bytes){ run->device_memory.scratch, ref.off };
	case PLAN_SLOT:
		return (struct dev_bytes){ source_of(run, ref.peer)->slot, ref.off };
	case PLAN_PEER_SEND:
		return at_off(source_of(run, ref.peer)->send, ref.off);
	case PLAN_PEER_RECV:
		break;
	}
	return (struct dev_bytes){ NULL, 0 };
}

choir_status steps_device_copy(struct run *run, const struct plan_step *step, cl_event *event_p)
{
	return dev_copy(run->comm->device, bytes_of(run, step->dst), bytes_of(run, run->plan->refs[step->src_first]),
	                step->len, event_p);
}

choir_status steps_device_reduce(struct run *run, const struct plan_step *step, cl_event *event_p)
{
	struct dev_bytes dst = bytes_of(run, step->dst);
	struct reduce_operand *src = malloc(step->n_src * sizeof *src);
	struct reduce_call call;
	choir_status st;

	if (src == NULL)
		return error_no_memory("sources of a reduction", step->n_src * sizeof *src);
	for (uint32_t i = 0; i < step->n_src; i++) {
		struct dev_bytes from = bytes_of(run, run->plan->refs[step->src_first + i]);

		src[i] = (struct reduce_operand){ from.mem, from.off };
	}
	operand_reduce_call(run, step, step->len, &call);
	if (step->peer != PLAN_ALL)
		call.factor = source_of(run, step->peer)->factor;
	dev_build_deadline(run_deadline_ns(run));
	st = reduce_kernel_start(run->comm->device, &call, (struct reduce_operand){ dst.mem, dst.off }, src, event_p);
	dev_build_deadline(0);
	free(src);
	return st;
}
