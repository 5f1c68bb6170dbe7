/* SPDX-License-Identifier: MIT */
/* The whole script on N = 1, 2, 3, 5, 8 ranks without the engine: random cases against the plain reference, bit for bit; the three ways of a result; what goes
 * wrong.  CHOIR_TEST_CASES: random cases per kind of device; a tenth of the usual on Oclgrind. */
#include "kern/reduce.h"
#include "sparse/interprets.h"
#include "sparse/reference.h"
#include "sparse/world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MOST_RANKS 8
#define SENTINEL 0x5a
#define GUARD 64

enum way { COMPLETES, ALLOCATES, RECEIVES, FALLS_SHORT, N_WAYS };

/* How buffers are reached and where pairs are coalesced. */
enum kind { PLAIN, MAPPED, STAGED, KERNELS, STAGED_KERNELS, N_KINDS };
static choir_device *devices[N_KINDS];
static cl_context context;
static cl_command_queue queue; /* the plain device's own */

/* One rank's memory and what it was given. */
struct side {
	choir_device *device;
	bool on_device; /* cl_mem, else host */
	struct reference_pairs in;
	void *stored;   /* indices in their dtype */
	choir_buffer send_ind, send_val, recv_ind, recv_val;
	size_t ind_count, val_count, ind_bytes, elem_bytes;
	unsigned char *got_ind, *got_val;
	size_t got_ind_count, got_val_count;
	int calls;
	choir_status answer;
	bool gives_nothing;
};

struct test_case {
	uint64_t seed;
	int n, n_nodes;
	choir_dtype ind_dtype, val_dtype;
	choir_op op;
	size_t width, most_pairs;
	uint64_t base, range;
	const char *algorithm;
	enum way way;
	bool on_device;
};

static choir_buffer upload(bool on_device, const void *from, size_t bytes)
{
	cl_int rc;
	cl_mem mem;

	if (bytes == 0)
		return choir_none();
	if (!on_device)
		return choir_host(from);
	mem = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, bytes, (void *)from, &rc);
	assert_int_equal(rc, CL_SUCCESS);
	return choir_mem(mem, 0);
}

/* Fresh memory full of sentinels. */
static choir_buffer blank(bool on_device, size_t bytes)
{
	unsigned char *p = malloc(bytes + 1);
	choir_buffer buffer;

	memset(p, SENTINEL, bytes + 1);
	if (!on_device)
		return choir_host(p);
	buffer = upload(true, p, bytes + 1);
	free(p);
	return buffer;
}

static void download(choir_buffer buffer, void *to, size_t bytes)
{
	if (bytes == 0)
		return;
	if (buffer.kind == CHOIR_BUFFER_MEM)
		assert_int_equal(clEnqueueReadBuffer(queue, buffer.base, CL_TRUE, buffer.offset_bytes, bytes, to, 0, NULL, NULL), CL_SUCCESS);
	else
		memcpy(to, buffer.base, bytes);
}

static void drop(choir_buffer buffer, bool owned)
{
	if (buffer.kind == CHOIR_BUFFER_MEM)
		clReleaseMemObject(buffer.base);
	else if (owned)
		free(buffer.base);
}

static void keep(struct side *side, choir_buffer ind, size_t ind_count, choir_buffer val, size_t val_count)
{
	side->got_ind = malloc(ind_count * side->ind_bytes + 1);
	side->got_val = malloc(val_count * side->elem_bytes + 1);
	side->got_ind_count = ind_count;
	side->got_val_count = val_count;
	download(ind, side->got_ind, ind_count * side->ind_bytes);
	download(val, side->got_val, val_count * side->elem_bytes);
}

static choir_status on_complete(void *ctx, choir_buffer ind, size_t ind_count, choir_dtype ind_dtype, choir_buffer val, size_t val_count,
                                choir_dtype val_dtype)
{
	struct side *side = ctx;

	assert_int_equal(choir_dtype_bytes(ind_dtype), side->ind_bytes);
	assert_int_equal(choir_dtype_bytes(val_dtype), side->elem_bytes);
	if (ind_count > 0 && side->in.count > 0)
		assert_int_equal(ind.kind, side->on_device ? CHOIR_BUFFER_MEM : CHOIR_BUFFER_HOST);
	keep(side, ind, ind_count, val, val_count);
	side->calls++;
	return side->answer;
}

static choir_status on_alloc(void *ctx, size_t ind_count, choir_dtype ind_dtype, size_t val_count, choir_dtype val_dtype,
                             choir_buffer *out_ind, choir_buffer *out_val)
{
	struct side *side = ctx;

	assert_int_equal(choir_dtype_bytes(ind_dtype), side->ind_bytes);
	assert_int_equal(choir_dtype_bytes(val_dtype), side->elem_bytes);
	side->calls++;
	if (side->gives_nothing)
		return CHOIR_SUCCESS;
	side->got_ind_count = ind_count;
	side->got_val_count = val_count;
	*out_ind = side->recv_ind = blank(side->on_device, ind_count * side->ind_bytes);
	*out_val = side->recv_val = blank(side->on_device, val_count * side->elem_bytes);
	return side->answer;
}

static void fill_side(struct side *side, const struct test_case *c, uint64_t *seed, choir_device *device)
{
	size_t row = c->width * choir_dtype_bytes(c->val_dtype);

	*side = (struct side){ .device = device, .on_device = c->on_device, .ind_bytes = choir_dtype_bytes(c->ind_dtype),
			       .elem_bytes = choir_dtype_bytes(c->val_dtype) };
	side->in.count = reference_next(seed) % 4 == 0 ? 0 : reference_next(seed) % (c->most_pairs + 1);
	side->in.ind = malloc((side->in.count + 1) * 8);
	side->in.val = malloc(side->in.count * row + 1);
	side->stored = malloc((side->in.count + 1) * 8);
	for (size_t i = 0; i < side->in.count; i++) {
		side->in.ind[i] = (int64_t)(c->base + reference_next(seed) % c->range);
		if (side->ind_bytes == 4)
			((int32_t *)side->stored)[i] = (int32_t)side->in.ind[i];
		else
			((int64_t *)side->stored)[i] = side->in.ind[i];
	}
	reference_random(seed, c->val_dtype, false, side->in.val, side->in.count * c->width);
	side->send_ind = upload(c->on_device, side->stored, side->in.count * side->ind_bytes);
	side->send_val = upload(c->on_device, side->in.val, side->in.count * row);
}

static struct sparse_call call_of(struct side *side, const struct test_case *c, size_t capacity)
{
	struct sparse_call call = { .send_ind = side->send_ind, .send_val = side->send_val, .send_ind_count = side->in.count,
				    .send_val_count = side->in.count * c->width, .recv_ind_count = &side->ind_count,
				    .recv_val_count = &side->val_count, .ind_dtype = c->ind_dtype, .val_dtype = c->val_dtype, .op = c->op,
				    .attr = CHOIR_SPARSE_ATTR_INIT, .algorithm = c->algorithm };

	call.attr.fn_ctx = side;
	if (c->way == COMPLETES)
		call.attr.completion_fn = on_complete;
	if (c->way == ALLOCATES)
		call.attr.alloc_fn = on_alloc;
	if (c->way == RECEIVES || c->way == FALLS_SHORT) {
		side->ind_count = c->way == RECEIVES ? capacity : capacity / 2;
		side->val_count = side->ind_count * c->width;
		side->recv_ind = call.recv_ind = blank(c->on_device, capacity * side->ind_bytes + GUARD);
		side->recv_val = call.recv_val = blank(c->on_device, capacity * c->width * side->elem_bytes + GUARD);
	}
	return call;
}

static void expect(const struct test_case *c, bool ok, int rank, const char *what)
{
	if (!ok)
		fail_msg("seed %llu: %d ranks on %d nodes, %s %s %s width %zu, %s, way %d, rank %d: %s", (unsigned long long)c->seed, c->n,
			 c->n_nodes, choir_dtype_name(c->ind_dtype), choir_dtype_name(c->val_dtype), choir_op_name(c->op), c->width,
			 c->algorithm == NULL ? "chosen" : c->algorithm, c->way, rank, what);
}

static void all_blank(const struct test_case *c, choir_buffer buffer, size_t from, size_t bytes, int rank)
{
	unsigned char *p = malloc(from + bytes + 1);

	download(buffer, p, from + bytes);
	for (size_t i = 0; i < bytes; i++)
		expect(c, p[from + i] == SENTINEL, rank, "wrote where it must not");
	free(p);
}

/* After CAPACITY: nothing written, the sizes said, the result fetched. */
static void fetch(const struct test_case *c, struct world_rank *rank, struct side *side, const struct reference_pairs *want, int r)
{
	size_t short_ind = want->count - 1, short_val = want->count * c->width;
	choir_buffer ind = blank(c->on_device, want->count * side->ind_bytes), val = blank(c->on_device, short_val * side->elem_bytes);
	size_t ind_count = want->count, val_count = short_val;

	expect(c, rank->status == CHOIR_CAPACITY && rank->only_mine && rank->result != NULL, r, rank->error);
	all_blank(c, side->recv_ind, 0, want->count * side->ind_bytes, r);
	assert_int_equal(side->ind_count, want->count);
	assert_int_equal(side->val_count, want->count * c->width);
	assert_int_equal(sparse_result_fetch(rank->result, ind, &short_ind, val, &short_val), CHOIR_CAPACITY);
	assert_int_equal(short_ind, want->count);
	assert_int_equal(sparse_result_fetch(rank->result, ind, &ind_count, val, &val_count), CHOIR_SUCCESS);
	keep(side, ind, ind_count, val, val_count);
	sparse_result_free(rank->result);
	drop(ind, true);
	drop(val, true);
}

static void check_side(const struct test_case *c, struct world_rank *rank, struct side *side, const struct reference_pairs *want, int r)
{
	size_t at = 0;

	if (c->way == FALLS_SHORT && want->count > want->count / 2) {
		fetch(c, rank, side, want, r);
	} else {
		expect(c, rank->status == CHOIR_SUCCESS, r, rank->error);
		if (c->way == ALLOCATES)
			keep(side, side->recv_ind, side->got_ind_count, side->recv_val, side->got_val_count);
		if (c->way == RECEIVES || c->way == FALLS_SHORT) {
			keep(side, side->recv_ind, side->ind_count, side->recv_val, side->val_count);
			all_blank(c, side->recv_ind, want->count * side->ind_bytes, GUARD, r);
			all_blank(c, side->recv_val, want->count * c->width * side->elem_bytes, GUARD, r);
		}
		assert_int_equal(side->calls, c->way == COMPLETES || c->way == ALLOCATES);
	}
	expect(c, side->got_ind_count == want->count && side->ind_count == want->count, r, "wrong count of indices");
	expect(c, side->got_val_count == want->count * c->width && side->val_count == want->count * c->width, r, "wrong count of values");
	for (size_t i = 0; i < want->count; i++)
		expect(c, (side->ind_bytes == 4 ? ((int32_t *)side->got_ind)[i] : ((int64_t *)side->got_ind)[i]) == want->ind[i], r,
		       "wrong index");
	expect(c, reference_same(c->val_dtype, side->got_val, want->val, want->count * c->width, &at), r, "wrong value");
}

static void free_side(struct side *side)
{
	drop(side->send_ind, false);
	drop(side->send_val, false);
	drop(side->recv_ind, true);
	drop(side->recv_val, true);
	reference_free(&side->in);
	free(side->stored);
	free(side->got_ind);
	free(side->got_val);
}

static void run_case(const struct test_case *c, choir_device *device)
{
	struct side sides[MOST_RANKS];
	struct world_rank ranks[MOST_RANKS];
	struct reference_pairs ins[MOST_RANKS], want;
	struct world world;
	uint64_t seed = c->seed;
	size_t total = 0;

	memset(ranks, 0, sizeof ranks);
	for (int r = 0; r < c->n; r++) {
		fill_side(&sides[r], c, &seed, device);
		ins[r] = sides[r].in;
		total += ins[r].count;
	}
	reference_allreduce(ins, c->n, c->width, c->val_dtype, c->op, &want);
	for (int r = 0; r < c->n; r++) {
		ranks[r].call = call_of(&sides[r], c, want.count);
		if (sparse_check(device, c->n, &ranks[r].call) != CHOIR_SUCCESS)
			expect(c, false, r, choir_last_error());
	}
	world_init(&world, c->n, c->n_nodes, device);
	world_run(&world, ranks);
	for (int r = 0; r < c->n; r++) {
		check_side(c, &ranks[r], &sides[r], &want, r);
		if (c->algorithm != NULL && total > 0)
			assert_string_equal(ranks[r].algorithm, c->algorithm);
		free_side(&sides[r]);
	}
	world_fini(&world);
	reference_free(&want);
}

static struct test_case random_case(uint64_t seed)
{
	static const int ranks[] = { 1, 2, 3, 5, 8 };
	static const uint64_t ranges[] = { 1, 3, 50, 400, 1000000, INT32_MAX };
	static const uint64_t bases[] = { 0, 0, 1000, UINT64_C(1) << 33, (UINT64_C(1) << 62) };
	static const uint64_t far_ranges[] = { 5, 400, INT32_MAX, UINT64_C(1) << 34, UINT64_C(1) << 61 };
	static const size_t widths[] = { 1, 1, 2, 3, 17 };
	static const char *const names[] = { "allgather", "split", NULL };
	uint64_t s = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
	struct test_case c = { .seed = seed };

	for (int i = 0; i < 4; i++)
		(void)reference_next(&s);
	c.n = ranks[reference_next(&s) % 5];
	c.n_nodes = reference_next(&s) % 3 == 0 ? c.n : 1 + (int)(reference_next(&s) % 2) * (c.n > 2);
	c.ind_dtype = reference_next(&s) % 2 == 0 ? CHOIR_I32 : CHOIR_I64;
	do {
		c.val_dtype = (choir_dtype)(reference_next(&s) % 13);
		c.op = (choir_op)(reference_next(&s) % CHOIR_OP_LOCAL);
	} while (reduce_supported(c.val_dtype, c.op) != CHOIR_SUCCESS);
	c.width = widths[reference_next(&s) % 5];
	c.most_pairs = reference_next(&s) % 8 == 0 ? 3 : 150;
	c.range = ranges[reference_next(&s) % 6];
	if (c.ind_dtype == CHOIR_I64) {
		c.base = bases[reference_next(&s) % 5];
		c.range = far_ranges[reference_next(&s) % 5];
	}
	c.algorithm = names[reference_next(&s) % 3];
	c.way = (enum way)(reference_next(&s) % N_WAYS);
	c.on_device = reference_next(&s) % 2 == 0;
	return c;
}

static uint64_t cases(uint64_t usual)
{
	const char *text = getenv("CHOIR_TEST_CASES");

	if (text != NULL)
		return strtoull(text, NULL, 10);
	return device_interprets(devices[PLAIN]) ? usual / 10 : usual;
}

static void random_cases_plain(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= cases(1500); seed++) {
		struct test_case c = random_case(seed);

		run_case(&c, devices[PLAIN]);
	}
}

/* Kernels are built per dtype and operator: a few of them keep the test short. */
static void random_cases_of(enum kind kind, uint64_t n)
{
	for (uint64_t seed = 1; seed <= n; seed++) {
		struct test_case c = random_case(seed + 100000);

		if (kind >= KERNELS) {
			static const choir_dtype dtypes[] = { CHOIR_F32, CHOIR_BF16, CHOIR_I32, CHOIR_F64 };
			static const choir_op ops[] = { CHOIR_OP_SUM, CHOIR_OP_MEAN, CHOIR_OP_SQUARE_ADD };

			c.val_dtype = dtypes[seed % 4];
			c.op = ops[seed % 3];
		}
		run_case(&c, devices[kind]);
	}
}

static void random_cases_mapped(void **state)
{
	(void)state;
	random_cases_of(MAPPED, cases(100));
}

static void random_cases_staged(void **state)
{
	(void)state;
	random_cases_of(STAGED, cases(100));
}

static void random_cases_kernels(void **state)
{
	(void)state;
	random_cases_of(KERNELS, cases(60));
}

static void random_cases_staged_kernels(void **state)
{
	(void)state;
	random_cases_of(STAGED_KERNELS, cases(60));
}

/* Both algorithms and the chosen one, larger, through several rounds of the slots. */
static void large_cases(void **state)
{
	static const char *const names[] = { "allgather", "split", NULL };

	(void)state;
	for (int i = 0; i < 12; i++) {
		struct test_case c = { .seed = 77 + (uint64_t)i, .n = i % 2 == 0 ? 2 : 5, .n_nodes = i < 6 ? 1 : 2, .ind_dtype = CHOIR_I32,
				       .val_dtype = CHOIR_F32, .op = CHOIR_OP_SUM, .width = i % 4 == 0 ? 64 : 1, .most_pairs = 9000,
				       .range = 30000, .algorithm = names[i % 3], .way = RECEIVES };

		run_case(&c, devices[PLAIN]);
	}
}

/* A small world of three ranks whose calls a test may spoil. */
struct small_world {
	struct test_case c;
	struct side sides[3];
	struct world_rank ranks[3];
};

static void small_start(struct small_world *s, enum way way)
{
	uint64_t seed = 5;

	memset(s, 0, sizeof *s);
	s->c = (struct test_case){ .n = 3, .n_nodes = 1, .ind_dtype = CHOIR_I32, .val_dtype = CHOIR_F32, .op = CHOIR_OP_SUM, .width = 2,
				   .most_pairs = 40, .range = 100, .way = way };
	for (int r = 0; r < 3; r++) {
		do
			fill_side(&s->sides[r], &s->c, &seed, devices[PLAIN]);
		while (s->sides[r].in.count < 10);
		s->ranks[r].call = call_of(&s->sides[r], &s->c, 200);
	}
}

static void small_run(struct small_world *s)
{
	struct world world;

	world_init(&world, 3, 1, devices[PLAIN]);
	world_run(&world, s->ranks);
	world_fini(&world);
	for (int r = 0; r < 3; r++)
		free_side(&s->sides[r]);
}

static void expect_all(const struct small_world *s, choir_status status, bool only_mine, const char *a, const char *b)
{
	for (int r = 0; r < 3; r++) {
		assert_int_equal(s->ranks[r].status, status);
		assert_int_equal(s->ranks[r].only_mine, only_mine);
		if (strstr(s->ranks[r].error, a) == NULL || strstr(s->ranks[r].error, b) == NULL)
			fail_msg("\"%s\" names neither %s nor %s", s->ranks[r].error, a, b);
	}
}

static void widths_differ(void **state)
{
	struct small_world s;

	(void)state;
	small_start(&s, RECEIVES);
	s.ranks[1].call.send_val_count /= 2;
	small_run(&s);
	expect_all(&s, CHOIR_MISMATCH, false, "rank 0 sends rows of width 2", "rank 1 rows of width 1");
}

static void calls_differ(void **state)
{
	struct small_world s;

	(void)state;
	small_start(&s, RECEIVES);
	s.ranks[2].call.op = CHOIR_OP_MAX;
	small_run(&s);
	expect_all(&s, CHOIR_MISMATCH, false, "rank 0 calls with operator sum", "rank 2 with max");
	small_start(&s, RECEIVES);
	s.ranks[1].call.val_dtype = CHOIR_I32;
	small_run(&s);
	expect_all(&s, CHOIR_MISMATCH, false, "rank 0 calls with value dtype f32", "rank 1 with i32");
	small_start(&s, RECEIVES);
	s.ranks[1].call.algorithm = "split";
	small_run(&s);
	expect_all(&s, CHOIR_MISMATCH, false, "rank 0 calls with algorithm none", "rank 1 with split");
}

static void a_negative_index_ends_all(void **state)
{
	struct small_world s;

	(void)state;
	small_start(&s, RECEIVES);
	((int32_t *)s.sides[2].stored)[7] = -3;
	small_run(&s);
	expect_all(&s, CHOIR_ARGUMENT, true, "rank 2", "negative index -3 at position 7");
}

static void failing_callbacks_fail_one(void **state)
{
	struct small_world s;

	(void)state;
	small_start(&s, COMPLETES);
	s.sides[1].answer = CHOIR_ABORTED;
	small_run(&s);
	assert_int_equal(s.ranks[0].status, CHOIR_SUCCESS);
	assert_int_equal(s.ranks[1].status, CHOIR_ABORTED);
	assert_true(s.ranks[1].only_mine);
	assert_non_null(strstr(s.ranks[1].error, "completion_fn returned ABORTED"));
	small_start(&s, ALLOCATES);
	s.sides[0].gives_nothing = true;
	small_run(&s);
	assert_int_equal(s.ranks[0].status, CHOIR_ARGUMENT);
	assert_true(s.ranks[0].only_mine);
	assert_non_null(strstr(s.ranks[0].error, "alloc_fn gave no memory for the indices"));
	assert_int_equal(s.ranks[2].status, CHOIR_SUCCESS);
}

static int open_devices(void **state)
{
	static const choir_device_config configs[N_KINDS] = {
		[PLAIN] = CHOIR_DEVICE_CONFIG_INIT,
		[MAPPED] = { sizeof(choir_device_config), CHOIR_CLASS_MAP, CHOIR_REDUCE_HOST },
		[STAGED] = { sizeof(choir_device_config), CHOIR_CLASS_STAGE, CHOIR_REDUCE_HOST },
		[KERNELS] = { sizeof(choir_device_config), CHOIR_CLASS_AUTO, CHOIR_REDUCE_KERNEL },
		[STAGED_KERNELS] = { sizeof(choir_device_config), CHOIR_CLASS_STAGE, CHOIR_REDUCE_KERNEL },
	};
	choir_device *first;

	(void)state;
	if (choir_device_create_default(0, &first) != CHOIR_SUCCESS)
		return -1;
	context = choir_device_context(first);
	for (int kind = 0; kind < N_KINDS; kind++)
		if (choir_device_create(context, choir_device_id(first), &configs[kind], &devices[kind]) != CHOIR_SUCCESS)
			return -1;
	queue = dev_queue(devices[PLAIN]);
	choir_device_destroy(first);
	return 0;
}

static int close_devices(void **state)
{
	(void)state;
	for (int kind = 0; kind < N_KINDS; kind++)
		choir_device_destroy(devices[kind]);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_cases_plain),
		cmocka_unit_test(random_cases_mapped),
		cmocka_unit_test(random_cases_staged),
		cmocka_unit_test(random_cases_kernels),
		cmocka_unit_test(random_cases_staged_kernels),
		cmocka_unit_test(large_cases),
		cmocka_unit_test(widths_differ),
		cmocka_unit_test(calls_differ),
		cmocka_unit_test(a_negative_index_ends_all),
		cmocka_unit_test(failing_callbacks_fail_one),
	};

	return cmocka_run_group_tests(tests, open_devices, close_devices);
}
