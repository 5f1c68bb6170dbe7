/* SPDX-License-Identifier: MIT */
/* The commands of a call on the internal queue, until their end: buffers, copies of host memory, and waiting. */
#include "topk/run.h"

#include <stdlib.h>
#include <string.h>

struct far_upload {
	struct far_upload *next;
	struct pool_block block; /* what the device copies from */
	cl_mem mem;
};

static choir_status wait_end(struct topk_run *run, struct script_turn *turn)
{
	struct topk_far *far = &run->far;
	bool done;

	TRY(dev_poll(far->end, &done));
	if (done) {
		TRY(dev_wait(&far->end));
		far->busy = far->waits = false;
		run->step = far->then;
		return CHOIR_SUCCESS;
	}
	turn->what = SCRIPT_AGAIN;
	if (far->watched)
		return CHOIR_SUCCESS;
	far->watched = true;
	return dev_watch(far->end, run->env.wake, NULL);
}

choir_status far_wait(struct topk_run *run, topk_step then)
{
	if (!run->far.busy) {
		run->step = then;
		return CHOIR_SUCCESS;
	}
	run->far.then = then;
	run->far.watched = false;
	run->far.waits = true;
	run->step = wait_end;
	return dev_marker(dev_queue(run->env.device), &run->far.end);
}

/* NULL: there is no memory. */
static struct far_upload *add_upload(struct topk_run *run)
{
	struct far_upload *upload = calloc(1, sizeof *upload);

	if (upload == NULL) {
		(void)error_no_memory("a buffer of a top-k call", sizeof *upload);
		return NULL;
	}
	upload->next = run->far.uploads;
	run->far.uploads = upload;
	return upload;
}

choir_status far_buffer(struct topk_run *run, uint64_t bytes, cl_mem *mem_p)
{
	struct far_upload *upload = add_upload(run);

	if (upload == NULL)
		return CHOIR_NO_MEMORY;
	TRY(dev_buffer_create(run->env.device, bytes, &upload->mem));
	*mem_p = upload->mem;
	return CHOIR_SUCCESS;
}

choir_status far_upload(struct topk_run *run, const void *from, uint64_t bytes, cl_mem *mem_p)
{
	struct far_upload *upload = add_upload(run);
	struct dev_access access;

	if (upload == NULL)
		return CHOIR_NO_MEMORY;
	TRY(pool_take(&upload->block, bytes, "what goes to the device"));
	memcpy(upload->block.ptr, from, bytes);
	TRY(dev_buffer_create(run->env.device, bytes, &upload->mem));
	access = dev_buffer_access(upload->mem, 0, bytes);
	run->far.busy = true;
	*mem_p = upload->mem;
	return dev_write(run->env.device, &access, 0, upload->block.ptr, bytes, NULL);
}

/* Waits for all enqueued commands, before their memory is freed. */
static void wait_for_all(struct topk_run *run)
{
	struct topk_far *far = &run->far;

	if (far->busy && far->end == NULL)
		if (dev_marker(dev_queue(run->env.device), &far->end) != CHOIR_SUCCESS)
			dev_drain(run->env.device);
	(void)dev_wait(&far->end);
	far->busy = false;
}

void far_fini(struct topk_run *run)
{
	struct topk_far *far = &run->far;

	select_job_destroy(far->select);
	mean_std_job_destroy(far->mean_std);
	far_merge_fini(run);
	wait_for_all(run);
	scratch_give(&far->sum_ind);
	scratch_give(&far->sum_val);
	pool_give(&far->found);
	while (far->uploads != NULL) {
		struct far_upload *gone = far->uploads;

		far->uploads = gone->next;
		pool_give(&gone->block);
		dev_buffer_free(gone->mem);
		free(gone);
	}
}
