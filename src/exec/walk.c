/* SPDX-License-Identifier: MIT */
#include "exec/walk.h"

#include "exec/relax.h"
#include "exec/run_admit.h"
#include "exec/steps.h"

enum { WAIT_ROUNDS = 500 };

static bool is_host_step(const struct run *run, const struct plan_step *step)
{
	switch (step->kind) {
	case PLAN_COPY:
	case PLAN_PUBLISH:
	case PLAN_AWAIT:
		return step->len < STORES_BYTES;
	case PLAN_REDUCE:
		return step->len < STORES_BYTES && !comm_by_kernels(run->comm);
	default:
		return false;
	}
}

bool walk_fits(const struct run *run)
{
	const struct plan *plan = run->plan;
	bool fits = run->in.bytes < STORES_BYTES && run->send.direct && run->recv.direct && run->lists == NULL && !plan->peers && run->disagree == NULL;

	for (uint32_t i = 0; i < plan->n_steps && fits; i++)
		fits = is_host_step(run, &plan->steps[i]);
	return fits;
}

/* True once the step is done, or soon after. */
static bool take_step(struct run *run, uint32_t id)
{
	int rounds = run->comm->crowded ? 1 : WAIT_ROUNDS;
	bool done = false;

	for (int i = 0; i < rounds; i++) {
		if (steps_try(run, id, &done) != CHOIR_SUCCESS || done)
			break;
		if (run->unsaid)
			run_say(run);
		relax();
	}
	return done;
}

void walk(struct run *run)
{
	uint32_t n = run->plan->n_steps, i = 0;
	bool moved = false;

	run->state = RUN_ADMIT;
	if (run_admit(run, &moved) != CHOIR_SUCCESS || !moved)
		return;
	while (i < n && take_step(run, i))
		i++;
	run->state = i < n ? RUN_STEPS : RUN_UNMAP;
	if (i < n)
		steps_resume(run, i);
	else
		(void)run_advance(run);
}
