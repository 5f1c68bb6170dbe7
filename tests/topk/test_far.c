/* SPDX-License-Identifier: MIT */
/* States whose tensors are on a device: the same bits as by the host, for every algorithm and type.  Both run on the
 * same OpenCL device, once with reductions on the host, once with kernels. */
#include "topk/law.h"
#include "world/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { RANKS = 2, COUNT = 3001, CALLS = 5, BLOB = 1 << 20 };

struct trial {
	choir_topk_config config;
	bool at, device; /* the caller's indices; buffers are cl_mems */
	bool cut;        /* into three tensors, the second one without a dense result */
	bool no_pairs;   /* the result is dense only */
	/* of each rank: all that came out, one after the other */
	unsigned char *blob[RANKS];
	size_t used[RANKS];
};

static uint64_t mix(uint64_t x)
{
	x *= UINT64_C(0x9e3779b97f4a7c15);
	x ^= x >> 29;
	x *= UINT64_C(0xbf58476d1ce4e5b9);
	return x ^ x >> 32;
}

/* Sums and products are rounded; some values are much larger than the others. */
static float value_of(int rank, int call, size_t i)
{
	uint64_t x = mix((uint64_t)rank * 1000003 + (uint64_t)call * 7919 + i * 31 + 1);

	return (float)((double)(x >> 11) * 0x1p-53 - 0.5) * (x % 11 == 0 ? 30 : 1);
}

static void put_value(choir_dtype dtype, unsigned char *at, float value)
{
	uint16_t half = (uint16_t)(0x3000 + (int)(value * 255) % 0x800) | (value < 0 ? 0x8000 : 0);
	double wide = (double)value * 1.1;

	if (dtype == CHOIR_F32)
		memcpy(at, &value, sizeof value);
	else if (dtype == CHOIR_F64)
		memcpy(at, &wide, sizeof wide);
	else
		memcpy(at, &half, sizeof half); /* some f16 or bf16 */
}

static void keep(struct trial *trial, int rank, const void *bytes, size_t n)
{
	if (trial->used[rank] + n <= BLOB)
		memcpy(trial->blob[rank] + trial->used[rank], bytes, n);
	trial->used[rank] += n;
}

static void keep_memory(struct trial *trial, int rank, struct memory *memory, size_t bytes)
{
	memory_pull(memory);
	keep(trial, rank, memory_payload(memory), bytes);
}

static void keep_state(struct world *world, int rank, struct trial *trial, choir_topk_state *state)
{
	size_t bytes = 0;
	void *exported;

	if (!OK(choir_topk_export(state, NULL, &bytes)))
		return;
	exported = malloc(bytes);
	if (OK(choir_topk_export(state, exported, &bytes)))
		keep(trial, rank, exported, bytes);
	free(exported);
}

struct buffers {
	struct memory grad, dense, ind, val, involved, at;
};

static choir_buffer from_element(choir_buffer buffer, size_t at, size_t elem)
{
	if (buffer.kind == CHOIR_BUFFER_MEM)
		buffer.offset_bytes += at * elem;
	else
		buffer.base = (unsigned char *)buffer.base + at * elem;
	return buffer;
}

static choir_status call_cut(const struct trial *trial, choir_topk_state *state, const struct buffers *b,
                             choir_topk_out out)
{
	enum { FIRST = 1024, SECOND = 500 };
	choir_dtype dtype = trial->config.dtype;
	size_t elem = choir_dtype_bytes(dtype), rest = FIRST + SECOND;
	choir_buffer grad = b->grad.buffer, dense = b->dense.buffer;
	const choir_tensor tensors[] = { { grad, dense, FIRST, dtype },
		                         { from_element(grad, FIRST, elem), choir_none(), SECOND, dtype },
		                         { from_element(grad, rest, elem), from_element(dense, rest, elem),
		                           COUNT - rest, dtype } };

	out.dense = choir_none();
	return choir_topk_allreduce_multi(state, tensors, 3, &out, NULL, NULL);
}

static bool call_once(struct world *world, int rank, struct trial *trial, choir_topk_state *state, struct buffers *b)
{
	choir_topk_out out = CHOIR_TOPK_OUT_INIT;
	size_t pairs = COUNT, elem = choir_dtype_bytes(trial->config.dtype);
	bool ok;

	out.dense = b->dense.buffer;
	if (!trial->no_pairs) {
		out.ind = b->ind.buffer;
		out.val = b->val.buffer;
		out.pairs_p = &pairs;
	}
	out.involved = b->involved.buffer;
	if (trial->at)
		ok = OK(choir_topk_allreduce_at(state, b->grad.buffer, b->at.buffer, 50, CHOIR_I32, &out, NULL, NULL));
	else if (trial->cut)
		ok = OK(call_cut(trial, state, b, out));
	else
		ok = OK(choir_topk_allreduce(state, b->grad.buffer, &out, NULL, NULL));
	if (!ok)
		return false;
	keep(trial, rank, &pairs, sizeof pairs);
	keep_memory(trial, rank, &b->dense, COUNT * elem);
	if (!trial->no_pairs) {
		keep_memory(trial, rank, &b->ind, pairs * 4);
		keep_memory(trial, rank, &b->val, pairs * elem);
	}
	keep_memory(trial, rank, &b->involved, (COUNT + 31) / 32 * 4);
	keep_state(world, rank, trial, state);
	return true;
}

static void make_buffers(struct world *world, const struct trial *trial, struct buffers *b)
{
	size_t elem = choir_dtype_bytes(trial->config.dtype);

	memory_make(&b->grad, world->device, trial->device, COUNT * elem, 8);
	memory_make(&b->dense, world->device, trial->device, COUNT * elem, 16);
	memory_make(&b->ind, world->device, trial->device, COUNT * 4, 4);
	memory_make(&b->val, world->device, trial->device, COUNT * elem, 8);
	memory_make(&b->involved, world->device, trial->device, (COUNT + 31) / 32 * 4, 4);
	memory_make(&b->at, world->device, trial->device, 50 * 4, 4);
}

static void free_buffers(struct buffers *b)
{
	memory_free(&b->grad);
	memory_free(&b->dense);
	memory_free(&b->ind);
	memory_free(&b->val);
	memory_free(&b->involved);
	memory_free(&b->at);
}

static void one_rank(struct world *world, int rank, choir_comm *comm, void *arg)
{
	struct trial *trial = arg;
	size_t elem = choir_dtype_bytes(trial->config.dtype);
	choir_topk_state *state = NULL;
	struct buffers b;
	bool ok = OK(choir_topk_create(comm, &trial->config, &state));

	make_buffers(world, trial, &b);
	for (int call = 0; call < CALLS && ok; call++) {
		for (size_t i = 0; i < COUNT; i++)
			put_value(trial->config.dtype, memory_payload(&b.grad) + i * elem,
			          value_of(rank, call, i) * (call == 3 ? 9 : 1));
		for (int i = 0; i < 50; i++)
			((int32_t *)(void *)memory_payload(&b.at))[i] = (i * 977 + rank) % COUNT;
		memory_push(&b.grad);
		memory_push(&b.at);
		ok = call_once(world, rank, trial, state, &b);
	}
	free_buffers(&b);
	choir_topk_destroy(state);
}

static void run_on(struct trial *trial, choir_reduce_where where)
{
	choir_comm_config comm_config = CHOIR_COMM_CONFIG_INIT;
	choir_device *devices[RANKS];
	struct world world;

	for (int r = 0; r < RANKS; r++) {
		devices[r] = world_far_device(where);
		trial->blob[r] = calloc(1, BLOB);
		trial->used[r] = 0;
	}
	comm_config.deadline_ms = 60000;
	world_begin_on(&world, RANKS, devices, &comm_config);
	world_threads(&world, one_rank, trial);
	world_end(&world);
	memory_drop();
}

static void same_bits(struct trial trial)
{
	struct trial far = trial;

	run_on(&trial, CHOIR_REDUCE_HOST);
	run_on(&far, CHOIR_REDUCE_KERNEL);
	for (int r = 0; r < RANKS; r++) {
		assert_true(trial.used[r] > 0 && trial.used[r] <= BLOB);
		assert_int_equal(trial.used[r], far.used[r]);
		assert_memory_equal(trial.blob[r], far.blob[r], trial.used[r]);
		free(trial.blob[r]);
		free(far.blob[r]);
	}
}

static struct trial trial_of(const char *algorithm, choir_dtype dtype)
{
	struct trial trial = { .config = CHOIR_TOPK_CONFIG_INIT, .device = true };

	trial.config.algorithm = algorithm;
	trial.config.count = COUNT;
	trial.config.dtype = dtype;
	trial.config.k = 60;
	trial.config.decay = 0.9;
	trial.config.scale = 0.3;
	return trial;
}

static void every_algorithm(void **state)
{
	(void)state;
	for (int a = 0; a < LAW_ALGORITHMS; a++) {
		struct trial trial = trial_of(law_algorithms[a], CHOIR_F32);

		trial.config.momentum = a % 2 ? 0.7 : 0;
		trial.config.dense_calls = a % 3 == 2;
		same_bits(trial);
	}
}

static void every_type(void **state)
{
	static const choir_dtype types[] = { CHOIR_F16, CHOIR_BF16, CHOIR_F64 };

	(void)state;
	for (int i = 0; i < 3; i++) {
		struct trial trial = trial_of(i == 1 ? "gtopk" : "oktopk", types[i]);

		trial.config.momentum = 0.5;
		trial.config.nan_fails = i == 0;
		same_bits(trial);
	}
}

/* Sums that only kernels use, of all lists at once. */
static void dense_only(void **state)
{
	static const choir_dtype types[] = { CHOIR_F32, CHOIR_F16, CHOIR_BF16, CHOIR_F64 };

	(void)state;
	for (int i = 0; i < 8; i++) {
		struct trial trial = trial_of(i % 2 ? "topka" : "gaussiank-concat", types[i / 2]);

		trial.no_pairs = true;
		trial.config.op = i % 2 ? CHOIR_OP_MEAN : CHOIR_OP_SUM;
		same_bits(trial);
	}
}

/* The gradient comes from the host's memory, and the results go there. */
static void host_buffers(void **state)
{
	struct trial trial = trial_of("topka", CHOIR_F32);

	(void)state;
	trial.device = false;
	same_bits(trial);
}

static void chosen_indices(void **state)
{
	struct trial trial = trial_of("topka", CHOIR_F32);

	(void)state;
	trial.at = true;
	same_bits(trial);
}

static void sampled_threshold(void **state)
{
	struct trial trial = trial_of("topk-sa", CHOIR_F32);

	(void)state;
	trial.config.threshold = CHOIR_TOPK_THRESHOLD_SAMPLED;
	trial.config.momentum = 0.5;
	same_bits(trial);
}

static void narrow_values(void **state)
{
	static const char *const names[] = { "topka2", "topk-sa", "oktopk", "gtopk", "spardl" };

	(void)state;
	for (int i = 0; i < 5; i++) {
		struct trial trial = trial_of(names[i], CHOIR_F32);

		trial.config.wire_dtype = i % 2 ? CHOIR_F16 : CHOIR_BF16;
		same_bits(trial);
	}
}

static void list_of_tensors(void **state)
{
	struct trial trial = trial_of("topk-sa", CHOIR_F32);

	(void)state;
	trial.cut = true;
	same_bits(trial);
	trial.config.dtype = CHOIR_F16;
	same_bits(trial);
	trial.device = false;
	same_bits(trial);
}

/* An argument: the name of one test. */
int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(every_algorithm),   cmocka_unit_test(every_type),
		                            cmocka_unit_test(host_buffers),      cmocka_unit_test(chosen_indices),
		                            cmocka_unit_test(sampled_threshold), cmocka_unit_test(narrow_values),
		                            cmocka_unit_test(dense_only),        cmocka_unit_test(list_of_tensors) };
	int failed;

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	failed = cmocka_run_group_tests(tests, NULL, NULL);

	world_device_drop();
	return failed;
}
