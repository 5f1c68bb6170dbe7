/* SPDX-License-Identifier: MIT */
/* What choir_supports and the calls refuse alike: kinds of memory that the device lacks, data types without that
 * operator. */
#include "world/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void refused_kind(struct world *world, int rank, choir_comm *comm, choir_buffer in, choir_buffer out)
{
	IS(choir_supports(comm, "allreduce", CHOIR_F32, CHOIR_OP_SUM, in), CHOIR_UNSUPPORTED);
	IS(choir_allreduce(comm, in, out, 1, CHOIR_F32, CHOIR_OP_SUM, NULL, NULL), CHOIR_UNSUPPORTED);
	IS(choir_supports(comm, "broadcast", CHOIR_F32, 0, in), CHOIR_UNSUPPORTED);
	IS(choir_broadcast(comm, in, out, 1, CHOIR_F32, 0, NULL, NULL), CHOIR_UNSUPPORTED);
}

static void lacking(struct world *world, int rank, choir_comm *comm, void *host)
{
	float x = 1, y = 0;

	if (host != NULL || memory_lacks(world->device, MEMORY_SVM_COARSE) != NULL)
		refused_kind(world, rank, comm, choir_svm(&x), choir_svm(&y));
	if (host != NULL || memory_lacks(world->device, MEMORY_USM_HOST) != NULL)
		refused_kind(world, rank, comm, choir_usm(&x), choir_usm(&y));
	if (host != NULL)
		refused_kind(world, rank, comm, choir_mem((cl_mem)(void *)&x, 0), choir_mem((cl_mem)(void *)&y, 0));
}

static void test_lacking(void **state)
{
	choir_device *host;
	struct world world;

	(void)state;
	world_run(1, NULL, lacking, NULL);
	assert_int_equal(choir_device_create_host(&host), CHOIR_SUCCESS);
	world_begin_on(&world, 1, &host, NULL);
	world_threads(&world, lacking, &host);
	world_end(&world);
	choir_device_destroy(host);
}

/* Pairs beside what numbers may: a sentence that says what they have. */
static void refusals(struct world *world, int rank, choir_comm *comm, void *unused)
{
	choir_topk_config config = CHOIR_TOPK_CONFIG_INIT;
	choir_topk_state *state;

	(void)unused;
	IS(choir_supports(comm, "allreduce", CHOIR_F32_I32, CHOIR_OP_SUM, choir_none()), CHOIR_UNSUPPORTED);
	CHECK(strstr(choir_last_error(), "sum is not defined for f32_i32") != NULL);
	IS(choir_supports(comm, "allreduce", CHOIR_F32, CHOIR_OP_MAXLOC, choir_none()), CHOIR_UNSUPPORTED);
	CHECK(strstr(choir_last_error(), "pairs of a value and an index") != NULL);
	config.count = 4;
	config.dtype = CHOIR_F8E5M2;
	IS(choir_topk_create(comm, &config, &state), CHOIR_UNSUPPORTED);
	CHECK(strstr(choir_last_error(), "dtype is f8e5m2") != NULL);
}

static void test_refusals(void **state)
{
	(void)state;
	world_run(1, NULL, refusals, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_lacking), cmocka_unit_test(test_refusals) };
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	world_device_drop();
	return failed;
}
