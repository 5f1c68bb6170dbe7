/* SPDX-License-Identifier: MIT */
/* --vs bound: the least that shared memory must do for a collective.  Inputs and outputs of all ranks lie in one
 * mapping; a rank waits for everyone's flag, does its part in one pass, and waits for everyone's second flag.  No
 * library, no copies in or out.  What the parts are follows from the spans of the case (cases.h):
 *
 * own     each rank makes its own output, out of everybody's inputs;
 * shared  where all outputs are the same: each rank makes its slice of it and writes that to all who get it.
 *
 * Both are tried, each with plain and with nt stores; the fastest is the bound. */
#include "contender.h"

#include "bound_flags.h"
#include "bound_loops.h"
#include "bench/cases/job.h"
#include "bench/data/check.h"
#include "bench/data/touch.h"
#include "bench/ranks/world.h"

#include <stdlib.h>
#include <string.h>

enum { PAGE = 4096, MANNERS = 4 };

struct vs_bound {
	struct contender base;
	const struct job *job;
	void *shared;
	size_t shared_bytes;
	struct bound_flags flags;
	char **in, **out; /* [n] of each rank */
	/* Of the manner in use: */
	bool nt;
	int *getters;       /* [n_getters] ranks whose outputs I write */
	struct span *parts; /* [n_parts] what I write there; at most n, and the end mark behind */
	int n_getters, n_parts;
	char **to; /* [n] of the part at hand */
	const char **from;
};

static void make(struct vs_bound *vs, const struct span *part)
{
	const struct job *job = vs->job;
	size_t elem = job->elem_bytes;

	for (int i = 0; i < vs->n_getters; i++)
		vs->to[i] = vs->out[vs->getters[i]] + part->at * elem;
	for (int r = 0; r < job->n; r++)
		vs->from[r] = vs->in[r] + part->from * elem;
	if (part->rank == SPAN_ZEROS)
		memset(vs->to[0], 0, part->count * elem);
	else if (part->rank == SPAN_REDUCED)
		bound_sum((float *const *)vs->to, vs->n_getters, (const float *const *)vs->from, part->ranks,
		          part->count, vs->nt);
	else
		bound_copy(vs->to, vs->n_getters, vs->from[part->rank], part->count * elem, vs->nt);
}

static int once(struct contender *self)
{
	struct vs_bound *vs = (struct vs_bound *)self;

	bound_flags_meet(&vs->flags);
	for (int k = 0; k < vs->n_parts; k++)
		make(vs, &vs->parts[k]);
	if (vs->job->what->kind != SPREAD_NOTHING)
		bound_flags_meet(&vs->flags);
	return EXIT_FINE;
}

/* My slice of a span: whole lines, but for the last rank's. */
static void cut(const struct job *job, struct span *span)
{
	size_t line = BOUND_LINE / job->elem_bytes, lines = (span->count + line - 1) / line, ranks = (size_t)job->n,
	       me = (size_t)job->rank;
	size_t begin = lines * me / ranks * line, end = lines * (me + 1) / ranks * line;

	begin = begin < span->count ? begin : span->count;
	end = end < span->count ? end : span->count;
	span->at += begin;
	span->from += begin;
	span->count = end - begin;
}

static void use(struct contender *self, int manner)
{
	struct vs_bound *vs = (struct vs_bound *)self;
	bool shares = manner >= 2;

	vs->nt = manner % 2 == 1;
	vs->n_getters = vs->n_parts = 0;
	for (int r = 0; r < vs->job->n; r++)
		if (collective_has_output(&vs->job->shape, r) && (shares || r == vs->job->rank))
			vs->getters[vs->n_getters++] = r;
	if (vs->n_getters == 0)
		return;
	while (collective_span(&vs->job->shape, vs->getters[0], vs->n_parts, &vs->parts[vs->n_parts])) {
		if (shares)
			cut(vs->job, &vs->parts[vs->n_parts]);
		vs->n_parts++;
	}
}

static void touch(struct contender *self)
{
	struct vs_bound *vs = (struct vs_bound *)self;
	const struct job *job = vs->job;

	touch_written(vs->in[job->rank], job->layout.send_count * job->elem_bytes);
	touch_read(vs->out[job->rank], job->layout.recv_count * job->elem_bytes);
}

static int fill(struct contender *self)
{
	struct vs_bound *vs = (struct vs_bound *)self;
	const struct job *job = vs->job;

	check_input(job, vs->in[job->rank]);
	memset(vs->out[job->rank], CHECK_SENTINEL, job->layout.recv_count * job->elem_bytes);
	return EXIT_FINE;
}

static int verify(struct contender *self, uint64_t *wrong_p)
{
	struct vs_bound *vs = (struct vs_bound *)self;

	*wrong_p = check_output(vs->job, vs->out[vs->job->rank]);
	return EXIT_FINE;
}

static void close_bound(struct contender *self)
{
	struct vs_bound *vs = (struct vs_bound *)self;

	world_unshare(vs->job->world, vs->shared, vs->shared_bytes);
	free(vs->in);
	free(vs->out);
	free(vs->getters);
	free(vs->parts);
	free(vs->to);
	free(vs->from);
	free(vs);
}

static size_t pages(size_t bytes)
{
	return (bytes + PAGE - 1) / PAGE * PAGE;
}

/* Mapping: flags | inputs | outputs, each on pages of its own.  false on all ranks or on none. */
static bool lay_out(struct vs_bound *vs)
{
	const struct job *job = vs->job;
	size_t n = (size_t)job->n, flags = pages(n * sizeof(struct bound_flag)), in, out;
	double largest[2] = { (double)(job->layout.send_count * job->elem_bytes),
		              (double)(job->layout.recv_count * job->elem_bytes) };

	world_max(job->world, largest, 2);
	in = pages((size_t)largest[0]);
	out = pages((size_t)largest[1]);
	vs->shared_bytes = flags + n * (in + out);
	vs->shared = world_share(job->world, vs->shared_bytes);
	if (vs->shared == NULL)
		return false;
	vs->flags = (struct bound_flags){ .flag = vs->shared, .rank = job->rank, .n = job->n };
	for (size_t r = 0; r < n; r++) {
		vs->in[r] = (char *)vs->shared + flags + r * in;
		vs->out[r] = (char *)vs->shared + flags + n * in + r * out;
	}
	return true;
}

static struct contender *open_bound(const struct job *job)
{
	struct vs_bound *vs = calloc(1, sizeof *vs);
	size_t n = (size_t)job->n;

	if (vs == NULL)
		world_fail(job->world, EXIT_WRONG);
	vs->job = job;
	vs->base = (struct contender){ .name = "bound",
		                       .calls = 1,
		                       .once = once,
		                       .fill = fill,
		                       .verify = verify,
		                       .close = close_bound,
		                       .n_manners = collective_same_output(job->what) ? MANNERS : MANNERS / 2,
		                       .use = use,
		                       .touch = job->args->fresh ? touch : NULL };
	vs->in = calloc(n, sizeof *vs->in);
	vs->out = calloc(n, sizeof *vs->out);
	vs->getters = calloc(n, sizeof *vs->getters);
	vs->parts = calloc(n + 1, sizeof *vs->parts);
	vs->to = calloc(n, sizeof *vs->to);
	vs->from = calloc(n, sizeof *vs->from);
	if (vs->in == NULL || vs->out == NULL || vs->getters == NULL || vs->parts == NULL || vs->to == NULL ||
	    vs->from == NULL)
		world_fail(job->world, EXIT_WRONG);
	if (!lay_out(vs)) {
		close_bound(&vs->base);
		return NULL;
	}
	fill(&vs->base);
	use(&vs->base, 0);
	return &vs->base;
}

static const char *unfit(const struct job *job)
{
	if (!job->world->one_node)
		return "the bare loop is for ranks of one node";
	if (job->what->reduces && (job->op != CHOIR_OP_SUM || job->dtype != CHOIR_F32))
		return "the bare loop reduces f32 sums only";
	return NULL;
}

const struct vs_way vs_bound = {
	.name = "bound", .about = "the bare shared-memory loop", .unfit = unfit, .open = open_bound
};
