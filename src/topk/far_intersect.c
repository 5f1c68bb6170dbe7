/* SPDX-License-Identifier: MIT */
/* Which of the rank's entries the result has, by a bitmap of the result's indices on the device. */
#include "topk/algorithm.h"

#include "sparse/dense.h"

enum { COMMANDS = 6 };

/* The host's time for an entry of either list. */
#define ENTRY_NS 2

static bool pays(const struct topk_run *run)
{
	uint64_t mine = run->selected.count, kept = run->kept.count;

	if (mine == 0 || kept == 0)
		return false;
	return far_kernels_pay(run, mine + kept, ENTRY_NS, COMMANDS, (mine + kept) * run->types.form.bytes + mine);
}

/* The entries that were found. */
static choir_status take_found(struct topk_run *run, struct script_turn *turn)
{
	const uint8_t *found = run->far.found.ptr;
	struct topk_list *out = &run->involved;
	uint32_t ind_bytes = run->types.form.bytes;

	(void)turn;
	TRY(list_take(out, &run->types, run->selected.count));
	for (uint64_t i = 0; i < run->selected.count; i++) {
		if (ind_bytes == 4)
			((int32_t *)out->ind.ptr)[out->count] = ((const int32_t *)run->selected.ind.ptr)[i];
		else
			((int64_t *)out->ind.ptr)[out->count] = ((const int64_t *)run->selected.ind.ptr)[i];
		out->count += found[i];
	}
	run->step = run->far.fetched;
	return CHOIR_SUCCESS;
}

choir_status far_intersect(struct topk_run *run, topk_step then)
{
	struct topk_far *far = &run->far;
	uint32_t ind_bytes = run->types.form.bytes;
	struct dense_list mine = { .form = run->types.form, .n = run->selected.count }, kept = mine;
	struct dense_bitmap bitmap = { .words = (run->types.n + 31) / 32 };
	struct dev_access access;
	cl_mem found;

	run->step = then;
	if (!pays(run))
		return list_intersect(&run->involved, &run->types, &run->selected, &run->kept);
	kept.n = run->kept.count;
	TRY(far_upload(run, run->selected.ind.ptr, mine.n * ind_bytes, &mine.ind));
	TRY(far_upload(run, run->kept.ind.ptr, kept.n * ind_bytes, &far->kept_ind));
	kept.ind = far->kept_ind;
	TRY(far_buffer(run, bitmap.words * 4, &bitmap.mem));
	TRY(far_buffer(run, mine.n, &found));
	TRY(dense_kernel_clear(run->env.device, &bitmap, NULL));
	TRY(dense_kernel_mark(run->env.device, &kept, &bitmap, NULL));
	TRY(dense_kernel_contains(run->env.device, &mine, &bitmap, found, NULL));
	TRY(pool_take(&far->found, mine.n, "which entries the result has"));
	access = dev_buffer_access(found, 0, mine.n);
	TRY(dev_read(run->env.device, &access, 0, far->found.ptr, mine.n, NULL));
	far->fetched = then;
	return far_wait(run, take_found);
}
