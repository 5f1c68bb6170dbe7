/* SPDX-License-Identifier: MIT */
/* --vs staged: what a careful user of OpenCL and MPI writes today.  The data lies in a cl_mem; it is read into pinned
 * host memory, MPI does the collective there, and the result is written back.  Where the collective can be cut anywhere
 * it is also tried in two halves, reading the second and writing the first behind MPI's back, and the faster of the two
 * is what choir is compared with. */
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include "contender.h"

#include "bench/data/check.h"
#include "mpi_kit.h"
#include "pinned.h"
#include "bench/ranks/world.h"

#include <stdlib.h>

enum { HALVES_FROM_BYTES = 65536 };

struct vs_staged {
	struct contender base;
	const struct job *job;
	struct collective_mpi mpi;
	struct check_buffers buffers;
	cl_command_queue queue;
	struct pinned send, recv;
	bool reads, writes, halves;
};

static size_t bytes_of(const struct vs_staged *vs, size_t elements)
{
	return elements * vs->job->elem_bytes;
}

static cl_int start_read(struct vs_staged *vs, bool wait, size_t at, size_t count, cl_event *event_p)
{
	choir_buffer from = check_send(&vs->buffers, vs->job);

	return clEnqueueReadBuffer(vs->queue, from.base, wait, from.offset_bytes + bytes_of(vs, at),
	                           bytes_of(vs, count), vs->send.host + bytes_of(vs, at), 0, NULL, event_p);
}

static cl_int start_write(struct vs_staged *vs, size_t at, size_t count)
{
	choir_buffer to = check_recv(&vs->buffers, vs->job);

	return clEnqueueWriteBuffer(vs->queue, to.base, CL_FALSE, to.offset_bytes + bytes_of(vs, at),
	                            bytes_of(vs, count), vs->recv.host + bytes_of(vs, at), 0, NULL, NULL);
}

static int whole(struct vs_staged *vs)
{
	if (vs->reads && start_read(vs, true, 0, vs->job->layout.send_count, NULL) != CL_SUCCESS)
		return EXIT_WRONG;
	if (mpi_kit_run(vs->job, &vs->mpi, vs->send.host, vs->recv.host) != EXIT_FINE)
		return EXIT_WRONG;
	/* A blocking write may return before the bytes are there; only the finish tells. */
	if (vs->writes &&
	    (start_write(vs, 0, vs->job->layout.recv_count) != CL_SUCCESS || clFinish(vs->queue) != CL_SUCCESS))
		return EXIT_WRONG;
	return EXIT_FINE;
}

static int half(struct vs_staged *vs, size_t at, size_t count, cl_event *read)
{
	struct collective_layout part = { .count = count };
	struct collective_mpi mpi = vs->mpi;
	cl_int rc = CL_SUCCESS;

	mpi.layout = &part;
	if (vs->reads) {
		rc = clWaitForEvents(1, read);
		clReleaseEvent(*read);
	}
	if (rc != CL_SUCCESS ||
	    mpi_kit_run(vs->job, &mpi, vs->send.host + bytes_of(vs, at), vs->recv.host + bytes_of(vs, at)) != EXIT_FINE)
		return EXIT_WRONG;
	if (vs->writes && (start_write(vs, at, count) != CL_SUCCESS || clFlush(vs->queue) != CL_SUCCESS))
		return EXIT_WRONG;
	return EXIT_FINE;
}

static int halves(struct vs_staged *vs)
{
	size_t all = vs->job->layout.count, first = all / 2;
	cl_event read[2];

	if (vs->reads &&
	    (start_read(vs, false, 0, first, &read[0]) != CL_SUCCESS ||
	     start_read(vs, false, first, all - first, &read[1]) != CL_SUCCESS || clFlush(vs->queue) != CL_SUCCESS))
		return EXIT_WRONG;
	if (half(vs, 0, first, &read[0]) != EXIT_FINE || half(vs, first, all - first, &read[1]) != EXIT_FINE)
		return EXIT_WRONG;
	return clFinish(vs->queue) == CL_SUCCESS ? EXIT_FINE : EXIT_WRONG;
}

static int once(struct contender *self)
{
	struct vs_staged *vs = (struct vs_staged *)self;

	return vs->halves ? halves(vs) : whole(vs);
}

static void use(struct contender *self, int manner)
{
	((struct vs_staged *)self)->halves = manner == 1;
}

static int fill(struct contender *self)
{
	struct vs_staged *vs = (struct vs_staged *)self;

	return check_fill(&vs->buffers, vs->job) ? EXIT_FINE : EXIT_WRONG;
}

static int verify(struct contender *self, uint64_t *wrong_p)
{
	struct vs_staged *vs = (struct vs_staged *)self;

	return check_count(&vs->buffers, vs->job, wrong_p) ? EXIT_FINE : EXIT_WRONG;
}

static void close_staged(struct contender *self)
{
	struct vs_staged *vs = (struct vs_staged *)self;

	if (vs->queue != NULL) {
		pinned_fini(&vs->recv);
		pinned_fini(&vs->send);
		clFinish(vs->queue);
		clReleaseCommandQueue(vs->queue);
	}
	check_fini(&vs->buffers);
	free(vs);
}

static bool set_up(struct vs_staged *vs)
{
	const struct job *job = vs->job;
	cl_context context = choir_device_context(job->device);
	cl_int rc;

	vs->queue = clCreateCommandQueue(context, choir_device_id(job->device), 0, &rc);
	return rc == CL_SUCCESS && check_init(&vs->buffers, job) &&
	       pinned_init(&vs->send, context, vs->queue, bytes_of(vs, job->layout.send_count) + 1) &&
	       pinned_init(&vs->recv, context, vs->queue, bytes_of(vs, job->layout.recv_count) + 1) &&
	       check_fill(&vs->buffers, job);
}

static struct contender *open_staged(const struct job *job)
{
	struct vs_staged *vs = calloc(1, sizeof *vs);
	bool could_halve = job_by_elements(job) && job->bytes >= HALVES_FROM_BYTES;

	if (vs == NULL)
		return NULL;
	mpi_kit_open(job, &vs->mpi);
	vs->job = job;
	vs->base = (struct contender){ .name = "staged",
		                       .calls = 1,
		                       .once = once,
		                       .fill = fill,
		                       .verify = verify,
		                       .close = close_staged,
		                       .n_manners = could_halve ? 2 : 1,
		                       .use = use };
	vs->writes = job->layout.recv_count > 0;
	vs->reads = job->layout.send_count > 0;
	if (set_up(vs))
		return &vs->base;
	close_staged(&vs->base);
	return NULL;
}

static const char *unfit(const struct job *job)
{
	struct collective_mpi mpi;

	if (!memory_has_mem(job->args->memory) || job->bytes == 0)
		return "nothing lies in a cl_mem";
	return mpi_kit_open(job, &mpi);
}

const struct vs_way vs_staged = {
	.name = "staged", .about = "read the cl_mem, MPI, write it back", .unfit = unfit, .open = open_staged
};
