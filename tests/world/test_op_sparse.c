/* SPDX-License-Identifier: MIT */
/* Operators of the caller's own in sparse_allreduce and choir_coalesce_rows: one that is not commutative, by every
 * algorithm, as functions and as text. */
#include "dev/dev.h"
#include "read_mem.h"
#include "world/affine.h"
#include "world/world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { PAIRS = 60, RANGE = 40, WIDEST = 3, N_FORMS = 2 };
enum { FUNCTIONS, TEXT };

static void plus_one(void *ctx, void *data, size_t count, int ranks, choir_dtype dtype)
{
	(void)ctx;
	(void)ranks;
	(void)dtype;
	for (size_t i = 0; i < count; i++)
		((uint64_t *)data)[i] += 1;
}

static void plus_ranks(void *ctx, void *data, size_t count, int ranks, choir_dtype dtype)
{
	(void)ctx;
	(void)dtype;
	for (size_t i = 0; i < count; i++)
		((uint64_t *)data)[i] += 1000000 * (uint64_t)ranks;
}

static void one(void *ctx, void *data, size_t count, int ranks, choir_dtype dtype)
{
	(void)ctx;
	(void)ranks;
	(void)dtype;
	for (size_t i = 0; i < count; i++)
		((uint64_t *)data)[i] = UINT64_C(1) << 32;
}

/* Names that the kernels use too, and others of the same kind. */
#define NAMES                                                                                                          \
	"#define SPAN 1\n#define GROUP 3\n#define KEY char\n#define VALUE char\n#define INDEX char\n"                  \
	"#define RAW 7\n#define FINAL 0\n#define CARRIES 3\n#define CELL_BITS 6\n#define WIDTH 3\n"                    \
	"#define PREFETCH 3\n#define TO_PART 3\n#define GROUP_H\n#define CELLS 3\n#define WORDS 3\n"                   \
	"typedef struct { int key; } entry;\ntypedef int walk;\n"                                                      \
	"static ulong term(ulong x) { return x; }\nstatic ulong load_term(ulong x) { return term(x); }\n"              \
	"static ulong finish(void) { return 0; }\nstatic ulong nothing(void) { return 1; }\n"                          \
	"static ulong walk_of(walk x) { return x; }\nstatic ulong walk_from(void) { return 0; }\n"                     \
	"static ulong walk_on(void) { return 0; }\nstatic uint is_head(entry x) { return x.key; }\n"                   \
	"static ulong cell_of(void) { return 0; }\nstatic ulong bucket_start(void) { return 0; }\n"                    \
	"static int group_number(void) { return 5; }\nstatic void two(void) {}\nstatic void many(void) {}\n"           \
	"static void fold_source(void) {}\n"

/* whole: with raw and final, and without identity. */
static choir_op create(int form, bool whole)
{
	choir_op_config config = CHOIR_OP_CONFIG_INIT;
	choir_op op = -1;

	config.name = whole ? "whole" : "affine";
	config.commutative = 0;
	if (form == FUNCTIONS) {
		config.fold = affine_fold;
		config.raw = whole ? plus_one : NULL;
		config.final = whole ? plus_ranks : NULL;
		config.identity = whole ? NULL : one;
	} else {
		config.source = NAMES AFFINE_SOURCE;
		config.fold_text = "compose(a, b)";
		config.raw_text = whole ? "a + 1" : NULL;
		config.final_text = whole ? "a + 1000000ul * n" : NULL;
		config.identity_text = whole ? NULL : "1ul << 32";
	}
	assert_int_equal(choir_op_create(&config, &op), CHOIR_SUCCESS);
	return op;
}

static int32_t index_of(int rank, size_t i)
{
	return (int32_t)((i * 17 + (size_t)rank * 5) % RANGE) * (rank % 2 + 1);
}

static uint64_t value_of(int rank, size_t i, size_t column)
{
	return (uint64_t)(2 * i + 3) << 32 | (uint32_t)(i * 7919 + (size_t)rank * 31 + column);
}

/* Row by row in rank order: is that the result?  It is ascending, and each index once. */
static bool is_right(int n, bool whole, size_t width, const int32_t *ind, const uint64_t *val, size_t pairs)
{
	size_t at = 0;

	for (int32_t x = 0; x < 2 * RANGE; x++)
		for (size_t column = 0, found = 0; column < width; column++) {
			uint64_t sum = 0, value;

			for (int r = 0; r < n; r++)
				for (size_t i = 0; i < PAIRS; i++)
					if (index_of(r, i) == x) {
						value = value_of(r, i, column) + whole;
						sum = found++ % (n * PAIRS) == 0 ? value : affine_compose(sum, value);
					}
			if (found == 0)
				break;
			found = 0;
			if (at >= pairs || ind[at] != x ||
			    val[at * width + column] != sum + (whole ? 1000000 * (uint64_t)n : 0))
				return false;
			at += column + 1 == width;
		}
	return at == pairs;
}

static choir_status reduce(choir_comm *comm, choir_op op, int rank, size_t width, const char *options, int32_t *ind,
                           uint64_t *val, size_t *pairs_p)
{
	int32_t from_ind[PAIRS];
	uint64_t from_val[PAIRS * WIDEST];
	size_t n_ind = 2 * RANGE, n_val = 2 * RANGE * width;
	choir_call call = CHOIR_CALL_INIT;
	choir_status st;

	for (size_t i = 0; i < PAIRS; i++) {
		from_ind[i] = index_of(rank, i);
		for (size_t column = 0; column < width; column++)
			from_val[i * width + column] = value_of(rank, i, column);
	}
	call.options = options;
	st = choir_sparse_allreduce(comm, choir_host(from_ind), PAIRS, choir_host(from_val), PAIRS * width,
	                            choir_host(ind), &n_ind, choir_host(val), &n_val, CHOIR_I32, CHOIR_U64, op, NULL,
	                            &call, NULL);
	*pairs_p = n_ind;
	return st;
}

struct asked {
	choir_op op;
	bool whole, text;
};

static void by_all(struct world *world, int rank, choir_comm *comm, void *asked_p)
{
	static const char *const names[] = { "auto",        "allgather",          "split", "split_bitmap",
		                             "split_dense", "recursive_doubling", "mask",  "dense" };
	const struct asked *asked = asked_p;
	int32_t ind[2 * RANGE] = { 0 };
	uint64_t val[2 * RANGE * WIDEST] = { 0 };
	char options[64];
	size_t pairs;

	for (size_t k = 0; k < 8; k++)
		for (size_t width = 1; width <= WIDEST; width += 2) {
			choir_status st, wanted;

			wanted = k == 5 || (k > 5 && asked->text) ? CHOIR_ARGUMENT : CHOIR_SUCCESS;
			snprintf(options, sizeof options, "algorithm=%s", names[k]);
			st = reduce(comm, asked->op, rank, width, options, ind, val, &pairs);
			world_is(world, rank, st, wanted, options);
			if (wanted != CHOIR_SUCCESS)
				CHECK(strstr(choir_last_error(),
				             k == 5 ? "does not fold in rank order" : "has no fold function"));
			else if (!is_right(world->n, asked->whole, width, ind, val, pairs))
				world_fail(world, rank, "%s, width %zu: a wrong result", options, width);
		}
}

static void every_algorithm(void **state)
{
	static const int sizes[] = { 1, 2, 3, 5 };

	(void)state;
	for (int form = 0; form < N_FORMS; form++)
		for (int whole = 0; whole < 2; whole++)
			for (size_t i = 0; i < 4; i++)
				for (int per_node = 0; per_node < 2; per_node++) {
					struct asked asked = { create(form, whole), whole, form == TEXT };

					world_run_at(sizes[i], per_node, 60000, by_all, &asked);
					assert_int_equal(choir_op_destroy(asked.op), CHOIR_SUCCESS);
				}
}

/* Persistent: each start finds what the send buffers hold then. */
static void kept(struct world *world, int rank, choir_comm *comm, void *asked_p)
{
	const struct asked *asked = asked_p;
	int32_t from_ind[PAIRS] = { 0 }, ind[2 * RANGE] = { 0 };
	uint64_t from_val[PAIRS] = { 0 }, val[2 * RANGE] = { 0 };
	size_t n_ind = 2 * RANGE, n_val = 2 * RANGE;
	choir_request *request = NULL;

	if (!OK(choir_sparse_allreduce_init(comm, choir_host(from_ind), PAIRS, choir_host(from_val), PAIRS,
	                                    choir_host(ind), &n_ind, choir_host(val), &n_val, CHOIR_I32, CHOIR_U64,
	                                    asked->op, NULL, NULL, &request)))
		return;
	for (int start = 0; start < 3; start++) {
		memset(ind, 0xee, sizeof ind);
		memset(val, 0xee, sizeof val);
		for (size_t i = 0; i < PAIRS; i++) {
			from_ind[i] = index_of(rank, i);
			from_val[i] = value_of(rank, i, 0);
		}
		OK(choir_start(request, NULL, NULL));
		CHECK(n_ind == n_val && is_right(world->n, asked->whole, 1, ind, val, n_ind));
		memset(from_ind, 0, sizeof from_ind);
		memset(from_val, 0, sizeof from_val);
	}
	choir_request_free(request);
}

static void kept_calls(void **state)
{
	(void)state;
	for (int form = 0; form < N_FORMS; form++)
		for (int n = 1; n <= 3; n++)
			for (int per_node = 0; per_node < 2; per_node++) {
				struct asked asked = { create(form, n == 2), n == 2, form == TEXT };

				world_run_at(n, per_node, 60000, kept, &asked);
				assert_int_equal(choir_op_destroy(asked.op), CHOIR_SUCCESS);
			}
}

static void differ(struct world *world, int rank, choir_comm *comm, void *ops)
{
	int32_t ind[2 * RANGE] = { 0 };
	uint64_t val[2 * RANGE] = { 0 };
	size_t pairs;

	IS(reduce(comm, ((choir_op *)ops)[rank > 0], rank, 1, NULL, ind, val, &pairs), CHOIR_MISMATCH);
	CHECK(strstr(choir_last_error(), "whole [") && strstr(choir_last_error(), "affine ["));
}

static void ranks_compare(void **state)
{
	choir_op ops[2] = { create(FUNCTIONS, false), create(FUNCTIONS, true) };

	(void)state;
	for (int per_node = 0; per_node < 2; per_node++)
		world_run_at(2, per_node, 60000, differ, ops);
	choir_op_destroy(ops[0]);
	choir_op_destroy(ops[1]);
}

static void rows_of_a_device(void **state)
{
	int32_t ind[PAIRS], to_ind[RANGE];
	uint64_t val[PAIRS], to_val[RANGE];
	size_t pairs = RANGE;
	choir_op op = create(FUNCTIONS, false), whole = create(FUNCTIONS, true), text = create(TEXT, false);

	(void)state;
	for (size_t i = 0; i < PAIRS; i++) {
		ind[i] = index_of(0, i);
		val[i] = value_of(0, i, 0);
	}
	assert_int_equal(choir_coalesce_rows(world_device(), choir_host(ind), PAIRS, choir_host(val), PAIRS, CHOIR_I32,
	                                     CHOIR_U64, op, choir_host(to_ind), choir_host(to_val), &pairs, NULL, NULL),
	                 CHOIR_SUCCESS);
	assert_true(is_right(1, false, 1, to_ind, to_val, pairs));
	assert_int_equal(choir_coalesce_rows(world_device(), choir_host(ind), PAIRS, choir_host(val), PAIRS, CHOIR_I32,
	                                     CHOIR_U64, whole, choir_host(to_ind), choir_host(to_val), &pairs, NULL,
	                                     NULL),
	                 CHOIR_UNSUPPORTED);
	assert_non_null(strstr(choir_last_error(), "the final function of operator whole needs ranks"));
	assert_int_equal(choir_coalesce_rows(world_device(), choir_host(ind), PAIRS, choir_host(val), PAIRS, CHOIR_I32,
	                                     CHOIR_U64, text, choir_host(to_ind), choir_host(to_val), &pairs, NULL,
	                                     NULL),
	                 CHOIR_UNSUPPORTED);
	assert_non_null(strstr(choir_last_error(), "operator 'affine' has no fold function, and the host coalesces"));
	choir_op_destroy(op);
	choir_op_destroy(whole);
	choir_op_destroy(text);
}

static cl_mem mem_of(void *bytes, size_t n)
{
	cl_int rc;
	cl_mem mem = clCreateBuffer(choir_device_context(world_device()), CL_MEM_COPY_HOST_PTR, n, bytes, &rc);

	assert_int_equal(rc, CL_SUCCESS);
	return mem;
}

/* Texts alone, and rows in device memory: kernels do it wherever reductions are else, and a text that does not compile
 * refuses the call. */
static void rows_by_texts(void **state)
{
	choir_op_config bad = CHOIR_OP_CONFIG_INIT;
	choir_op ops[2] = { create(TEXT, false), -1 };
	int32_t ind[PAIRS], to_ind[RANGE];
	uint64_t val[PAIRS], to_val[RANGE];
	cl_mem mems[4];

	(void)state;
	if (!dev_has_long_loops(world_device())) {
		print_message("this device runs no kernels of rows\n");
		skip();
	}
	bad.name = "bad";
	bad.fold_text = "a + no_such_name(b)";
	assert_int_equal(choir_op_create(&bad, &ops[1]), CHOIR_SUCCESS);
	for (size_t i = 0; i < PAIRS; i++) {
		ind[i] = index_of(0, i);
		val[i] = value_of(0, i, 0);
	}
	mems[0] = mem_of(ind, sizeof ind);
	mems[1] = mem_of(val, sizeof val);
	mems[2] = mem_of(to_ind, sizeof to_ind);
	mems[3] = mem_of(to_val, sizeof to_val);
	for (int i = 0; i < 2; i++) {
		size_t pairs = RANGE;

		assert_int_equal(choir_coalesce_rows(world_device(), choir_mem(mems[0], 0), PAIRS,
		                                     choir_mem(mems[1], 0), PAIRS, CHOIR_I32, CHOIR_U64, ops[i],
		                                     choir_mem(mems[2], 0), choir_mem(mems[3], 0), &pairs, NULL, NULL),
		                 i == 0 ? CHOIR_SUCCESS : CHOIR_ARGUMENT);
		if (i == 1) {
			assert_non_null(strstr(choir_last_error(), "no_such_name"));
			continue;
		}
		assert_int_equal(read_mem(dev_queue(world_device()), mems[2], 0, sizeof to_ind, to_ind), CL_SUCCESS);
		assert_int_equal(read_mem(dev_queue(world_device()), mems[3], 0, sizeof to_val, to_val), CL_SUCCESS);
		assert_true(is_right(1, false, 1, to_ind, to_val, pairs));
	}
	for (int i = 0; i < 4; i++)
		clReleaseMemObject(mems[i]);
	choir_op_destroy(ops[0]);
	choir_op_destroy(ops[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(every_algorithm), cmocka_unit_test(kept_calls),
		                            cmocka_unit_test(ranks_compare), cmocka_unit_test(rows_of_a_device),
		                            cmocka_unit_test(rows_by_texts) };
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	world_device_drop();
	return failed;
}
