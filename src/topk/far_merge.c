/* SPDX-License-Identifier: MIT */
/* Lists that are added on the device: the pairs that came are copied there once, and kernels merge them.  The sum comes
 * back, since other ranks or the host go on with it; but a result of which only kernels write anything stays there. */
#include "topk/algorithm.h"

#include <stdlib.h>

enum { COMMANDS = 16 }; /* of a merge, and two more for each list */

/* The host's time for a pair where it adds two lists, and where it adds more. */
#define TWO_NS  2.5
#define MORE_NS 8

struct far_merge {
	struct coalesce job;
	struct coalesce_source *sources;
	struct topk_list *out;
	topk_step then;
};

bool far_kernels_pay(const struct topk_run *run, uint64_t pairs, double ns, uint64_t commands, uint64_t bytes)
{
	const choir_device *device = run->state->device;

	if (device == NULL || pairs == 0 || !coalesce_device_has_room(device, pairs, 1, run->types.work))
		return false;
	return dev_reduce_where(device) == CHOIR_REDUCE_KERNEL ||
	       (double)pairs * ns > dev_bus_ns(device, commands, bytes);
}

/* Do kernels alone write what the result is? */
static bool is_for_kernels(const struct topk_run *run, const struct topk_list *out)
{
	return out == &run->kept && run->algorithm->gathers && run->request.pairs_p == NULL &&
	       run->request.n_tensors == 1 && topk_dense(&run->request, 0)->by_kernel &&
	       (run->state->settings.op != CHOIR_OP_MEAN || dev_divides_exactly(run->state->device));
}

/* A sum that stays would go there anyway; another one comes back besides. */
bool far_merge_pays(const struct topk_run *run, const struct topk_list *out, uint64_t pairs, uint32_t n)
{
	uint64_t bytes = pairs * (run->types.form.bytes + run->types.elem_bytes);

	return far_kernels_pay(run, pairs, n > 2 ? MORE_NS : TWO_NS, COMMANDS + 2 * (uint64_t)n,
	                       is_for_kernels(run, out) ? 0 : 2 * bytes);
}

void far_merge_fini(struct topk_run *run)
{
	struct far_merge *merge = run->far.merge;

	if (merge == NULL)
		return;
	coalesce_fini(&merge->job);
	free(merge->sources);
	free(merge);
	run->far.merge = NULL;
}

static choir_status wait_fill(struct topk_run *run, struct script_turn *turn)
{
	struct far_merge *merge = run->far.merge;
	struct topk_list *out = merge->out;
	bool done, stays = is_for_kernels(run, out);

	if (stays)
		TRY(coalesce_fill_kept(&merge->job, run->types.form, &done));
	else
		TRY(coalesce_fill(&merge->job, out->ind.ptr, run->types.form, out->val.ptr, &done));
	if (!done) {
		turn->what = SCRIPT_AGAIN;
		return coalesce_watch(&merge->job, run->env.wake, NULL);
	}
	out->count = merge->job.count;
	run->step = merge->then;
	run->far.waits = false;
	if (stays) {
		coalesce_keep(&merge->job, &run->far.sum_ind, &run->far.sum_val);
		run->far.kept_ind = run->far.sum_ind.mem;
	}
	far_merge_fini(run);
	return CHOIR_SUCCESS;
}

static choir_status wait_count(struct topk_run *run, struct script_turn *turn)
{
	struct far_merge *merge = run->far.merge;
	bool done;

	TRY(coalesce_count(&merge->job, &done));
	if (!done) {
		turn->what = SCRIPT_AGAIN;
		return coalesce_watch(&merge->job, run->env.wake, NULL);
	}
	run->step = wait_fill;
	if (is_for_kernels(run, merge->out))
		return CHOIR_SUCCESS;
	return list_take(merge->out, &run->types, merge->job.count);
}

choir_status far_merge(struct topk_run *run, struct topk_list *out, const struct pairs *lists, uint32_t n,
                       topk_step then)
{
	struct coalesce_call call;
	struct far_merge *merge;
	uint64_t pairs = 0;
	uint32_t some = 0;

	for (uint32_t i = 0; i < n; i++) {
		pairs += lists[i].count;
		some += lists[i].count > 0;
	}
	run->step = then;
	if (some < 2 || !far_merge_pays(run, out, pairs, n))
		return list_merge(out, &run->types, lists, n);
	merge = run->far.merge = calloc(1, sizeof *merge);
	if (merge == NULL)
		return error_no_memory("a merge on the device", sizeof *merge);
	merge->sources = calloc(n, sizeof *merge->sources);
	if (merge->sources == NULL)
		return error_no_memory("a merge on the device", n * sizeof *merge->sources);
	merge->out = out;
	merge->then = then;
	list_merge_call(&call, merge->sources, &run->types, lists, n);
	call.form = run->types.form;
	TRY(coalesce_init(&merge->job, &call, run->state->device));
	run->far.waits = true;
	run->step = wait_count;
	return CHOIR_SUCCESS;
}
