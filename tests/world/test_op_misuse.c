/* SPDX-License-Identifier: MIT */
/* Operators of the caller's own, used wrongly: every bad member, texts that do not compile, ranks that differ,
 * operators that are destroyed. */
#include "world/gate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { COUNT = 5000 };

static void fold(void *ctx, void *acc, const void *src, size_t count, choir_dtype dtype)
{
	(void)ctx;
	(void)dtype;
	for (size_t i = 0; i < count; i++)
		((int32_t *)acc)[i] += ((const int32_t *)src)[i];
}

static void each(void *ctx, void *data, size_t count, int ranks, choir_dtype dtype)
{
	(void)ctx;
	(void)data;
	(void)count;
	(void)ranks;
	(void)dtype;
}

static choir_op_config config_of(const char *name)
{
	choir_op_config config = CHOIR_OP_CONFIG_INIT;

	config.name = name;
	config.fold = fold;
	return config;
}

static choir_op create(choir_op_config config)
{
	choir_op op = -1;

	assert_int_equal(choir_op_create(&config, &op), CHOIR_SUCCESS);
	return op;
}

static void is_refused(const choir_op_config *config, const char *why)
{
	choir_op op = -5;

	assert_int_equal(choir_op_create(config, &op), CHOIR_ARGUMENT);
	if (strstr(choir_last_error(), why) == NULL)
		fail_msg("'%s' lacks '%s'", choir_last_error(), why);
	assert_int_equal(op, -5);
}

static void bad_names(void **state)
{
	choir_op_config config = config_of(NULL);

	(void)state;
	assert_int_equal(choir_op_create(&config, NULL), CHOIR_ARGUMENT);
	is_refused(NULL, "choir_op_create: null config");
	is_refused(&config, "the operator has no name");
	config.name = "";
	is_refused(&config, "the operator has no name");
	config.name = "a name of more than thirty-one letters";
	is_refused(&config, "has more than 31 characters");
	config.name = "two\nlines";
	is_refused(&config, "character 4 of the name cannot be printed");
	config.name = "\"";
	is_refused(&config, "character 1 of the name cannot be printed, or is a quote");
	config.name = "x";
	config.struct_size = 4;
	is_refused(&config, "struct_size is 4");
	config.struct_size = sizeof config + 8;
	is_refused(&config, "(use CHOIR_OP_CONFIG_INIT)");
	config = config_of("x");
	assert_int_equal(choir_op_create(&config, NULL), CHOIR_ARGUMENT);
	assert_string_equal(choir_last_error(), "choir_op_create: null op_p");
}

static void bad_members(void **state)
{
	choir_op_config config = config_of("x");

	(void)state;
	config.fold = NULL;
	is_refused(&config, "operator 'x': neither fold nor fold_text is given");
	config.fold_text = "a + b";
	config.raw = each;
	is_refused(&config, "operator 'x': raw is given without fold");
	config.raw = NULL;
	config.identity = each;
	is_refused(&config, "operator 'x': identity is given without fold");
	config = config_of("x");
	config.final_text = "a";
	is_refused(&config, "operator 'x': final_text is given without fold_text");
	config.final_text = NULL;
	config.source = "int f(void);";
	is_refused(&config, "operator 'x': source is given without fold_text");
	config.source = NULL;
	config.identity_text = "0";
	is_refused(&config, "operator 'x': identity_text is given without fold_text");
	config.fold_text = "a + b";
	config.raw = each;
	is_refused(&config, "operator 'x': raw_text is missing: fold is given in both forms");
	config.raw = NULL;
	config.final_text = "a";
	is_refused(&config, "operator 'x': final is missing: fold is given in both forms");
	config = config_of("x");
	config.commutative = 2;
	is_refused(&config, "operator 'x': commutative is 2: 0 or 1 is wanted");
	config.commutative = 1;
	config.dtypes = UINT64_C(1) << 63;
	is_refused(&config, "operator 'x': bit 63 of dtypes is no data type");
}

static void numbers(void **state)
{
	choir_op op = create(config_of("x"));

	(void)state;
	assert_string_equal(choir_op_name(op), "x");
	assert_int_equal(choir_op_destroy(CHOIR_OP_SUM), CHOIR_ARGUMENT);
	assert_int_equal(choir_op_destroy(op + 1), CHOIR_ARGUMENT);
	assert_int_equal(choir_op_destroy(op), CHOIR_SUCCESS);
	assert_int_equal(choir_op_destroy(op), CHOIR_ARGUMENT);
	assert_non_null(strstr(choir_last_error(), "is no operator of the caller's"));
	assert_string_equal(choir_op_name(op), "unknown");
	assert_true(create(config_of("x")) != op);
}

/* --- in calls --- */

static void refused(struct world *world, int rank, choir_comm *comm, void *op_p)
{
	choir_op op = *(choir_op *)op_p;
	float f[8] = { 0 };
	int32_t data[8] = { 0 };

	IS(choir_allreduce(comm, choir_host(f), choir_host(f), 8, CHOIR_F32, op, NULL, NULL), CHOIR_UNSUPPORTED);
	CHECK(strstr(choir_last_error(), "operator 'ints' is not for f32, as its dtypes say"));
	IS(choir_supports(comm, "allreduce", CHOIR_F32, op, choir_none()), CHOIR_UNSUPPORTED);
	OK(choir_supports(comm, "allreduce", CHOIR_I32, op, choir_none()));
	OK(choir_comm_warm(comm, CHOIR_I32, op));
	IS(choir_allreduce(comm, choir_host(data), choir_host(data), 8, CHOIR_I32, op + 5000, NULL, NULL),
	   CHOIR_ARGUMENT);
	CHECK(strstr(choir_last_error(), "is no operator, or one that is destroyed"));
	OK(choir_barrier(comm, NULL, NULL));
}

static void refused_types(void **state)
{
	choir_op_config config = config_of("ints");
	choir_op op;

	(void)state;
	config.dtypes = 1u << CHOIR_I32;
	op = create(config);
	world_run_at(3, 0, 60000, refused, &op);
	choir_op_destroy(op);
}

/* Its calls are in the caches of the comms. */
static void warm_again(struct world *world, int rank, choir_comm *comm, void *op_p)
{
	choir_op op = *(choir_op *)op_p;
	int32_t data[8] = { 0 };

	OK(choir_allreduce(comm, choir_host(data), choir_host(data), 8, CHOIR_I32, op, NULL, NULL));
	line_up();
	if (rank == 0)
		choir_op_destroy(op);
	line_up();
	IS(choir_comm_warm(comm, CHOIR_I32, op), CHOIR_ARGUMENT);
	CHECK(strstr(choir_last_error(), "choir_comm_warm") && strstr(choir_last_error(), "is destroyed"));
}

static void warm_after_its_end(void **state)
{
	choir_op op = create(config_of("ints"));

	(void)state;
	line_up_run(2, 0, 60000, warm_again, &op);
}

static void does_not_compile(struct world *world, int rank, choir_comm *comm, void *op_p)
{
	choir_op op = *(choir_op *)op_p;
	int32_t data[8] = { 0 };

	IS(choir_comm_warm(comm, CHOIR_I32, op), CHOIR_ARGUMENT);
	for (int again = 0; again < 2; again++) {
		IS(choir_allreduce(comm, choir_host(data), choir_host(data), 8, CHOIR_I32, op, NULL, NULL),
		   CHOIR_ARGUMENT);
		CHECK(strstr(choir_last_error(), "choir_allreduce") && strstr(choir_last_error(), "no_such_name"));
	}
	OK(choir_allreduce(comm, choir_host(data), choir_host(data), 8, CHOIR_I32, CHOIR_OP_SUM, NULL, NULL));
}

static void bad_texts(void **state)
{
	choir_op_config config = config_of("wrong");
	choir_op op;

	(void)state;
	config.fold = NULL;
	config.fold_text = "a + no_such_name";
	op = create(config);
	world_run_at(2, 0, 60000, does_not_compile, &op);
	choir_op_destroy(op);
}

static void texts_alone(void **state)
{
	choir_op_config config = config_of("texts");
	int32_t data[4] = { 1, 2, 3, 4 };
	choir_device *device;
	choir_comm *comm;
	choir_op op;

	(void)state;
	config.fold = NULL;
	config.fold_text = "a + b";
	op = create(config);
	assert_int_equal(choir_device_create_host(&device), CHOIR_SUCCESS);
	assert_int_equal(choir_comm_create_local(1, &device, NULL, &comm), CHOIR_SUCCESS);
	assert_int_equal(choir_allreduce(comm, choir_host(data), choir_host(data), 4, CHOIR_I32, op, NULL, NULL),
	                 CHOIR_UNSUPPORTED);
	assert_non_null(strstr(choir_last_error(), "operator 'texts' has no fold function, and the device, host "
	                                           "memory alone, has no kernels"));
	choir_comm_destroy(comm);
	choir_device_destroy(device);
	choir_op_destroy(op);
}

static void differ(struct world *world, int rank, choir_comm *comm, void *ops)
{
	int32_t data[8] = { 0 };

	IS(choir_allreduce(comm, choir_host(data), choir_host(data), 8, CHOIR_I32, ((choir_op *)ops)[rank > 0], NULL,
	                   NULL),
	   CHOIR_MISMATCH);
	CHECK(strstr(choir_last_error(), "(8 x i32, one [") && strstr(choir_last_error(), "(8 x i32, other ["));
}

/* Each rank has an operator of its own: the same, and with another text under the same name. */
static void alike(struct world *world, int rank, choir_comm *comm, void *ops)
{
	int32_t data[8] = { 1 };

	OK(choir_allreduce(comm, choir_host(data), choir_host(data), 8, CHOIR_I32, ((choir_op *)ops)[rank], NULL,
	                   NULL));
	CHECK(data[0] == world->n);
}

static void ranks_compare(void **state)
{
	choir_op_config config = config_of("one");
	choir_op ops[2] = { create(config_of("one")), create(config_of("other")) }, texts[2];

	(void)state;
	for (int per_node = 0; per_node < 2; per_node++)
		world_run_at(3, per_node, 60000, differ, ops);
	config.fold_text = "a + b";
	texts[0] = create(config);
	texts[1] = create(config);
	world_run_at(2, 1, 60000, alike, texts);
	choir_op_destroy(texts[1]);
	config.name = "other";
	config.fold_text = "b + a";
	texts[1] = create(config);
	world_run_at(2, 1, 60000, differ, texts);
	choir_op_destroy(ops[0]);
	choir_op_destroy(ops[1]);
	choir_op_destroy(texts[0]);
	choir_op_destroy(texts[1]);
}

/* A destroyed operator, by the same call as before; calls under way go on. */
static void destroyed(struct world *world, int rank, choir_comm *comm, void *op_p)
{
	choir_op op = *(choir_op *)op_p;
	int32_t *data = calloc(COUNT, 4), again[8] = { 1 };
	choir_event *event = NULL;

	data[0] = 1;
	OK(choir_allreduce(comm, choir_host(again), choir_host(again), 8, CHOIR_I32, op, NULL, NULL));
	OK(choir_allreduce(comm, choir_host(data), choir_host(data), COUNT, CHOIR_I32, op, NULL, &event));
	OK(choir_barrier(comm, NULL, NULL)); /* all have made the call */
	if (rank == 0)
		OK(choir_op_destroy(op));
	OK(choir_barrier(comm, NULL, NULL));
	OK(choir_event_wait(event, -1));
	choir_event_release(event);
	CHECK(data[0] == world->n);
	IS(choir_allreduce(comm, choir_host(again), choir_host(again), 8, CHOIR_I32, op, NULL, NULL), CHOIR_ARGUMENT);
	CHECK(strstr(choir_last_error(), "is no operator, or one that is destroyed"));
	free(data);
}

static void destroyed_operators(void **state)
{
	choir_op op = create(config_of("gone"));

	(void)state;
	world_run_at(3, 0, 60000, destroyed, &op);
	op = create(config_of("gone"));
	world_run_at(3, 1, 60000, destroyed, &op);
}

enum { NOT_FOLDED = -77 };

static void fold_or_abort(void *of_world, void *acc, const void *src, size_t count, choir_dtype dtype)
{
	const struct world *world = of_world;

	if (*(const int32_t *)acc != NOT_FOLDED && *(const int32_t *)src != NOT_FOLDED)
		fold(of_world, acc, src, count, dtype);
	else
		for (int rank = 0; rank < world->n; rank++)
			choir_comm_abort(world->comms[rank]);
}

static void aborting(struct world *world, int rank, choir_comm *comm, void *op_p)
{
	choir_op op = *(choir_op *)op_p;
	int32_t data[COUNT] = { 1 };

	for (int turn = 0; turn < 3; turn++)
		OK(choir_allreduce(comm, choir_host(data), choir_host(data), 8, CHOIR_I32, op, NULL, NULL));
	data[0] = rank == 1 ? NOT_FOLDED : 1;
	IS(choir_allreduce(comm, choir_host(data), choir_host(data), 8, CHOIR_I32, op, NULL, NULL), CHOIR_ABORTED);
}

static void aborting_in_an_event(struct world *world, int rank, choir_comm *comm, void *op_p)
{
	int32_t data[COUNT] = { rank == 1 ? NOT_FOLDED : 1 };
	choir_event *event = NULL;
	choir_status st = choir_allreduce(comm, choir_host(data), choir_host(data), COUNT, CHOIR_I32, *(choir_op *)op_p,
	                                  NULL, &event);

	IS(st == CHOIR_SUCCESS ? choir_event_wait(event, -1) : st, CHOIR_ABORTED); /* a late one does not start */
	choir_event_release(event);
}

/* No rank gets a result that was not folded. */
static void functions_that_abort(void **state)
{
	static const world_fn calls[] = { aborting, aborting_in_an_event };
	choir_op_config config = config_of("aborts");
	struct world world;

	(void)state;
	config.fold = fold_or_abort;
	config.ctx = &world;
	for (int i = 0; i < 8; i++) {
		choir_comm_config of_comm = CHOIR_COMM_CONFIG_INIT;
		choir_op op = create(config);

		of_comm.ranks_per_node = i / 4;
		world_begin(&world, 2 + i / 2 % 2, &of_comm);
		world_threads(&world, calls[i % 2], &op);
		world_end(&world);
		choir_op_destroy(op);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bad_names),
		cmocka_unit_test(bad_members),
		cmocka_unit_test(numbers),
		cmocka_unit_test(refused_types),
		cmocka_unit_test(warm_after_its_end),
		cmocka_unit_test(bad_texts),
		cmocka_unit_test(texts_alone),
		cmocka_unit_test(ranks_compare),
		cmocka_unit_test(destroyed_operators),
		cmocka_unit_test(functions_that_abort),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	world_device_drop();
	return failed;
}
