/* SPDX-License-Identifier: MIT */
/* --vs mpi: what a program whose data lies in host memory would call. */
#include "contender.h"

#include "bench/data/check.h"
#include "mpi_kit.h"
#include "bench/data/touch.h"
#include "bench/ranks/world.h"

#include <stdlib.h>

struct vs_mpi {
	struct contender base;
	const struct job *job;
	struct collective_mpi mpi;
	char *send, *recv; /* in place: send is NULL */
};

static int once(struct contender *self)
{
	struct vs_mpi *vs = (struct vs_mpi *)self;

	return mpi_kit_run(vs->job, &vs->mpi, vs->send == NULL ? MPI_IN_PLACE : vs->send, vs->recv);
}

static void touch(struct contender *self)
{
	struct vs_mpi *vs = (struct vs_mpi *)self;
	const struct job *job = vs->job;

	if (vs->send != NULL)
		touch_written(vs->send, job->layout.send_count * job->elem_bytes);
	else
		touch_written(vs->recv + job->layout.send_at * job->elem_bytes,
		              job->layout.send_count * job->elem_bytes);
	touch_read(vs->recv, job->layout.recv_count * job->elem_bytes);
}

static int fill(struct contender *self)
{
	struct vs_mpi *vs = (struct vs_mpi *)self;

	check_input(vs->job, vs->send != NULL ? vs->send : vs->recv + vs->job->layout.send_at * vs->job->elem_bytes);
	return EXIT_FINE;
}

static int verify(struct contender *self, uint64_t *wrong_p)
{
	struct vs_mpi *vs = (struct vs_mpi *)self;

	/* MPI's in-place results do not all lie where ours do. */
	*wrong_p = vs->send == NULL ? 0 : check_output(vs->job, vs->recv);
	return EXIT_FINE;
}

static void close_mpi(struct contender *self)
{
	struct vs_mpi *vs = (struct vs_mpi *)self;

	free(vs->send);
	free(vs->recv);
	free(vs);
}

static struct contender *open_mpi(const struct job *job)
{
	struct vs_mpi *vs = calloc(1, sizeof *vs);
	size_t larger =
	    job->layout.send_count > job->layout.recv_count ? job->layout.send_count : job->layout.recv_count;

	if (vs == NULL)
		return NULL;
	mpi_kit_open(job, &vs->mpi);
	vs->job = job;
	vs->base = (struct contender){ .name = "mpi",
		                       .calls = 1,
		                       .once = once,
		                       .fill = fill,
		                       .verify = verify,
		                       .close = close_mpi,
		                       .touch = job->args->fresh ? touch : NULL };
	vs->send = job->in_place ? NULL : memory_host(job->layout.send_count * job->elem_bytes + 1);
	vs->recv = memory_host((job->in_place ? larger : job->layout.recv_count) * job->elem_bytes + 1);
	if (vs->recv != NULL && (job->in_place || vs->send != NULL))
		return &vs->base;
	close_mpi(&vs->base);
	return NULL;
}

static const char *unfit(const struct job *job)
{
	struct collective_mpi mpi;

	return mpi_kit_open(job, &mpi);
}

const struct vs_way vs_mpi = {
	.name = "mpi", .about = "the MPI collective on host arrays", .unfit = unfit, .open = open_mpi
};
