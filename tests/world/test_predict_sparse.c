/* SPDX-License-Identifier: MIT */
/* choir_predict of sparse_allreduce: a call on lists as it supposes them takes that algorithm, and its statistics say
 * that time. */
#include "world/gate.h"

#include <choir/sparse.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MOST = 30000 };

struct lists {
	int32_t *send_ind, *recv_ind;
	double *send_val, *recv_val; /* room for any data type */
	size_t ind_room, val_room;
};

static bool make_lists(struct lists *lists, int n)
{
	lists->ind_room = lists->val_room = (size_t)MOST * (size_t)n;
	lists->send_ind = malloc(MOST * sizeof *lists->send_ind);
	lists->send_val = calloc(MOST, sizeof *lists->send_val);
	lists->recv_ind = malloc(lists->ind_room * sizeof *lists->recv_ind);
	lists->recv_val = malloc(lists->val_room * sizeof *lists->recv_val);
	return lists->send_ind != NULL && lists->send_val != NULL && lists->recv_ind != NULL && lists->recv_val != NULL;
}

static void free_lists(struct lists *lists)
{
	free(lists->send_ind);
	free(lists->send_val);
	free(lists->recv_ind);
	free(lists->recv_val);
}

/* Evenly from 0 to 2^31 - 1, no two alike. */
static void spread(struct lists *lists, size_t count, int rank, int n)
{
	uint64_t step = INT32_MAX / ((uint64_t)count * (uint64_t)n);

	for (size_t i = 0; i < count; i++)
		lists->send_ind[i] = (int32_t)((i * (uint64_t)n + (uint64_t)rank) * step);
}

static void compare(struct world *world, int rank, choir_comm *comm, struct lists *lists, size_t count,
                    choir_dtype dtype, const char *options)
{
	choir_sparse_stats stats = { .struct_size = sizeof stats, .algorithm = "none" };
	choir_call call = CHOIR_CALL_INIT;
	choir_event *event = NULL;
	const char *foreseen = "none";
	double seconds = -1;
	char name[64];

	snprintf(name, sizeof name, "%zu %s %s", count, choir_dtype_name(dtype), options);
	call.options = options;
	call.name = name; /* so that no call remembers another */
	spread(lists, count, rank, world->n);
	memset(lists->send_val, 0, count * sizeof *lists->send_val);
	lists->ind_room = lists->val_room = (size_t)MOST * (size_t)world->n;
	OK(choir_predict(comm, "sparse_allreduce", count, dtype, CHOIR_OP_SUM, 0, &call, &seconds, &foreseen));
	if (OK(choir_sparse_allreduce(comm, choir_host(lists->send_ind), count, choir_host(lists->send_val), count,
	                              choir_host(lists->recv_ind), &lists->ind_room, choir_host(lists->recv_val),
	                              &lists->val_room, CHOIR_I32, dtype, CHOIR_OP_SUM, NULL, &call, &event)) &&
	    OK(choir_event_wait(event, -1)))
		OK(choir_event_sparse_stats(event, &stats));
	choir_event_release(event);
	if (strcmp(foreseen, stats.algorithm) != 0 ||
	    fabs(seconds * 1e6 - stats.predicted_us) > 0.03 * stats.predicted_us)
		world_fail(world, rank, "%s: %s in %g us foreseen, %s in %g us taken", name, foreseen, seconds * 1e6,
		           stats.algorithm, stats.predicted_us);
}

static void calls(struct world *world, int rank, choir_comm *comm, void *unused)
{
	static const char *const options[] = { "algorithm=auto", "algorithm=allgather", "algorithm=split",
		                               "algorithm=recursive_doubling", "algorithm=mask" };
	static const choir_dtype dtypes[] = { CHOIR_F32, CHOIR_F64, CHOIR_I8 };
	static const size_t counts[] = { 1, 300, MOST };
	struct lists lists;
	bool made = make_lists(&lists, world->n);

	(void)unused;
	CHECK(made);
	for (int i = 0; i < 5 * 3 * 3 && made; i++)
		compare(world, rank, comm, &lists, counts[i / 15], dtypes[i / 5 % 3], options[i % 5]);
	free_lists(&lists);
}

static void test_calls(void **state)
{
	(void)state;
	for (int n = 2; n <= 5; n += 3)
		line_up_layouts(n, calls);
	line_up_run(4, 2, 30000, calls, NULL);
}

static void wrong(struct world *world, int rank, choir_comm *comm, void *unused)
{
	choir_call call = CHOIR_CALL_INIT;
	double none;

	(void)unused;
	call.options = "algorithm=ring";
	SAYS(choir_predict(comm, "sparse_allreduce", 5, CHOIR_F32, CHOIR_OP_SUM, 0, &call, &none, NULL), CHOIR_ARGUMENT,
	     "choir_predict|ring|allgather, split");
	call.options = "algorithm=recursive_doubling, order=ranks";
	SAYS(choir_predict(comm, "sparse_allreduce", 5, CHOIR_F32, CHOIR_OP_SUM, 0, &call, &none, NULL), CHOIR_ARGUMENT,
	     "choir_predict|recursive_doubling|rank order");
	call.options = "algorithm=dense";
	SAYS(choir_predict(comm, "sparse_allreduce", 5, CHOIR_F32, CHOIR_OP_SUM, 0, &call, &none, NULL),
	     CHOIR_UNSUPPORTED, "choir_predict|dense|row for each");
	SAYS(choir_predict(comm, "sparse_allreduce", 5, CHOIR_F32, CHOIR_OP_LOCAL, 0, NULL, &none, NULL),
	     CHOIR_UNSUPPORTED, "choir_predict|local");
	SAYS(choir_predict(comm, "sparse_allreduce", 5, 77, CHOIR_OP_SUM, 0, NULL, &none, NULL), CHOIR_ARGUMENT,
	     "choir_predict|77");
	SAYS(choir_predict(comm, "sparse_allreduce", SIZE_MAX / 64, CHOIR_F32, CHOIR_OP_SUM, 0, NULL, &none, NULL),
	     CHOIR_ARGUMENT, "choir_predict|2^63");
	CHECK(sum_works(comm, 8));
}

static void test_wrong(void **state)
{
	(void)state;
	line_up_layouts(2, wrong);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_calls), cmocka_unit_test(test_wrong) };
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	world_device_drop();
	return failed;
}
