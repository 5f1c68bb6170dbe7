/* SPDX-License-Identifier: MIT */
/* A list of tensors whose second part fails on one rank before it has begun: its peers are in that part already, so the
 * comm fails with that status on all ranks. */
#include "exec/inline.h"
#include "world/world.h"

#include "base/error.h"

#include <choir/collective.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <string.h>

#include <cmocka.h>

enum { RANKS = 2, COUNT = 100, DEADLINE_MS = 20000 };

static _Thread_local int parts;
static _Thread_local bool fails;
static choir_status with;

choir_status __real_inline_execute(struct choir_comm *comm, struct prepared *prepared, size_t first, size_t n,
                                   int64_t deadline_ms, const char *name, choir_event **event_p);
choir_status __wrap_inline_execute(struct choir_comm *comm, struct prepared *prepared, size_t first, size_t n,
                                   int64_t deadline_ms, const char *name, choir_event **event_p);

choir_status __wrap_inline_execute(struct choir_comm *comm, struct prepared *prepared, size_t first, size_t n,
                                   int64_t deadline_ms, const char *name, choir_event **event_p)
{
	if (!fails || ++parts != 2)
		return __real_inline_execute(comm, prepared, first, n, deadline_ms, name, event_p);
	*event_p = NULL;
	inline_leave(comm);
	return error_set(with, "the second part fails");
}

bool __real_inline_enter(struct choir_comm *comm);
bool __wrap_inline_enter(struct choir_comm *comm);

/* The other rank's thread may drive this one's comm for a moment: then the list would be submitted. */
bool __wrap_inline_enter(struct choir_comm *comm)
{
	bool entered;

	while (!(entered = __real_inline_enter(comm)) && fails && parts < 2)
		sched_yield();
	return entered;
}

/* Of two types, so two parts. */
static void call(struct world *world, int rank, choir_comm *comm, void *arg)
{
	float f[COUNT] = { 1 }, f_sum[COUNT];
	int i[COUNT] = { 1 }, i_sum[COUNT];
	choir_tensor list[2] = { { choir_host(f), choir_host(f_sum), COUNT, CHOIR_F32 },
		                 { choir_host(i), choir_host(i_sum), COUNT, CHOIR_I32 } };
	choir_status st;

	(void)arg;
	parts = 0;
	fails = rank == 0;
	st = choir_allreduce_multi(comm, list, 2, CHOIR_OP_SUM, NULL, NULL);
	fails = false;
	if (rank == 0)
		CHECK(parts == 2 && st == with);
	CHECK(st == with);
	CHECK(strstr(choir_last_error(), "the second part fails") != NULL);
	CHECK(rank == 0 || strstr(choir_last_error(), "rank 0: choir_allreduce_multi") != NULL);
	CHECK(choir_comm_status(comm) == with);
}

static void test_second_part(void **state)
{
	static const choir_status statuses[] = { CHOIR_NO_MEMORY, CHOIR_OPENCL };

	(void)state;
	for (size_t k = 0; k < sizeof statuses / sizeof *statuses; k++) {
		with = statuses[k];
		world_run_at(RANKS, 0, DEADLINE_MS, call, NULL);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_second_part) };
	int rc = cmocka_run_group_tests(tests, NULL, NULL);

	world_device_drop();
	return rc;
}
