/* SPDX-License-Identifier: MIT */
#include "algo/packed.h"

#include "algo/exchange.h"

/* The longest chunk: of whole units if one fits, else of whole elements. */
static uint64_t chunk_limit(const struct algo_in *in, int n_message)
{
	uint64_t unit = block_unit(in->elem_bytes), each = in->message_bytes / (uint64_t)n_message;

	return round_down(each, each >= unit ? unit : in->elem_bytes);
}

const char *packed_unfit(const struct algo_in *in, int n_message)
{
	return chunk_limit(in, n_message) > 0 ? NULL : "needs longer messages for so many ranks";
}

void packed_init(struct packed *packed, const struct algo_in *in, struct plan *plan, int n_message, int n_area)
{
	uint64_t limit = chunk_limit(in, n_message), unit = block_unit(in->elem_bytes);

	*packed = (struct packed){ .in = in,
		                   .plan = plan,
		                   .chunks = chunks_of(in->bytes, limit, limit < unit ? in->elem_bytes : unit) };
	for (int i = 0; i < PACKED_AREAS; i++)
		packed->done[i] = PLAN_NO_STEP;
	if (packed->chunks.n == 0)
		return;
	packed->area_bytes = round_up((uint64_t)n_area * packed->chunks.each, 64);
	packed->base = plan_scratch(plan, min_u64(packed->chunks.n, PACKED_AREAS) * packed->area_bytes);
}

struct plan_ref packed_area(const struct packed *packed, uint64_t k)
{
	return plan_at(PLAN_SCRATCH, packed->base + k % PACKED_AREAS * packed->area_bytes);
}

uint64_t packed_len(const struct packed *packed, uint64_t k)
{
	return chunk_len(packed->chunks, k);
}

/* One copy if the chunk is the whole block, else one copy for each block. */
static plan_id copy_blocks(const struct packed *packed, uint64_t k, struct plan_ref ref, enum plan_buf buf, int first,
                           int n, plan_id last)
{
	uint64_t bytes = packed->in->bytes, len = packed_len(packed, k), off = chunk_off(packed->chunks, k);
	int at_once = packed->chunks.n == 1 ? n : 1;

	for (int i = 0; i < n; i += at_once) {
		struct plan_ref there = plan_at(buf, (uint64_t)(first + i) * bytes + off),
				here = ref_plus(ref, (uint64_t)i * len);

		last = buf == PLAN_SEND
		           ? plan_copy(packed->plan, here, there, (uint64_t)at_once * len, &last, 1, "pack")
		           : plan_copy(packed->plan, there, here, (uint64_t)at_once * len, &last, 1, "unpack");
	}
	return last;
}

plan_id packed_in(const struct packed *packed, uint64_t k, struct plan_ref ref, int first, int n, plan_id after)
{
	return copy_blocks(packed, k, ref, PLAN_SEND, first, n, after);
}

plan_id packed_out(const struct packed *packed, uint64_t k, struct plan_ref ref, int first, int n, plan_id after)
{
	return copy_blocks(packed, k, ref, PLAN_RECV, first, n, after);
}
