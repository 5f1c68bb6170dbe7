/* SPDX-License-Identifier: MIT */
/* reduce_scatter and reduce_scatterv in device memory: each rank fetches its block of all SENDs, in chunks, and reduces
 * it.  Two waits; (n-1)/n of the bytes a rank over the link between the devices.  One node, any lengths.  The owner
 * folds in rank order.  Note [device plans]. */
#include "algo/blocks.h"
#include "algo/build.h"
#include "algo/device.h"
#include "algo/pattern_block.h"

choir_status reduce_scatter_device(const struct algo_in *in, struct plan *plan)
{
	uint64_t parts = device_parts(in), unit = block_unit(in->elem_bytes), len = rank_block_bytes(in, in->me);
	struct chunks chunks = chunks_of(len, round_down(in->device_bytes / (parts + 1), unit), unit);
	uint64_t scratch = plan_scratch(plan, (parts + 1) * chunks.each);
	struct plan_ref sum = plan_at(PLAN_SCRATCH, scratch + parts * chunks.each);
	plan_id before = PLAN_NO_STEP;

	if (rank_block_longest(in) == 0)
		return plan_finish(plan);
	for (uint64_t k = 0; k < chunks.n; k++) {
		uint64_t off = chunk_off(chunks, k), bytes = chunk_len(chunks, k);
		plan_id reduced = device_reduce_part(in, plan, in->layout->n, scratch, rank_block_off(in, in->me) + off,
		                                     bytes, sum, before);

		before = plan_copy(plan, plan_at(PLAN_RECV, off), sum, bytes, &reduced, 1, "keep");
	}
	return device_end(plan, 1);
}
