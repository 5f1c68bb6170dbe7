/* SPDX-License-Identifier: MIT */
/* order=ranks: the bits of a gather and a fold on one rank, whatever the layout, the algorithm, the length and the cut
 * into calls.  Random cases on 8 ranks as 1, 2, 4 and 8 nodes; CHOIR_TEST_LONG: 10 000 of them. */
#include "algo/algo.h"
#include "base/dtype.h"
#include "exec/comm.h"
#include "kern/reduce.h"
#include "world/world.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { RANKS = 8, MOST_COUNT = 20000, MOST_CUTS = 4, ELEM_BYTES = 16, QUICK_CASES = 60, LONG_CASES = 2500 };

enum kind { ALLREDUCE, REDUCE, REDUCE_SCATTER, REDUCE_SCATTERV, LIST, PERSISTENT, SPARSE, KINDS };

/* What all ranks do in a case; the same on all of them. */
struct plot {
	enum kind kind;
	choir_dtype dtype;
	choir_op op;
	size_t count, counts[RANKS], cuts[MOST_CUTS + 1];
	int n_cuts, root;
	bool in_place;
	char options[64];
};

/* What a rank has: its input, all ranks' inputs, the wanted results, and what came. */
struct hoard {
	unsigned char *all[RANKS], *want, *got;
	int64_t *indices, *came;
};

struct trial {
	int first, n;        /* numbers of the cases */
	const char *options; /* in place of those of the case */
	int differ;          /* results that were not those of the fold */
};

static uint64_t next(uint64_t *state)
{
	uint64_t x = *state += 0x9e3779b97f4a7c15u;

	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
	return x ^ (x >> 31);
}

static size_t below(uint64_t *state, size_t n)
{
	return (size_t)(next(state) % n);
}

static enum collective collective_of(enum kind kind)
{
	switch (kind) {
	case REDUCE: return COLLECTIVE_REDUCE;
	case REDUCE_SCATTER: return COLLECTIVE_REDUCE_SCATTER;
	case REDUCE_SCATTERV: return COLLECTIVE_REDUCE_SCATTERV;
	default: return COLLECTIVE_ALLREDUCE;
	}
}

/* Half of the dense cases name one of the algorithms that keep the order. */
static void draw_algorithm(uint64_t *random, const choir_comm *comm, struct plot *plot)
{
	enum plan_order least = dtype_is_narrow(plot->dtype) ? PLAN_ORDER_ONCE : PLAN_ORDER_RANKS;
	size_t pick = below(random, n_algorithms);

	snprintf(plot->options, sizeof plot->options, "order=ranks");
	for (size_t i = 0; i < n_algorithms && below(random, 2) == 0; i++) {
		const struct algorithm *algorithm = &algorithms[(pick + i) % n_algorithms];
		bool one_node = comm->layout.n_nodes == 1;
		bool network = strcmp(algorithm->name, "pairwise") == 0 || strstr(algorithm->name, "_") != NULL;

		if (algorithm->collective != collective_of(plot->kind) || algorithm->fold_order < least ||
		    strcmp(algorithm->name, "single") == 0 || strcmp(algorithm->name, "direct_oneshot") == 0 ||
		    (!one_node && !network))
			continue;
		snprintf(plot->options, sizeof plot->options, "order=ranks, algorithm=%s", algorithm->name);
		return;
	}
}

static struct plot draw(int number, const choir_comm *comm)
{
	static const choir_dtype dtypes[] = { CHOIR_F32, CHOIR_F64,    CHOIR_F16,     CHOIR_BF16,
		                              CHOIR_F32, CHOIR_F8E4M3, CHOIR_F8E5M2,  CHOIR_F32_I32,
		                              CHOIR_F64, CHOIR_BF16,   CHOIR_F64_I32, CHOIR_F16 };
	static const choir_op ops[] = { CHOIR_OP_SUM,  CHOIR_OP_PROD, CHOIR_OP_MEAN, CHOIR_OP_SQUARE_ADD,
		                        CHOIR_OP_MIN, CHOIR_OP_MAX };
	uint64_t random = (uint64_t)number << 20;
	struct plot plot = { .kind = (enum kind)below(&random, KINDS),
		             .dtype = dtypes[below(&random, sizeof dtypes / sizeof *dtypes)],
		             .op = ops[below(&random, 6)],
		             .root = (int)below(&random, RANKS),
		             .in_place = below(&random, 2) };
	size_t most = below(&random, 4) ? 600 : MOST_COUNT, left;

	plot.count = left = RANKS + below(&random, most - RANKS);
	for (int r = 0; r < RANKS; r++)
		left -= plot.counts[r] = r == RANKS - 1 ? left : below(&random, left + 1) / (size_t)(RANKS / 2);
	if (plot.kind == SPARSE && plot.op == CHOIR_OP_SQUARE_ADD)
		plot.op = CHOIR_OP_SUM; /* there each rank rounds its squares to the data type */
	if (dtype_kind(plot.dtype) == KIND_PAIR) {
		plot.op = plot.op % 2 ? CHOIR_OP_MINLOC : CHOIR_OP_MAXLOC;
		plot.kind = plot.kind == SPARSE ? REDUCE : plot.kind;
	}
	if (plot.kind == REDUCE_SCATTER)
		plot.count -= plot.count % RANKS;
	plot.n_cuts = 1 + (int)below(&random, MOST_CUTS);
	for (int i = 1; i < plot.n_cuts; i++)
		plot.cuts[i] = plot.cuts[i - 1] + below(&random, plot.count - plot.cuts[i - 1]);
	plot.cuts[plot.n_cuts] = plot.count;
	draw_algorithm(&random, comm, &plot);
	return plot;
}

/* Zeros of both signs and infinities too: of equal values with one index the first rank's is kept. */
static void put_pair(uint64_t bits, choir_dtype dtype, unsigned char *to)
{
	static const double values[] = { 0, -0.0, 1, -1, INFINITY, -INFINITY, 2, 2 };
	choir_f64_i32 wide = { .value = values[bits >> 8 & 7], .index = (int32_t)(bits & 3) };
	choir_f32_i32 narrow = { .value = (float)wide.value, .index = wide.index };

	if (dtype == CHOIR_F64_I32)
		memcpy(to, &wide, sizeof wide);
	else
		memcpy(to, &narrow, sizeof narrow);
}

/* Finite, and far apart. */
static unsigned char tiny_value(uint64_t bits, choir_dtype dtype)
{
	unsigned char size = (unsigned char)(dtype == CHOIR_F8E4M3 ? 8 + bits % 104 : 32 + bits % 64);

	return (unsigned char)((bits >> 40 & 1) << 7 | (bits >> 41 & 31 ? size : 0));
}

/* Of signs and magnitudes whose sums depend on their order; some zeros of both signs. */
static void put_value(uint64_t bits, choir_dtype dtype, choir_op op, unsigned char *to)
{
	double spread = op == CHOIR_OP_PROD ? 1 : (double)(1u << bits % 11);
	double value = (1 + (double)(bits >> 12 & 0xfffff) / 0x100000) * spread * (bits >> 40 & 1 ? 1 : -1);
	float narrow = (float)(bits >> 41 & 31 ? value : 0 * value);
	uint32_t word;
	uint16_t half;

	memcpy(&word, &narrow, sizeof word);
	switch (dtype) {
	case CHOIR_F8E4M3:
	case CHOIR_F8E5M2: *to = tiny_value(bits, dtype); return;
	case CHOIR_F32_I32:
	case CHOIR_F64_I32: put_pair(bits, dtype, to); return;
	case CHOIR_F64: memcpy(to, &value, sizeof value); return;
	case CHOIR_F32: memcpy(to, &narrow, sizeof narrow); return;
	case CHOIR_BF16: half = (uint16_t)(word >> 16); break;
	default: half = (uint16_t)((word >> 16 & 0x8000) | (word << 1 ? ((word >> 13) - (112u << 10)) & 0x7fff : 0));
	}
	memcpy(to, &half, sizeof half);
}

static void fill(struct hoard *hoard, const struct plot *plot, int number)
{
	size_t bytes = choir_dtype_bytes(plot->dtype);
	struct reduce_call fold = { .dtype = plot->dtype,
		                    .op = plot->op,
		                    .n_src = RANKS,
		                    .final = true,
		                    .n_ranks = RANKS,
		                    .factor = 1,
		                    .n_dst = 1,
		                    .nt_from = 1,
		                    .count = plot->count };
	void *want = hoard->want;

	for (int r = 0; r < RANKS; r++) {
		uint64_t random = ((uint64_t)number * RANKS + (uint64_t)r) << 24;

		for (size_t i = 0; i < plot->count; i++)
			put_value(next(&random), plot->dtype, plot->op, hoard->all[r] + i * bytes);
	}
	reduce_host(&fold, &want, (const void *const *)hoard->all);
}

static choir_status part(choir_comm *comm, const struct plot *plot, const choir_call *call, size_t from, size_t to,
                         unsigned char *send, unsigned char *recv)
{
	size_t bytes = choir_dtype_bytes(plot->dtype), n = to - from;
	choir_buffer in = choir_host(send + from * bytes), out = choir_host(recv + from * bytes);
	choir_tensor halves[2] = { { in, out, n / 2, plot->dtype },
		                   { choir_host(send + (from + n / 2) * bytes),
				     choir_host(recv + (from + n / 2) * bytes), n - n / 2, plot->dtype } };
	choir_request *request;
	choir_status st;

	switch (plot->kind) {
	case REDUCE: return choir_reduce(comm, in, out, n, plot->dtype, plot->op, plot->root, call, NULL);
	case LIST: return choir_allreduce_multi(comm, halves, 2, plot->op, call, NULL);
	case PERSISTENT:
		st = choir_allreduce_init(comm, in, out, n, plot->dtype, plot->op, call, &request);
		if (st == CHOIR_SUCCESS)
			st = choir_start(request, NULL, NULL);
		if (st == CHOIR_SUCCESS)
			choir_request_free(request);
		return st;
	default: return choir_allreduce(comm, in, out, n, plot->dtype, plot->op, call, NULL);
	}
}

/* All in one call: which blocks the ranks get depends on the length. */
static choir_status scatter(choir_comm *comm, const struct plot *plot, const choir_call *call, unsigned char *send,
                            unsigned char *recv)
{
	if (plot->kind == REDUCE_SCATTERV)
		return choir_reduce_scatterv(comm, choir_host(send), choir_host(recv), plot->counts, plot->dtype,
		                             plot->op, call, NULL);
	return choir_reduce_scatter(comm, choir_host(send), choir_host(recv), plot->count / RANKS, plot->dtype,
	                            plot->op, call, NULL);
}

static choir_status sparse(choir_comm *comm, const struct plot *plot, const choir_call *call, struct hoard *hoard,
                           unsigned char *send, unsigned char *recv)
{
	size_t n_ind = plot->count, n_val = plot->count;

	for (size_t i = 0; i < plot->count; i++)
		hoard->indices[i] = (int64_t)(3 * i);
	return choir_sparse_allreduce(comm, choir_host(hoard->indices), plot->count, choir_host(send), plot->count,
	                              choir_host(hoard->came), &n_ind, choir_host(recv), &n_val, CHOIR_I64, plot->dtype,
	                              plot->op, NULL, call, NULL);
}

/* The elements [*from, *from + *n) of the result that this rank has. */
static void span_of(const struct plot *plot, int rank, size_t *from, size_t *n)
{
	*from = 0;
	*n = plot->kind == REDUCE && rank != plot->root ? 0 : plot->count;
	if (plot->kind == REDUCE_SCATTER) {
		*n = plot->count / RANKS;
		*from = *n * (size_t)rank;
	} else if (plot->kind == REDUCE_SCATTERV) {
		for (int r = 0; r < rank; r++)
			*from += plot->counts[r];
		*n = plot->counts[rank];
	}
}

static choir_status call_all(choir_comm *comm, const struct plot *plot, const choir_call *call, struct hoard *hoard,
                             unsigned char *send, unsigned char *recv)
{
	if (plot->kind == SPARSE)
		return sparse(comm, plot, call, hoard, send, recv);
	if (plot->kind == REDUCE_SCATTER || plot->kind == REDUCE_SCATTERV)
		return scatter(comm, plot, call, send, recv);
	for (int i = 0; i < plot->n_cuts; i++) {
		choir_status st = part(comm, plot, call, plot->cuts[i], plot->cuts[i + 1], send, recv);

		if (st != CHOIR_SUCCESS)
			return st;
	}
	return CHOIR_SUCCESS;
}

/* Returns true if the result has the bits of the fold. */
static bool play(struct world *world, int rank, choir_comm *comm, const struct trial *trial, int number,
                 struct hoard *hoard)
{
	struct plot plot = draw(number, comm);
	size_t bytes = choir_dtype_bytes(plot.dtype), from, n;
	choir_call call = CHOIR_CALL_INIT;
	unsigned char *recv = hoard->got;
	choir_status st;
	bool scatters = plot.kind == REDUCE_SCATTER || plot.kind == REDUCE_SCATTERV;

	call.options = trial->options != NULL ? trial->options : plot.kind == SPARSE ? "order=ranks" : plot.options;
	fill(hoard, &plot, number);
	span_of(&plot, rank, &from, &n);
	if (plot.in_place && plot.kind != SPARSE)
		recv = hoard->all[rank] + (scatters ? from * bytes : 0);
	st = call_all(comm, &plot, &call, hoard, hoard->all[rank], recv);
	if (st == CHOIR_UNSUPPORTED) { /* the algorithm does not fit: the rules choose, from new inputs */
		call.options = "order=ranks";
		fill(hoard, &plot, number);
		st = call_all(comm, &plot, &call, hoard, hoard->all[rank], recv);
	}
	if (!OK(st)) {
		world_fail(world, rank, "case %d: kind %d, %s", number, (int)plot.kind, call.options);
		return true;
	}
	return memcmp(recv, hoard->want + from * bytes, n * bytes) == 0;
}

static void cases(struct world *world, int rank, choir_comm *comm, void *arg)
{
	struct trial *trial = arg;
	struct hoard hoard;

	for (int r = 0; r < RANKS; r++)
		hoard.all[r] = calloc(MOST_COUNT, ELEM_BYTES);
	hoard.want = calloc(MOST_COUNT, ELEM_BYTES);
	hoard.got = calloc(MOST_COUNT, ELEM_BYTES);
	hoard.indices = calloc(MOST_COUNT, sizeof *hoard.indices);
	hoard.came = calloc(MOST_COUNT, sizeof *hoard.came);
	for (int i = 0; i < trial->n && world->failure[0] == '\0'; i++)
		if (!play(world, rank, comm, trial, trial->first + i, &hoard)) {
			struct plot plot = draw(trial->first + i, comm);

			__atomic_add_fetch(&trial->differ, 1, __ATOMIC_RELAXED);
			if (trial->options == NULL)
				world_fail(world, rank, "case %d: kind %d of %zu %s, %s, %s: other bits",
				           trial->first + i, (int)plot.kind, plot.count, choir_dtype_name(plot.dtype),
				           choir_op_name(plot.op), plot.options);
		}
	for (int r = 0; r < RANKS; r++)
		free(hoard.all[r]);
	free(hoard.want);
	free(hoard.got);
	free(hoard.indices);
	free(hoard.came);
}

static const int layouts[] = { 8, 4, 2, 1 };

static void same_bits_on_all_layouts(void **state)
{
	int n = getenv("CHOIR_TEST_LONG") != NULL ? LONG_CASES : QUICK_CASES;

	(void)state;
	for (int l = 0; l < 4; l++) {
		struct trial trial = { .first = l * n, .n = n };

		world_run_at(RANKS, layouts[l], 120000, cases, &trial);
	}
}

/* The data would show another order: without the promise some results on 8 nodes have other bits. */
static void without_it_bits_differ(void **state)
{
	struct trial trial = { .n = 20, .options = "order=any" };

	(void)state;
	world_run_at(RANKS, 1, 120000, cases, &trial);
	assert_true(trial.differ > 0);
}

/* The comm's setting, and the environment's, hold for calls that say nothing. */
static void comms_have_the_order(void **state)
{
	choir_comm_config config = CHOIR_COMM_CONFIG_INIT;
	struct trial trial = { .n = 20, .options = "" };

	(void)state;
	config.ranks_per_node = 1;
	config.order_ranks = 1;
	world_run(RANKS, &config, cases, &trial);
	assert_int_equal(trial.differ, 0);
	config.order_ranks = 0;
	setenv("CHOIR_DETERMINISTIC", "1", 1);
	world_run(RANKS, &config, cases, &trial);
	unsetenv("CHOIR_DETERMINISTIC");
	assert_int_equal(trial.differ, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(same_bits_on_all_layouts),
		cmocka_unit_test(without_it_bits_differ),
		cmocka_unit_test(comms_have_the_order),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	world_device_drop();
	return failed;
}
