/* SPDX-License-Identifier: MIT */
/* allreduce and reduce in device memory: each rank fetches its slice of all SENDs and reduces it to its slot; all
 * ranks, or the root, copy the slices out of the slots.
 *
 * 2(n-1)/n of the bytes a rank over the link between the devices, of a reduce half of that but at the root; three waits
 * a chunk of device_bytes, the most memory that a rank takes.  One node.  Each slice has one owner, which folds in rank
 * order.  Note [device plans]. */
#include "algo/build.h"
#include "algo/device.h"
#include "algo/pattern_block.h"
#include "algo/window.h"

struct slices {
	uint64_t unit, scratch;
	plan_id taken; /* all ranks have copied the slices of the chunk before */
};

static void gather(const struct algo_in *in, struct plan *plan, uint64_t unit, uint64_t off, uint64_t len,
                   plan_id reduced)
{
	int n = in->layout->n;

	for (int i = 0; i < n; i++) {
		int rank = (in->me + i) % n;
		uint64_t at = block_off(len, n, unit, rank), bytes = block_len(len, n, unit, rank);

		if (bytes > 0)
			plan_copy(plan, plan_at(PLAN_RECV, off + at), plan_slot(rank, 0), bytes, &reduced, 1, "gather");
	}
}

/* Phase 2k + 1: the slice of chunk k is reduced; 2k + 2: the slices are copied. */
static void add_chunk(const struct algo_in *in, struct plan *plan, struct slices *s, uint64_t off, uint64_t len,
                      uint32_t phase)
{
	int n = in->layout->n;
	uint64_t mine = block_len(len, n, s->unit, in->me);
	plan_id reduced = PLAN_NO_STEP, everywhere;

	if (mine > 0)
		reduced = device_reduce_part(in, plan, n, s->scratch, off + block_off(len, n, s->unit, in->me), mine,
		                             plan_slot(in->me, 0), s->taken);
	plan_publish(plan, phase, &reduced, 1, "reduced");
	everywhere = plan_await(plan, PLAN_ALL, phase, &s->taken, 1, "reduced by all");
	if (in->collective == COLLECTIVE_ALLREDUCE || in->me == in->root)
		gather(in, plan, s->unit, off, len, everywhere);
}

choir_status reduce_device(const struct algo_in *in, struct plan *plan)
{
	uint64_t n = (uint64_t)in->layout->n, unit = block_unit(in->elem_bytes);
	uint64_t parts = device_parts(in) + 1, each = in->device_bytes / (parts * unit) * unit;
	struct chunks chunks = chunks_of(in->bytes, n * each, unit);
	struct slices s = { .unit = unit, .taken = PLAN_NO_STEP };
	uint32_t phase = 1;

	if (in->bytes == 0)
		return plan_finish(plan);
	plan_limit(plan, "phase", 2 * chunks.n, PLAN_LAST_PHASE);
	plan->slot_bytes = block_max(chunks.each, in->layout->n, unit);
	s.scratch = plan_scratch(plan, device_parts(in) * plan->slot_bytes);
	for (uint64_t k = 0; k < chunks.n; k++, phase += 2) {
		plan_id from = plan->n_steps;

		add_chunk(in, plan, &s, chunk_off(chunks, k), chunk_len(chunks, k), phase);
		if (k + 1 == chunks.n)
			break;
		need_range(plan, from, plan->n_steps);
		plan_publish(plan, phase + 1, NULL, 0, "copied");
		s.taken = plan_await(plan, PLAN_ALL, phase + 1, NULL, 0, "copied by all");
	}
	return device_end(plan, phase + 1);
}
