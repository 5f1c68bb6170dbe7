/* SPDX-License-Identifier: MIT */
/* A dense result in memory that the host does not reach: only its pairs go there, and kernels fill it.  Design notes:
 * each phase waits, without blocking, for the one before, since copies and kernels have queues of their own. */
#include "topk/run.h"

#include "sparse/dense.h"

enum { INDICES, VALUES, FILLING, FILLED };

bool topk_far_wanted(const struct topk_run *run)
{
	return run->request.operands[TOPK_DENSE].by_kernel;
}

static choir_status upload(struct topk_run *run, const void *from, uint64_t bytes, cl_mem *mem_p)
{
	struct dev_access access;

	TRY(dev_buffer_create(run->env.device, bytes, mem_p));
	access = dev_buffer_access(*mem_p, 0, bytes);
	return dev_write(run->env.device, &access, 0, from, bytes, &run->far.event);
}

static choir_status fill(struct topk_run *run)
{
	const struct operand *to = &run->request.operands[TOPK_DENSE];
	struct dense_list list = { .ind = run->far.ind, .form = run->types.form, .n = run->kept.count };
	struct dense_rows from = { .mem = run->far.val, .elem_bytes = to->elem_bytes, .width = 1 };
	struct dense_rows dense = from;

	dense.mem = to->access.mem;
	dense.off = to->access.off;
	if (list.n == 0)
		return dev_fill_zero(run->env.device, dense.mem, dense.off, to->bytes, to->elem_bytes, &run->far.event);
	TRY(dev_fill_zero(run->env.device, dense.mem, dense.off, to->bytes, to->elem_bytes, NULL));
	return dense_kernel_scatter(run->env.device, &list, &from, 0, &dense, &run->far.event);
}

static choir_status next_phase(struct topk_run *run)
{
	uint64_t n = run->kept.count;

	switch (run->far.phase++) {
	case INDICES:
		return n > 0 ? upload(run, run->kept.ind.ptr, n * run->types.form.bytes, &run->far.ind) : CHOIR_SUCCESS;
	case VALUES:
		return n > 0 ? upload(run, run->values, n * run->request.operands[TOPK_DENSE].elem_bytes, &run->far.val)
		             : CHOIR_SUCCESS;
	default:
		return fill(run);
	}
}

choir_status topk_far_write(struct topk_run *run, bool *done_p)
{
	bool over = true;

	*done_p = false;
	for (;;) {
		if (run->far.event != NULL) {
			TRY(dev_poll(run->far.event, &over));
			if (!over)
				break;
			run->far.watched = false;
			TRY(dev_wait(&run->far.event));
		}
		*done_p = run->far.phase == FILLED;
		if (*done_p)
			return CHOIR_SUCCESS;
		TRY(next_phase(run));
	}
	if (run->far.watched)
		return CHOIR_SUCCESS;
	run->far.watched = true;
	return dev_watch(run->far.event, run->env.ring, run->env.ring_ctx);
}

/* What the device still reads is given back after this. */
void topk_far_fini(struct topk_run *run)
{
	(void)dev_wait(&run->far.event);
	dev_buffer_free(run->far.ind);
	dev_buffer_free(run->far.val);
}
