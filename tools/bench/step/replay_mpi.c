/* SPDX-License-Identifier: MIT */
/* What a careful user writes today.  All kernels are enqueued ahead, each followed by the read of what it made into
 * pinned memory; the host calls MPI for one item after another, either as soon as its read is done, while the device
 * works on the next, or when the device has finished; the results are written back behind. */
#include "replay.h"

#include "bench/ways/mpi_kit.h"
#include "bench/ways/pinned.h"

#include <stdlib.h>

struct hand_item {
	struct collective_mpi mpi;
	struct pinned send, recv; /* unused where the data lies in host memory */
	cl_event ready;
};

struct by_mpi {
	struct contender base;
	struct replay *replay;
	struct hand_item *items;
	bool beside;
};

static bool in_mem(const struct replay_item *item)
{
	return memory_has_mem(item->job.args->memory);
}

static cl_int enqueue_ready(struct by_mpi *by, int i)
{
	struct replay_item *item = &by->replay->items[i];
	struct hand_item *hand = &by->items[i];
	cl_command_queue queue = by->replay->compute->queue;

	if (!in_mem(item) || item->job.layout.send_count == 0)
		return clEnqueueMarkerWithWaitList(queue, 0, NULL, &hand->ready);
	return clEnqueueReadBuffer(queue, item->send.base, CL_FALSE, item->send.offset_bytes,
	                           item->job.layout.send_count * item->job.elem_bytes, hand->send.host, 0, NULL,
	                           &hand->ready);
}

static int collect(struct by_mpi *by, int i)
{
	struct replay_item *item = &by->replay->items[i];
	struct hand_item *hand = &by->items[i];
	const struct job *job = &item->job;
	char *send = hand->send.host, *recv = hand->recv.host;

	if (!in_mem(item)) {
		send = (char *)item->send.base + item->send.offset_bytes;
		recv = (char *)item->recv.base + item->recv.offset_bytes;
	}
	if (mpi_kit_run(job, &hand->mpi, job->in_place ? MPI_IN_PLACE : send,
	                job->in_place && in_mem(item) ? send : recv) != EXIT_FINE)
		return EXIT_WRONG;
	if (!in_mem(item) || !collective_has_output(&job->shape, job->rank))
		return EXIT_FINE;
	return clEnqueueWriteBuffer(by->replay->compute->queue, item->recv.base, CL_FALSE, item->recv.offset_bytes,
	                            job->layout.recv_count * job->elem_bytes, job->in_place ? send : recv, 0, NULL,
	                            NULL) == CL_SUCCESS
	           ? EXIT_FINE
	           : EXIT_WRONG;
}

static int once(struct contender *self)
{
	struct by_mpi *by = (struct by_mpi *)self;
	struct replay *replay = by->replay;
	cl_command_queue queue = replay->compute->queue;
	int status = EXIT_FINE, readied = 0;

	for (; readied < replay->n && status == EXIT_FINE; readied++) {
		status = replay_enqueue(replay, readied);
		if (status == EXIT_FINE && enqueue_ready(by, readied) != CL_SUCCESS)
			return EXIT_WRONG;
	}
	if (status == EXIT_FINE)
		status = replay_enqueue(replay, replay->n);
	clFlush(queue);
	if (!by->beside)
		clFinish(queue);
	for (int i = 0; i < readied; i++) {
		if (clWaitForEvents(1, &by->items[i].ready) != CL_SUCCESS)
			status = EXIT_WRONG;
		clReleaseEvent(by->items[i].ready);
		if (status == EXIT_FINE)
			status = collect(by, i);
	}
	return clFinish(queue) == CL_SUCCESS ? status : EXIT_WRONG;
}

static void use(struct contender *self, int manner)
{
	((struct by_mpi *)self)->beside = manner == 1;
}

static int fill(struct contender *self)
{
	return replay_fill(((struct by_mpi *)self)->replay);
}

static int verify(struct contender *self, uint64_t *wrong_p)
{
	return replay_verify(((struct by_mpi *)self)->replay, wrong_p);
}

static void close_mpi(struct contender *self)
{
	struct by_mpi *by = (struct by_mpi *)self;

	for (int i = 0; by->items != NULL && i < by->replay->n; i++) {
		pinned_fini(&by->items[i].send);
		pinned_fini(&by->items[i].recv);
	}
	clFinish(by->replay->compute->queue);
	free(by->items);
	free(by);
}

static bool make_room(struct by_mpi *by)
{
	cl_command_queue queue = by->replay->compute->queue;
	cl_context context = choir_device_context(by->replay->items->job.device);

	by->items = calloc((size_t)by->replay->n, sizeof *by->items);
	for (int i = 0; by->items != NULL && i < by->replay->n; i++) {
		const struct job *job = &by->replay->items[i].job;
		size_t larger =
		    job->layout.send_count > job->layout.recv_count ? job->layout.send_count : job->layout.recv_count;
		struct hand_item *hand = &by->items[i];

		mpi_kit_open(job, &hand->mpi);
		if (!in_mem(&by->replay->items[i]))
			continue;
		if (!pinned_init(&hand->send, context, queue,
		                 (job->in_place ? larger : job->layout.send_count) * job->elem_bytes + 1) ||
		    (!job->in_place &&
		     !pinned_init(&hand->recv, context, queue, job->layout.recv_count * job->elem_bytes + 1)))
			return false;
	}
	return by->items != NULL;
}

static const char *unfit(const struct replay *replay)
{
	struct collective_mpi mpi;
	const char *why = NULL;

	for (int i = 0; i < replay->n && why == NULL; i++) {
		const struct job *job = &replay->items[i].job;

		why = mpi_kit_open(job, &mpi);
		if (why == NULL && job->in_place &&
		    (job->layout.send_at > 0 || job->layout.recv_at > 0 ||
		     job->layout.send_count != job->layout.recv_count))
			why = "MPI's in-place form leaves the result elsewhere";
	}
	return why;
}

struct contender *replay_by_mpi(struct replay *replay, const char **why_not)
{
	struct by_mpi *by;

	*why_not = unfit(replay);
	if (*why_not != NULL)
		return NULL;
	*why_not = "no memory";
	by = calloc(1, sizeof *by);
	if (by == NULL)
		return NULL;
	by->replay = replay;
	by->base = (struct contender){ .name = "mpi",
		                       .calls = 1,
		                       .once = once,
		                       .fill = fill,
		                       .verify = verify,
		                       .close = close_mpi,
		                       .n_manners = 2,
		                       .use = use };
	if (make_room(by))
		return &by->base;
	close_mpi(&by->base);
	return NULL;
}
