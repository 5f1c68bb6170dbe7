/* SPDX-License-Identifier: MIT */
/* scan and exscan in device memory: each rank fetches the inputs of the ranks up to it (exscan: before it), in chunks,
 * and folds them by a kernel.
 *
 * One wait a chunk; rank r reads r + 1 inputs.  One node, any length.  The folds are left folds in rank order.  In
 * place RECV holds the input, so a chunk of it is written once all ranks have fetched that.  Note [device plans]. */
#include "algo/build.h"
#include "algo/device.h"
#include "algo/pattern_block.h"
#include "algo/prefix.h"

choir_status prefix_device(const struct algo_in *in, struct plan *plan)
{
	uint64_t parts = device_parts(in), unit = block_unit(in->elem_bytes), scratch = 0;
	struct chunks chunks = chunks_of(in->bytes, round_down(in->device_bytes / (parts + 1), unit), unit);
	struct plan_ref sum;
	plan_id before = PLAN_NO_STEP;
	int end = prefix_end(in, in->me);

	if (in->bytes == 0)
		return plan_finish(plan);
	plan_limit(plan, "phase", chunks.n, PLAN_LAST_PHASE);
	if (end > 0)
		scratch = plan_scratch(plan, (parts + 1) * chunks.each);
	sum = plan_at(PLAN_SCRATCH, scratch + parts * chunks.each);
	for (uint64_t k = 0; k < chunks.n; k++) {
		uint64_t off = chunk_off(chunks, k), bytes = chunk_len(chunks, k);
		uint32_t phase = (uint32_t)k + 1;
		plan_id reduced = PLAN_NO_STEP, fetched;

		if (end > 0)
			reduced = device_reduce_part(in, plan, end, scratch, off, bytes, sum, before);
		plan_publish(plan, phase, &reduced, 1, "fetched");
		fetched = plan_await(plan, PLAN_ALL, phase, &before, 1, "fetched by all");
		before = fetched;
		if (end > 0)
			before = plan_copy(plan, plan_at(PLAN_RECV, off), sum, bytes,
			                   in->in_place ? &fetched : &reduced, 1, "keep");
	}
	plan->peers = plan->device = true;
	return plan_finish(plan);
}
