/* SPDX-License-Identifier: MIT */
/* choir_supports answers for every collective, data type, operator, the caller's own too, and kind of memory what the
 * call itself answers; so does each form of a list, with the same result. */
#include "base/dtype.h"
#include "dev/device_impl.h"
#include "quick.h"
#include "world/flight.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* The answer and what the call said. */
static void compare_statuses(struct world *world, int rank, const char *name, choir_dtype dtype, choir_op op,
                             choir_status answer, choir_status st)
{
	if (answer != st || (st != CHOIR_SUCCESS && st != CHOIR_UNSUPPORTED))
		world_fail(world, rank, "%s of %s, %s: choir_supports says %s, the call %s", name,
		           choir_dtype_name(dtype), choir_op_name(op), choir_status_name(answer),
		           choir_status_name(st));
}

/* By c's operator, or one of the caller's, whose results others test.  Returns true if the call ran. */
static bool ask_and_call(struct world *world, int rank, choir_comm *comm, const struct dense_call *c,
                         const choir_op *own)
{
	const char *name = c->what->name;
	choir_op op = own != NULL ? *own : c->op;
	struct dense_flight flight;
	choir_status answer, st;

	flight_make(&flight, world, rank, c);
	flight.args.op = op;
	answer = choir_supports(comm, name, c->dtype, op, flight.args.send);
	st = flight_call(&flight, comm, NULL, NULL);
	compare_statuses(world, rank, name, c->dtype, op, answer, st);
	if (st == CHOIR_SUCCESS && own == NULL)
		flight_compare(&flight, world);
	flight_free(&flight);
	return st == CHOIR_SUCCESS;
}

/* Short lists: two ranks, and of the device's memory cl_mems. */
static int least_ranks(void)
{
	return quick_wanted() ? 2 : 1;
}

static int end_of_kinds(void)
{
	return quick_wanted() ? MEMORY_MEM + 1 : MEMORY_MIXED;
}

/* Alone and of two ranks, on host memory and on each kind that the device has. */
static void on_each_kind(world_fn fn)
{
	bool device = false;

	for (int n = least_ranks(); n <= 2; n++)
		for (int per_node = 0; per_node < n; per_node++)
			world_run_at(n, per_node, 120000, fn, &device);
	device = true;
	for (int kind = 0; kind < end_of_kinds(); kind++) {
		const char *lacks = memory_lacks(world_device(), (enum memory_kind)kind);

		if (lacks != NULL) {
			print_message("%s: %s\n", memory_kind_names[kind], lacks);
			continue;
		}
		memory_choose((enum memory_kind)kind);
		for (int n = least_ranks(); n <= 2; n++)
			world_run(n, NULL, fn, &device);
	}
	memory_choose(MEMORY_MEM);
}

/* --- dense calls --- */

/* Reductions: 9 operators of 8 integers and bool, 8 of 6 floats, 3 of 4 pairs, of 7 calls; less what scan and
 * exscan lack. */
enum { MOST_LIKELY = 1000 };

static void dense(struct world *world, int rank, choir_comm *comm, void *device_p)
{
	int ran = 0;

	for (int what = 0; what < N_COLLECTIVE_ROWS; what++)
		for (choir_dtype dtype = 0; dtype < N_DTYPES; dtype++)
			for (choir_op op = 0; op < (collectives[what].reduces ? N_OPS : 1); op++) {
				struct dense_call c = { .what = &collectives[what],
					                .dtype = dtype,
					                .op = op,
					                .count = 3,
					                .n = world->n,
					                .device = *(bool *)device_p };

				ran += ask_and_call(world, rank, comm, &c, NULL);
			}
	CHECK(ran > MOST_LIKELY);
}

static void test_dense(void **state)
{
	(void)state;
	on_each_kind(dense);
}

/* --- lists --- */

enum list_form { ALLREDUCE_MULTI, REDUCE_MULTI, REDUCE_SCATTER_MULTI, REDUCE_SCATTER_PADDED_MULTI, N_LIST_FORMS };

static choir_status call_list(enum list_form form, choir_comm *comm, choir_tensor list[2], choir_op op,
                              const choir_call *call)
{
	switch (form) {
	case ALLREDUCE_MULTI:
		return choir_allreduce_multi(comm, list, 2, op, call, NULL);
	case REDUCE_MULTI:
		return choir_reduce_multi(comm, list, 2, op, 0, call, NULL);
	case REDUCE_SCATTER_MULTI:
		return choir_reduce_scatter_multi(comm, list, 2, op, call, NULL);
	default:
		return choir_reduce_scatter_padded_multi(comm, list, 2, op, call, NULL);
	}
}

/* Two tensors, of no padding: what comes out is what the call for each alone gives. */
static int run_list(struct world *world, int rank, choir_comm *comm, enum list_form form, choir_dtype dtype,
                    choir_op op)
{
	static const int rows[N_LIST_FORMS] = { ALLREDUCE, REDUCE, REDUCE_SCATTER, REDUCE_SCATTER };
	struct dense_flight flights[2];
	choir_tensor list[2];
	choir_call call = CHOIR_CALL_INIT;
	const char *name = collectives[rows[form]].name;
	choir_status answer = choir_supports(comm, name, dtype, op, choir_none()), st;

	call.factor = values_factor(op);
	for (size_t i = 0; i < 2; i++) {
		struct dense_call c = {
			.what = &collectives[rows[form]], .dtype = dtype, .op = op, .count = 3 + 4 * i, .n = world->n
		};

		flight_make(&flights[i], world, rank, &c);
		list[i] = (choir_tensor){ flights[i].args.send, flights[i].args.recv, flights[i].args.count, dtype };
		if (form == REDUCE_SCATTER_PADDED_MULTI)
			list[i].count *= (size_t)world->n;
	}
	st = call_list(form, comm, list, op, &call);
	if (answer != st)
		world_fail(world, rank, "a list of %s of %s, %s: choir_supports says %s, the call %s", name,
		           choir_dtype_name(dtype), choir_op_name(op), choir_status_name(answer),
		           choir_status_name(st));
	for (int i = 0; i < 2; i++) {
		if (st == CHOIR_SUCCESS)
			flight_compare(&flights[i], world);
		flight_free(&flights[i]);
	}
	return st == CHOIR_SUCCESS;
}

static void lists(struct world *world, int rank, choir_comm *comm, void *unused)
{
	int ran = 0;

	(void)unused;
	for (int form = 0; form < N_LIST_FORMS; form++)
		for (choir_dtype dtype = 0; dtype < N_DTYPES; dtype++)
			for (choir_op op = 0; op < N_OPS; op++)
				ran += run_list(world, rank, comm, (enum list_form)form, dtype, op);
	CHECK(ran > N_LIST_FORMS * 100);
}

static void test_lists(void **state)
{
	(void)state;
	for (int n = least_ranks(); n <= 2; n++)
		for (int per_node = 0; per_node < n; per_node++)
			world_run_at(n, per_node, 120000, lists, NULL);
}

/* --- sparse rows --- */

/* One row of one element.  Returns true if the call ran. */
static bool ask_and_send_row(struct world *world, int rank, choir_comm *comm, choir_dtype dtype, choir_op op,
                             bool device)
{
	size_t bytes = choir_dtype_bytes(dtype), n_ind = 1, n_val = 1;
	struct memory ind, val, out_ind, out_val;
	choir_status answer, st;

	CHECK(memory_make(&ind, world->device, device, 4, 4) && memory_make(&out_ind, world->device, device, 4, 8));
	CHECK(memory_make(&val, world->device, device, bytes, bytes) &&
	      memory_make(&out_val, world->device, device, bytes, 2 * bytes));
	memset(memory_payload(&ind), 0, 4);
	memset(memory_payload(&val), 0, bytes);
	memory_push(&ind);
	memory_push(&val);
	answer = choir_supports(comm, "sparse_allreduce", dtype, op, val.buffer);
	st = choir_sparse_allreduce(comm, ind.buffer, 1, val.buffer, 1, out_ind.buffer, &n_ind, out_val.buffer, &n_val,
	                            CHOIR_I32, dtype, op, NULL, NULL, NULL);
	compare_statuses(world, rank, "rows", dtype, op, answer, st);
	memory_free(&ind);
	memory_free(&val);
	memory_free(&out_ind);
	memory_free(&out_val);
	return st == CHOIR_SUCCESS;
}

static void sparse(struct world *world, int rank, choir_comm *comm, void *device_p)
{
	int ran = 0;

	for (choir_dtype dtype = 0; dtype < N_DTYPES; dtype++)
		for (choir_op op = 0; op < N_OPS; op++)
			ran += ask_and_send_row(world, rank, comm, dtype, op, *(bool *)device_p);
	CHECK(ran > 100);
	CHECK(choir_supports(comm, "sparse_allreduce", CHOIR_F8E4M3, CHOIR_OP_SUM, choir_none()) == CHOIR_SUCCESS);
	CHECK(choir_supports(comm, "sparse_allreduce", CHOIR_F32_I32, CHOIR_OP_MINLOC, choir_none()) ==
	      CHOIR_UNSUPPORTED);
}

static void test_sparse(void **state)
{
	(void)state;
	on_each_kind(sparse);
}

/* --- gradients --- */

enum { GRADIENT = 4 };

/* Returns true if the call ran: what create refuses is no call. */
static bool ask_and_send_gradient(struct world *world, int rank, choir_comm *comm, choir_dtype dtype, choir_op op,
                                  bool device)
{
	choir_topk_config config = CHOIR_TOPK_CONFIG_INIT;
	choir_topk_out out = CHOIR_TOPK_OUT_INIT;
	size_t bytes = choir_dtype_bytes(dtype);
	choir_topk_state *topk = NULL;
	struct memory grad, dense;
	choir_status answer, st;

	CHECK(memory_make(&grad, world->device, device, GRADIENT * bytes, bytes) &&
	      memory_make(&dense, world->device, device, GRADIENT * bytes, bytes));
	memset(memory_payload(&grad), 0, GRADIENT * bytes);
	memory_push(&grad);
	config.count = GRADIENT;
	config.dtype = dtype;
	config.op = op;
	out.dense = dense.buffer;
	answer = choir_supports(comm, "topk_allreduce", dtype, op, grad.buffer);
	st = choir_topk_create(comm, &config, &topk);
	if (st == CHOIR_SUCCESS)
		st = choir_topk_allreduce(topk, grad.buffer, &out, NULL, NULL);
	compare_statuses(world, rank, "gradients", dtype, op, answer, st);
	choir_topk_destroy(topk);
	memory_free(&grad);
	memory_free(&dense);
	return st == CHOIR_SUCCESS;
}

/* Sum and mean of four floats. */
static choir_status topk_possible(choir_dtype dtype, choir_op op)
{
	bool is_float = dtype == CHOIR_F16 || dtype == CHOIR_BF16 || dtype == CHOIR_F32 || dtype == CHOIR_F64;

	return is_float && (op == CHOIR_OP_SUM || op == CHOIR_OP_MEAN) ? CHOIR_SUCCESS : CHOIR_UNSUPPORTED;
}

static void gradients(struct world *world, int rank, choir_comm *comm, void *device_p)
{
	int ran = 0;

	for (choir_dtype dtype = 0; dtype < N_DTYPES; dtype++)
		for (choir_op op = 0; op < N_OPS; op++) {
			ran += ask_and_send_gradient(world, rank, comm, dtype, op, *(bool *)device_p);
			CHECK(choir_supports(comm, "topk_allreduce", dtype, op, choir_none()) ==
			      topk_possible(dtype, op));
		}
	CHECK(ran == 4 * 2);
}

static void test_gradients(void **state)
{
	(void)state;
	on_each_kind(gradients);
}

/* --- operators of the caller's --- */

enum op_form { FUNCTIONS, TEXTS, BOTH, N_OP_FORMS };

static void keep_lower(void *ctx, void *acc, const void *src, size_t count, choir_dtype dtype)
{
	(void)ctx;
	(void)acc;
	(void)src;
	(void)count;
	(void)dtype;
}

/* For two data types, since each text is built. */
static choir_op op_of(enum op_form form)
{
	choir_op_config config = CHOIR_OP_CONFIG_INIT;
	choir_op op = -1;

	config.name = "lower";
	config.fold = form != TEXTS ? keep_lower : NULL;
	config.fold_text = form != FUNCTIONS ? "a" : NULL;
	config.dtypes = 1u << CHOIR_I32 | 1u << CHOIR_F64;
	assert_int_equal(choir_op_create(&config, &op), CHOIR_SUCCESS);
	return op;
}

struct own {
	choir_op op;
	int dense, rows; /* calls that ran */
};

static void own_ops(struct world *world, int rank, choir_comm *comm, void *own_p)
{
	struct own *own = own_p;

	own->dense = own->rows = 0;
	for (choir_dtype dtype = 0; dtype < N_DTYPES; dtype++) {
		for (int what = 0; what < N_COLLECTIVE_ROWS; what++) {
			struct dense_call c = {
				.what = &collectives[what], .dtype = dtype, .op = CHOIR_OP_SUM, .count = 3, .n = 1
			};

			if (c.what->reduces)
				own->dense += ask_and_call(world, rank, comm, &c, &own->op);
		}
		own->rows += ask_and_send_row(world, rank, comm, dtype, own->op, false);
		IS(choir_supports(comm, "topk_allreduce", dtype, own->op, choir_none()), CHOIR_UNSUPPORTED);
	}
}

/* Each form on one device: of the two data types so many run. */
static void on_device_of(choir_device *device, const int types[N_OP_FORMS])
{
	enum { REDUCTIONS = 7 };

	for (int form = 0; form < N_OP_FORMS; form++) {
		struct own own = { .op = op_of((enum op_form)form) };
		struct world world;

		world_begin_on(&world, 1, &device, NULL);
		world_threads(&world, own_ops, &own);
		world_end(&world);
		if (own.dense != REDUCTIONS * types[form] || own.rows != types[form])
			fail_msg("form %d: %d dense calls and %d of rows ran", form, own.dense, own.rows);
		choir_op_destroy(own.op);
	}
}

/* Texts need kernels: host memory alone has none, a device without fp64 none of f64. */
static void test_own_ops(void **state)
{
	choir_device *host, *far = world_far_device(CHOIR_REDUCE_KERNEL);

	(void)state;
	on_device_of(world_device(), (const int[]){ 2, world_device()->facts.fp64 ? 2 : 1, 2 });
	far->facts.fp64 = false;
	on_device_of(far, (const int[]){ 2, 1, 2 });
	assert_int_equal(choir_device_create_host(&host), CHOIR_SUCCESS);
	on_device_of(host, (const int[]){ 2, 0, 2 });
	choir_device_destroy(host);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_dense), cmocka_unit_test(test_lists),
		                            cmocka_unit_test(test_sparse), cmocka_unit_test(test_gradients),
		                            cmocka_unit_test(test_own_ops) };
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	world_device_drop();
	return failed;
}
