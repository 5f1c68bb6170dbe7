/* SPDX-License-Identifier: MIT */
/* --vs bound: the least that a shared-memory allreduce of f32 sums must do.  Inputs and outputs of all ranks lie in one mapping; a rank waits
 * for everyone's flag, adds up its slice of all inputs, writes it to all outputs, and waits for everyone's second flag.  One pass, no library,
 * no copies in or out.  Plain and streaming stores are both tried; the faster is the bound. */
#include "contender.h"

#include "cases.h"
#include "check.h"
#include "clock.h"
#include "world.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#ifdef __SSE__
#include <xmmintrin.h>
#endif

enum { LINE = 64, LINE_FLOATS = 16, TRIALS = 4, BLOCK_FLOATS = 1024 };

struct flag {
	_Alignas(LINE) _Atomic uint32_t value;
};

struct vs_bound {
	struct contender base;
	const struct job *job;
	void *shared;
	size_t shared_bytes;
	struct flag *flags; /* [n] */
	float **in, **out;  /* [n] */
	size_t first, count; /* my slice */
	uint32_t generation;
	bool streams;
};

static void meet(struct vs_bound *vs)
{
	uint32_t mine = ++vs->generation;

	atomic_store_explicit(&vs->flags[vs->job->rank].value, mine, memory_order_release);
	for (int r = 0; r < vs->job->n; r++)
		for (unsigned spins = 0; (int32_t)(atomic_load_explicit(&vs->flags[r].value, memory_order_acquire) - mine) < 0; spins++)
			if (spins > 2000)
				sched_yield();
}

/* Two ranks, plain stores: one loop.  Cloned for wider vectors where the compiler and the C library can choose at load time. */
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && \
	!defined(__SANITIZE_THREAD__)
__attribute__((target_clones("avx512f", "avx2", "default")))
#endif
static void add_two(const float *restrict a, const float *restrict b, float *restrict x, float *restrict y, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		float sum = a[i] + b[i];

		x[i] = sum;
		y[i] = sum;
	}
}

/* n is a multiple of 4 and everything 16-byte aligned, or the plain loop does it. */
static void add_two_streaming(const float *a, const float *b, float *x, float *y, size_t n)
{
#ifdef __SSE__
	for (size_t i = 0; i < n; i += 4) {
		__m128 sum = _mm_add_ps(_mm_load_ps(a + i), _mm_load_ps(b + i));

		_mm_stream_ps(x + i, sum);
		_mm_stream_ps(y + i, sum);
	}
	_mm_sfence();
#else
	add_two(a, b, x, y, n);
#endif
}

/* Any number of ranks: a block at a time in the cache. */
static void add_many(struct vs_bound *vs)
{
	float sum[BLOCK_FLOATS];

	for (size_t at = vs->first; at < vs->first + vs->count; at += BLOCK_FLOATS) {
		size_t left = vs->first + vs->count - at, n = left < BLOCK_FLOATS ? left : BLOCK_FLOATS;

		memcpy(sum, vs->in[0] + at, n * sizeof *sum);
		for (int r = 1; r < vs->job->n; r++)
			for (size_t i = 0; i < n; i++)
				sum[i] += vs->in[r][at + i];
		for (int r = 0; r < vs->job->n; r++)
			memcpy(vs->out[r] + at, sum, n * sizeof *sum);
	}
}

static int once(struct contender *self)
{
	struct vs_bound *vs = (struct vs_bound *)self;
	size_t at = vs->first, padded = (vs->count + 3) / 4 * 4;

	meet(vs);
	if (vs->job->n != 2)
		add_many(vs);
	else if (vs->streams)
		add_two_streaming(vs->in[0] + at, vs->in[1] + at, vs->out[0] + at, vs->out[1] + at, padded);
	else
		add_two(vs->in[0] + at, vs->in[1] + at, vs->out[0] + at, vs->out[1] + at, vs->count);
	meet(vs);
	return EXIT_FINE;
}

static int fill(struct contender *self)
{
	struct vs_bound *vs = (struct vs_bound *)self;

	check_input(vs->job, vs->in[vs->job->rank]);
	memset(vs->out[vs->job->rank], CHECK_SENTINEL, vs->job->bytes);
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
	free(vs);
}

static double trial_us(struct vs_bound *vs, bool streams)
{
	double best = 1e30;

	vs->streams = streams;
	for (int i = 0; i <= TRIALS; i++) {
		double start, us;

		world_barrier(vs->job->world);
		start = clock_us();
		once(&vs->base);
		us = clock_us() - start;
		world_max(vs->job->world, &us, 1);
		if (i > 0 && us < best)
			best = us;
	}
	return best;
}

/* Mapping: a page of flags | inputs | outputs, each on pages of its own. */
static bool lay_out(struct vs_bound *vs)
{
	const struct job *job = vs->job;
	size_t n = (size_t)job->n, page = 4096, flags = (n * sizeof(struct flag) + page - 1) / page * page;
	size_t array = (job->bytes + page) / page * page, lines = (job->count + LINE_FLOATS - 1) / LINE_FLOATS;
	size_t mine = lines * (size_t)job->rank / n * LINE_FLOATS, end = lines * ((size_t)job->rank + 1) / n * LINE_FLOATS;

	vs->in = calloc(n, sizeof *vs->in);
	vs->out = calloc(n, sizeof *vs->out);
	vs->shared_bytes = flags + 2 * n * array;
	vs->shared = world_share(job->world, vs->shared_bytes);
	if (vs->shared == NULL || vs->in == NULL || vs->out == NULL)
		return false;
	vs->flags = vs->shared;
	for (size_t r = 0; r < n; r++) {
		vs->in[r] = (float *)((char *)vs->shared + flags + r * array);
		vs->out[r] = (float *)((char *)vs->shared + flags + (n + r) * array);
	}
	vs->first = mine < job->count ? mine : job->count;
	vs->count = (end < job->count ? end : job->count) - vs->first;
	return true;
}

struct contender *vs_bound_open(const struct job *job, const char **why_not)
{
	struct vs_bound *vs = NULL;
	bool laid_out;

	*why_not = "the bare loop exists for allreduce of f32 sums on one node only";
	if (job->what != &case_allreduce || job->op != CHOIR_OP_SUM || job->dtype != CHOIR_F32 || !job->world->one_node)
		return NULL;
	vs = calloc(1, sizeof *vs);
	if (vs == NULL)
		world_fail(job->world, EXIT_WRONG);
	vs->job = job;
	vs->base = (struct contender){ .name = "bound", .calls = 1, .once = once, .fill = fill, .verify = verify, .close = close_bound };
	laid_out = lay_out(vs);
	*why_not = "no memory for the shared mapping";
	if (world_max_int(job->world, !laid_out) == 1) {
		close_bound(&vs->base);
		return NULL;
	}
	fill(&vs->base);
	if (job->n == 2) {
		double streaming = trial_us(vs, true), plain = trial_us(vs, false);

		vs->streams = streaming < plain;
	}
	return &vs->base;
}
