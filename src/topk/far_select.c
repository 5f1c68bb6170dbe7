/* SPDX-License-Identifier: MIT */
/* Selections of acc on the device: a job leaves pairs in two buffers there, and those that are wanted are copied to a
 * list of the host. */
#include "topk/algorithm.h"

static choir_status wait_select(struct topk_run *run, struct script_turn *turn)
{
	struct topk_far *far = &run->far;
	bool done;

	TRY(select_job_poll(far->select, &run->found, &run->limit, &done));
	if (!done) {
		turn->what = SCRIPT_AGAIN;
		return select_job_watch(far->select, run->env.wake, NULL);
	}
	select_job_destroy(far->select);
	far->select = NULL;
	far->waits = false;
	run->step = far->selected;
	return CHOIR_SUCCESS;
}

static choir_status wait_mean_std(struct topk_run *run, struct script_turn *turn)
{
	struct topk_far *far = &run->far;
	bool done;

	TRY(mean_std_job_poll(far->mean_std, &run->mean_std, &done));
	if (!done) {
		turn->what = SCRIPT_AGAIN;
		return mean_std_job_watch(far->mean_std, run->env.wake, NULL);
	}
	mean_std_job_destroy(far->mean_std);
	far->mean_std = NULL;
	far->waits = false;
	run->step = far->fetched;
	return CHOIR_SUCCESS;
}

/* Elements [from, from + n) of acc. */
static struct select_source source_of(const struct topk_run *run, uint64_t from, uint64_t n)
{
	return (struct select_source){
		.mem = run->acc.far, .off = from * run->types.elem_bytes, .elem_bytes = run->types.elem_bytes, .n = n
	};
}

/* Where a job writes, `room` pairs at least; nothing else uses it, since the last job is over. */
static choir_status make_room(struct topk_run *run, uint64_t room, struct select_target *out)
{
	struct topk_far *far = &run->far;

	if (far->room < room) {
		far->room = 0;
		TRY(far_buffer(run, room * run->types.form.bytes, &far->ind));
		TRY(far_buffer(run, room * run->types.elem_bytes, &far->val));
		far->room = room;
	}
	*out = (struct select_target){
		.ind = far->ind, .val = far->val, .ind_bytes = run->types.form.bytes, .capacity = far->room
	};
	return CHOIR_SUCCESS;
}

static choir_status start_limit(struct topk_run *run, struct select_limit limit, const struct select_target *to,
                                topk_step then)
{
	struct select_source all = source_of(run, 0, run->types.n);

	run->far.selected = then;
	run->step = wait_select;
	run->far.waits = true;
	return select_job_limit(run->env.device, &all, limit, to, &run->far.select);
}

/* Positions of a part of the tensor become indices. */
static void add_start(const struct topk_run *run, struct topk_list *list, uint64_t n)
{
	for (uint64_t i = list->count; i < list->count + n; i++)
		if (run->types.form.bytes == 4)
			((int32_t *)list->ind.ptr)[i] += (int32_t)run->far.from;
		else
			((int64_t *)list->ind.ptr)[i] += (int64_t)run->far.from;
}

static choir_status fetched(struct topk_run *run, struct script_turn *turn)
{
	struct topk_list *list = run->far.into;

	(void)turn;
	if (run->far.from > 0)
		add_start(run, list, run->found);
	list->count += run->found;
	run->step = run->far.fetched;
	return CHOIR_SUCCESS;
}

/* All run->found pairs, behind what the list has. */
static choir_status fetch(struct topk_run *run, struct script_turn *turn)
{
	struct topk_list *list = run->far.into;
	uint64_t ind_bytes = run->types.form.bytes, elem_bytes = run->types.elem_bytes, n = run->found;
	struct dev_access ind = dev_buffer_access(run->far.ind, 0, n * ind_bytes),
			  val = dev_buffer_access(run->far.val, 0, n * elem_bytes);

	(void)turn;
	run->step = run->far.fetched;
	if (n == 0)
		return CHOIR_SUCCESS;
	run->far.busy = true;
	TRY(dev_read(run->env.device, &ind, 0, (unsigned char *)list->ind.ptr + list->count * ind_bytes, ind.bytes,
	             NULL));
	TRY(dev_read(run->env.device, &val, 0, (unsigned char *)list->val.ptr + list->count * elem_bytes, val.bytes,
	             NULL));
	return far_wait(run, fetched);
}

choir_status far_find_top(struct topk_run *run, uint64_t from, uint64_t n, uint64_t k, topk_step then)
{
	struct select_source span = source_of(run, from, n);
	struct select_target to;

	if (k == 0) {
		run->step = then;
		return CHOIR_SUCCESS;
	}
	TRY(make_room(run, k, &to));
	run->far.into = &run->selected;
	run->far.from = from;
	run->far.selected = fetch;
	run->far.fetched = then;
	run->step = wait_select;
	run->far.waits = true;
	return select_job_top(run->env.device, &span, k, &to, &run->far.select);
}

static choir_status limit_selected(struct topk_run *run, struct script_turn *turn)
{
	struct select_target to;

	if (run->found > run->far.room) {
		TRY(make_room(run, run->found, &to));
		return start_limit(run, run->limit, &to, limit_selected);
	}
	TRY(list_take(&run->selected, &run->types, run->found));
	return fetch(run, turn);
}

choir_status far_find_limit(struct topk_run *run, struct select_limit limit, topk_step then)
{
	struct select_target to;

	run->far.into = &run->selected;
	run->far.from = 0;
	run->far.fetched = then;
	TRY(make_room(run, run->k, &to));
	return start_limit(run, limit, &to, limit_selected);
}

choir_status far_count(struct topk_run *run, struct select_limit limit, topk_step then)
{
	struct select_target nowhere = { .ind_bytes = run->types.form.bytes };

	return start_limit(run, limit, &nowhere, then);
}

static choir_status collected(struct topk_run *run, struct script_turn *turn)
{
	struct topk_candidates *candidates = &run->candidates;

	candidates->complete = run->found <= candidates->room;
	if (candidates->complete)
		return fetch(run, turn);
	run->step = run->far.fetched;
	return CHOIR_SUCCESS;
}

choir_status far_collect(struct topk_run *run, uint64_t least, uint64_t room, topk_step then)
{
	struct topk_candidates *candidates = &run->candidates;
	struct select_limit limit = { .key = least, .ties = UINT64_MAX };
	struct select_target to;

	candidates->least = least;
	candidates->room = room;
	TRY(list_take(&candidates->list, &run->types, room));
	run->far.into = &candidates->list;
	run->far.from = 0;
	run->far.fetched = then;
	TRY(make_room(run, room, &to));
	return start_limit(run, limit, &to, collected);
}

choir_status far_mean_std(struct topk_run *run, topk_step then)
{
	run->far.fetched = then;
	run->step = wait_mean_std;
	run->far.waits = true;
	return mean_std_job_create(run->env.device, run->types.work, run->acc.far, 0, run->types.n, &run->far.mean_std);
}
