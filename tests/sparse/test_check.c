/* SPDX-License-Identifier: MIT */
/* Arguments, one wrong at a time; the arithmetic of index forms, regions and blocks; what headers must agree on. */
#include "sparse/block.h"
#include "sparse/header.h"
#include "sparse/on_device.h"
#include "sparse/region.h"
#include "sparse/sparse.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

/* A correct call to spoil: 4 pairs of width 2 into capacity 8. */
struct good {
	int32_t ind[8], out_ind[8];
	float val[16], out_val[16];
	size_t ind_count, val_count;
	struct sparse_call call;
};

static choir_status nothing(void *ctx, choir_buffer ind, size_t n_ind, choir_dtype t, choir_buffer val, size_t n_val,
                            choir_dtype u)
{
	(void)ctx, (void)ind, (void)n_ind, (void)t, (void)val, (void)n_val, (void)u;
	return CHOIR_SUCCESS;
}

static choir_status no_memory(void *ctx, size_t n_ind, choir_dtype t, size_t n_val, choir_dtype u, choir_buffer *ind,
                              choir_buffer *val)
{
	(void)ctx, (void)n_ind, (void)t, (void)n_val, (void)u, (void)ind, (void)val;
	return CHOIR_SUCCESS;
}

static void make_good(struct good *g)
{
	memset(g, 0, sizeof *g);
	g->call = (struct sparse_call){ .send_ind = choir_host(g->ind),
		                        .send_val = choir_host(g->val),
		                        .send_ind_count = 4,
		                        .send_val_count = 8,
		                        .recv_ind = choir_host(g->out_ind),
		                        .recv_val = choir_host(g->out_val),
		                        .recv_ind_count = &g->ind_count,
		                        .recv_val_count = &g->val_count,
		                        .ind_capacity = 8,
		                        .val_capacity = 16,
		                        .ind_dtype = CHOIR_I32,
		                        .val_dtype = CHOIR_F32,
		                        .op = CHOIR_OP_SUM,
		                        .attr = CHOIR_SPARSE_ATTR_INIT };
	assert_int_equal(sparse_check(device, 2, &g->call), CHOIR_SUCCESS);
}

/* The call is refused with this status and a sentence that holds the text; then g is good again. */
static void refused(struct good *g, choir_status status, const char *text)
{
	choir_status st = sparse_check(device, 2, &g->call);

	if (st != status || strstr(choir_last_error(), text) == NULL)
		fail_msg("%s \"%s\", not %s \"... %s ...\"", choir_status_name(st), choir_last_error(),
		         choir_status_name(status), text);
	make_good(g);
}

static void wrong_types(void **state)
{
	struct good g;

	(void)state;
	make_good(&g);
	g.call.ind_dtype = CHOIR_U32;
	refused(&g, CHOIR_UNSUPPORTED, "ind_dtype is u32");
	g.call.ind_dtype = 77;
	refused(&g, CHOIR_ARGUMENT, "77");
	g.call.val_dtype = -1;
	refused(&g, CHOIR_ARGUMENT, "-1");
	g.call.op = 99;
	refused(&g, CHOIR_ARGUMENT, "99");
	g.call.op = CHOIR_OP_LOCAL;
	refused(&g, CHOIR_UNSUPPORTED, "local");
	g.call.op = CHOIR_OP_PREMUL_SUM;
	g.call.val_dtype = CHOIR_I32;
	refused(&g, CHOIR_UNSUPPORTED, "premul_sum");
	g.call.op = CHOIR_OP_BXOR;
	refused(&g, CHOIR_UNSUPPORTED, "bxor");
	g.call.attr.coalesce_mode = (choir_coalesce)9;
	refused(&g, CHOIR_ARGUMENT, "coalesce_mode 9");
	g.call.algorithm = "magic";
	refused(&g, CHOIR_ARGUMENT, "\"magic\" is none of sparse_allreduce's: allgather, split, split_bitmap");
	g.call.algorithm = "mask";
	g.call.attr.coalesce_mode = CHOIR_COALESCE_DISABLE;
	refused(&g, CHOIR_UNSUPPORTED, "algorithm mask merges rows");
	g.call.attr.wire = (choir_sparse_wire)7;
	refused(&g, CHOIR_ARGUMENT, "wire type 7");
	g.call.attr.wire = CHOIR_SPARSE_WIRE_F16;
	g.call.val_dtype = CHOIR_I32;
	refused(&g, CHOIR_UNSUPPORTED, "val_dtype is i32");
}

static void wrong_counts(void **state)
{
	struct good g;

	(void)state;
	make_good(&g);
	g.call.send_val_count = 9;
	refused(&g, CHOIR_ARGUMENT, "send_val_count 9 is no multiple of send_ind_count 4");
	g.call.send_ind_count = 0;
	refused(&g, CHOIR_ARGUMENT, "send_val_count is 8 with a send_ind_count of 0");
	g.call.send_val_count = 0;
	refused(&g, CHOIR_ARGUMENT, "send_val_count is 0");
	g.call.send_ind_count = SIZE_MAX / 4 + 1;
	g.call.send_val_count = g.call.send_ind_count;
	refused(&g, CHOIR_ARGUMENT, "more than any memory");
	g.call.val_capacity = SIZE_MAX;
	refused(&g, CHOIR_ARGUMENT, "recv_val");
}

static void wrong_ways(void **state)
{
	struct good g;

	(void)state;
	make_good(&g);
	g.call.attr.completion_fn = nothing;
	refused(&g, CHOIR_ARGUMENT, "completion_fn and a receive buffer");
	g.call.attr.alloc_fn = no_memory;
	refused(&g, CHOIR_ARGUMENT, "alloc_fn and a receive buffer");
	g.call.attr.completion_fn = nothing;
	g.call.attr.alloc_fn = no_memory;
	refused(&g, CHOIR_ARGUMENT, "both completion_fn and alloc_fn");
	g.call.recv_ind = g.call.recv_val = choir_none();
	g.call.recv_ind_count = g.call.recv_val_count = NULL;
	refused(&g, CHOIR_ARGUMENT, "no way for the result");
	g.call.recv_val_count = NULL;
	refused(&g, CHOIR_ARGUMENT, "recv_val_count is NULL");
	g.call.recv_val_count = g.call.recv_ind_count;
	refused(&g, CHOIR_ARGUMENT, "same variable");
}

static void wrong_memory(void **state)
{
	struct good g;
	cl_int rc;
	cl_mem mem = clCreateBuffer(choir_device_context(device), CL_MEM_READ_WRITE, 16, NULL, &rc);

	(void)state;
	make_good(&g);
	g.call.send_ind = choir_none();
	refused(&g, CHOIR_ARGUMENT, "send_ind");
	g.call.send_val = choir_host(NULL);
	refused(&g, CHOIR_ARGUMENT, "send_val");
	g.call.send_val = choir_host((char *)g.val + 2);
	refused(&g, CHOIR_ARGUMENT, "send_val");
	g.call.recv_val = choir_mem(mem, 0);
	refused(&g, CHOIR_ARGUMENT, "recv_val");
	g.call.send_ind = choir_mem(mem, 4);
	refused(&g, CHOIR_ARGUMENT, "send_ind");
	g.call.recv_val = choir_host(g.val + 6);
	refused(&g, CHOIR_ARGUMENT, "send_val and recv_val overlap");
	g.call.recv_ind = choir_host(g.ind + 3);
	refused(&g, CHOIR_ARGUMENT, "send_ind and recv_ind overlap");
	g.call.recv_ind = choir_host(g.out_val + 1);
	refused(&g, CHOIR_ARGUMENT, "recv_ind and recv_val overlap");
	clReleaseMemObject(mem);
}

static void right_calls(void **state)
{
	struct good g;

	(void)state;
	make_good(&g);
	g.call.send_ind = g.call.send_val = choir_none();
	g.call.send_ind_count = g.call.send_val_count = 0;
	assert_int_equal(sparse_check(device, 1, &g.call), CHOIR_SUCCESS);
	g.call.recv_ind = g.call.recv_val = choir_none();
	g.call.ind_capacity = g.call.val_capacity = 0;
	assert_int_equal(sparse_check(device, 1, &g.call), CHOIR_SUCCESS); /* asks for the sizes only */
	g.call.attr.alloc_fn = no_memory;
	assert_int_equal(sparse_check(device, 1, &g.call), CHOIR_SUCCESS);
}

static void agreement_tells_calls_apart(void **state)
{
	struct good a, b;

	(void)state;
	make_good(&a);
	make_good(&b);
	b.call.send_ind_count = 2;
	b.call.recv_ind = choir_none();
	assert_true(sparse_agreement(&a.call) == sparse_agreement(&b.call));
	b.call.op = CHOIR_OP_MAX;
	assert_true(sparse_agreement(&a.call) != sparse_agreement(&b.call));
	make_good(&b);
	b.call.ind_dtype = CHOIR_I64;
	assert_true(sparse_agreement(&a.call) != sparse_agreement(&b.call));
	make_good(&b);
	b.call.algorithm = "allgather";
	assert_true(sparse_agreement(&a.call) != sparse_agreement(&b.call));
}

static void forms(void **state)
{
	static const struct {
		struct index_range range;
		struct index_form form;
	} rows[] = {
		{ { 0, -1 }, { 4, 0 } },
		{ { 5, INT32_MAX }, { 4, 0 } },
		{ { 5, (int64_t)INT32_MAX + 1 }, { 4, 5 } },
		{ { 0, (int64_t)INT32_MAX + 1 }, { 8, 0 } },
		{ { INT64_MAX - 3, INT64_MAX }, { 4, INT64_MAX - 3 } },
		{ { 0, INT64_MAX }, { 8, 0 } },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct index_form form = index_form_of(rows[i].range);

		assert_int_equal(form.bytes, rows[i].form.bytes);
		assert_true(form.base == rows[i].form.base);
	}
}

/* Regions are disjoint, in order, and cover the range; none is more than one index longer than another. */
static void regions(void **state)
{
	static const struct index_range ranges[] = { { 0, 0 },         { 3, 9 },         { 0, 1000000 },
		                                     { 7, INT64_MAX }, { 0, INT64_MAX }, { INT64_MAX, INT64_MAX } };

	(void)state;
	for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
		for (int n = 1; n <= 32; n++) {
			uint64_t next = (uint64_t)ranges[i].lo, span = (uint64_t)(ranges[i].hi - ranges[i].lo) + 1;

			for (int r = 0; r < n; r++) {
				struct index_range part = region_of(ranges[i], r, n);

				if (index_range_is_empty(part))
					continue;
				assert_true((uint64_t)part.lo == next);
				assert_true((uint64_t)(part.hi - part.lo) + 1 <= span / (uint64_t)n + 1);
				next = (uint64_t)part.hi + 1;
			}
			assert_true(next == (uint64_t)ranges[i].hi + 1);
		}
}

static void region_ends(void **state)
{
	static const int64_t ind[] = { 2, 3, 3, 10, 11, 90 };
	struct pairs pairs = { .ind = ind, .count = 6, .form = { .bytes = 8 } };

	(void)state;
	assert_int_equal(region_end(&pairs, 0, (struct index_range){ 0, 1 }), 0);
	assert_int_equal(region_end(&pairs, 0, (struct index_range){ 0, 3 }), 3);
	assert_int_equal(region_end(&pairs, 3, (struct index_range){ 4, 10 }), 4);
	assert_int_equal(region_end(&pairs, 4, INDEX_RANGE_EMPTY), 4);
	assert_int_equal(region_end(&pairs, 4, (struct index_range){ 11, 200 }), 6);
}

static void blocks(void **state)
{
	struct index_form four = { .bytes = 4 }, eight = { .bytes = 8 };

	(void)state;
	assert_int_equal(block_bytes(four, 0, 12), 0);
	assert_int_equal(block_rows_off(four, 3), 16);
	assert_int_equal(block_bytes(four, 3, 2), 32);
	assert_int_equal(block_bytes(eight, 3, 16), 32 + 48);
}

static void headers(void **state)
{
	struct sparse_header all[3] = {
		{ .pairs = 2, .raw_pairs = 3, .width = 4, .lo = 5, .hi = 9, .bad_at = 3, .algorithm = -1 },
		{ .lo = 0, .hi = -1, .algorithm = -1 },
		{ .pairs = 1, .raw_pairs = 1, .width = 4, .lo = 2, .hi = 2, .bad_at = 1, .algorithm = -1 }
	};
	struct sparse_facts facts;

	(void)state;
	assert_int_equal(header_agree(all, 1, &facts), CHOIR_SUCCESS);
	assert_int_equal(facts.least, 2);
	assert_int_equal(header_agree(all, 3, &facts), CHOIR_SUCCESS);
	assert_int_equal(facts.pairs, 3);
	assert_int_equal(facts.most, 2);
	assert_int_equal(facts.least, 0);
	assert_int_equal(facts.width, 4);
	assert_int_equal(facts.range.lo, 2);
	assert_int_equal(facts.range.hi, 9);
	assert_false(facts.on_device || facts.some_stay);
	for (int r = 0; r < 3; r++) { /* a merge of 3 pairs: buffers of 48 bytes, 3 * (32 + 8 + 2 * 16) in all */
		all[r].list_on_device = (uint64_t)r + 1;
		all[r].val_dtype = CHOIR_F32;
		all[r].buffer_bytes = 48;
		all[r].memory_bytes = 216;
	}
	assert_int_equal(header_agree(all, 3, &facts), CHOIR_SUCCESS);
	assert_true(facts.on_device && !facts.some_stay);
	all[1].memory_bytes--;
	assert_int_equal(header_agree(all, 3, &facts), CHOIR_SUCCESS);
	assert_true(!facts.on_device && facts.some_stay);
	all[1].memory_bytes++;
	all[0].buffer_bytes--;
	assert_int_equal(header_agree(all, 3, &facts), CHOIR_SUCCESS);
	assert_true(!facts.on_device && facts.some_stay);
	all[2].mode = 3;
	assert_int_equal(header_agree(all, 3, &facts), CHOIR_MISMATCH);
	assert_non_null(strstr(choir_last_error(), "rank 2 with 3"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(wrong_types), cmocka_unit_test(wrong_counts),
		cmocka_unit_test(wrong_ways),  cmocka_unit_test(wrong_memory),
		cmocka_unit_test(right_calls), cmocka_unit_test(agreement_tells_calls_apart),
		cmocka_unit_test(forms),       cmocka_unit_test(regions),
		cmocka_unit_test(region_ends), cmocka_unit_test(blocks),
		cmocka_unit_test(headers),
	};

	return cmocka_run_group_tests(tests, open_device, close_device);
}
