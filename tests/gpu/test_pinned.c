/* SPDX-License-Identifier: MIT */
/* The driver of a device with far memory is told of a rank's symmetric memory, for as long as the rank has it. */
#include "exec/comm.h"
#include "world/memory.h"
#include "world/world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

enum { N = 2, BYTES = 40000, PAGES = 40960 }; /* an allocated share is whole pages */

static const unsigned char *_Atomic shares[N];
static _Atomic int pinned;

cl_mem __real_clCreateBuffer(cl_context context, cl_mem_flags flags, size_t bytes, void *ptr, cl_int *rc_p);
cl_mem __wrap_clCreateBuffer(cl_context context, cl_mem_flags flags, size_t bytes, void *ptr, cl_int *rc_p);
cl_int __real_clReleaseMemObject(cl_mem mem);
cl_int __wrap_clReleaseMemObject(cl_mem mem);

static _Atomic(cl_mem) over[N];

static _Atomic size_t wanted; /* all of a share, and nothing but that */

cl_mem __wrap_clCreateBuffer(cl_context context, cl_mem_flags flags, size_t bytes, void *ptr, cl_int *rc_p)
{
	cl_mem mem = __real_clCreateBuffer(context, flags, bytes, ptr, rc_p);
	int slot = 0;

	if ((flags & CL_MEM_USE_HOST_PTR) == 0 || bytes != wanted)
		return mem;
	slot = atomic_fetch_add(&pinned, 1);
	if (slot < N) {
		atomic_store(&shares[slot], ptr);
		atomic_store(&over[slot], mem);
	}
	return mem;
}

cl_int __wrap_clReleaseMemObject(cl_mem mem)
{
	for (int i = 0; i < N; i++)
		if (mem != NULL && atomic_load(&over[i]) == mem) {
			atomic_store(&over[i], NULL);
			atomic_fetch_sub(&pinned, 1);
		}
	return __real_clReleaseMemObject(mem);
}

static void check_pinned(struct world *world, int rank, const void *share)
{
	if (pinned != N || (shares[0] != share && shares[1] != share))
		world_fail(world, rank, "%d of %d shares are known to the driver", (int)pinned, N);
}

static void allocated(struct world *world, int rank, choir_comm *comm, void *unused)
{
	void *ptr = NULL;

	(void)unused;
	OK(choir_mem_alloc(comm, BYTES, &ptr, NULL));
	check_pinned(world, rank, ptr);
	OK(choir_barrier(comm, NULL, NULL));
	OK(choir_mem_free(comm, ptr));
	OK(choir_barrier(comm, NULL, NULL));
	CHECK(pinned == 0);
	OK(choir_barrier(comm, NULL, NULL));
}

static void registered(struct world *world, int rank, choir_comm *comm, void *unused)
{
	void *ptr = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	(void)unused;
	CHECK(ptr != MAP_FAILED);
	OK(choir_mem_register(comm, ptr, BYTES));
	check_pinned(world, rank, ptr);
	OK(choir_barrier(comm, NULL, NULL));
	OK(choir_mem_deregister(comm, ptr));
	OK(choir_barrier(comm, NULL, NULL));
	CHECK(pinned == 0);
	munmap(ptr, BYTES);
	OK(choir_barrier(comm, NULL, NULL));
}

static void run_on_ranks(void (*body)(struct world *, int, choir_comm *, void *), size_t bytes)
{
	struct world world;

	wanted = bytes;
	world_begin(&world, N, NULL);
	assert_true(dev_has_far_memory(world.device));
	world_threads(&world, body, NULL);
	world_end(&world);
}

static void test_allocated(void **state)
{
	(void)state;
	run_on_ranks(allocated, PAGES);
}

static void test_registered(void **state)
{
	(void)state;
	run_on_ranks(registered, BYTES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_allocated),
		cmocka_unit_test(test_registered),
	};

	int failed = cmocka_run_group_tests_name("pinned", tests, NULL, NULL);

	world_device_drop();
	return failed;
}
