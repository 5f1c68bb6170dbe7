/* SPDX-License-Identifier: MIT */
/* Copies between memory of ours and a caller's buffer that only commands reach.  Each direction has a queue; the plan's
 * deps order the two. */
#include "exec/steps.h"

#include "exec/device_memory.h"
#include "exec/operand.h"

enum { NOW_BYTES = 64 * 1024, CPU_NOW_BYTES = 256 * 1024 };

static bool needs_command(const struct dev_access *access, const struct segments *segments)
{
	return segments->n > 0 ? !segments->direct : !access->direct && access->ptr == NULL;
}

static bool is_read(const struct run *run, const struct plan_step *step)
{
	return run->plan->refs[step->src_first].buf == PLAN_SEND &&
	       needs_command(&run->bound.send, &run->bound.send_list);
}

static bool is_write(const struct run *run, const struct plan_step *step)
{
	return step->dst.buf == PLAN_RECV && needs_command(&run->bound.recv, &run->bound.recv_list);
}

bool steps_is_staged(const struct run *run, const struct plan_step *step)
{
	return is_read(run, step) || is_write(run, step);
}

static bool all_await(const struct run *run, const uint32_t *ids, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (run->plan->steps[ids[i]].kind != PLAN_AWAIT)
			return false;
	return true;
}

/* A short copy of an inline call that has nothing else to do blocks: fewer calls of OpenCL, and no other thread.  The
 * threads of a CPU device want the core anyway. */
static bool is_copied_now(const struct run *run, const struct plan_step *step)
{
	const struct step_board *board = &run->board;
	uint32_t after = board->ready_head + 1;
	uint64_t most = dev_is_cpu(run->comm->device) ? CPU_NOW_BYTES : NOW_BYTES;

	return run->is_inline && !run->bound.pair && step->len <= most &&
	       all_await(run, board->waiting, board->n_waiting) &&
	       all_await(run, board->ready + after, board->ready_tail - after);
}

static choir_status start_read(struct run *run, uint64_t off, void *to, uint64_t bytes, cl_event *event_p)
{
	if (run->bound.send_list.n > 0)
		return segments_read(run->comm->device, &run->bound.send_list, off, to, bytes, event_p);
	return dev_stage_read(run->comm->device, &run->bound.send, off, to, bytes, event_p);
}

static choir_status start_write(struct run *run, uint64_t off, const void *from, uint64_t bytes, cl_event *event_p)
{
	if (run->bound.recv_list.n > 0)
		return segments_write(run->comm->device, &run->bound.recv_list, off, from, bytes, event_p);
	return dev_stage_write(run->comm->device, &run->bound.recv, off, from, bytes, event_p);
}

choir_status steps_stage_copy(struct run *run, const struct plan_step *step, cl_event *event_p, bool *done)
{
	struct plan_ref src = run->plan->refs[step->src_first];
	bool reads = is_read(run, step), now = !run->bound.lists && is_copied_now(run, step);

	if (reads && is_write(run, step)) /* plans have such steps where in->owns_copied */
		return steps_device_copy(run, step, event_p);
	device_memory_pin_slots(run->comm, reads ? step->dst : src, step->len);
	if (now && reads)
		TRY(dev_stage_read_now(run->comm->device, &run->bound.send, src.off, operand_at(run, step->dst),
		                       step->len));
	else if (now)
		TRY(dev_stage_write_now(run->comm->device, &run->bound.recv, step->dst.off, operand_at(run, src),
		                        step->len));
	else if (reads)
		TRY(start_read(run, src.off, operand_at(run, step->dst), step->len, event_p));
	else
		TRY(start_write(run, step->dst.off, operand_at(run, src), step->len, event_p));
	*done = *event_p == NULL;
	return CHOIR_SUCCESS;
}

enum step_queue steps_queue_of(const struct run *run, uint32_t id)
{
	const struct plan_step *step = &run->plan->steps[id];
	bool reads, writes;

	if (run->board.events[id] == NULL)
		return STEP_QUEUE_NONE;
	if (run->plan->device || step->kind != PLAN_COPY)
		return STEP_QUEUE_KERNELS;
	reads = is_read(run, step);
	writes = is_write(run, step);
	return reads == writes ? STEP_QUEUE_KERNELS : reads ? STEP_QUEUE_READS : STEP_QUEUE_WRITES;
}
