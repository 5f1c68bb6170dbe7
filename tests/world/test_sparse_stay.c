/* SPDX-License-Identifier: MIT */
/* choir_sparse_allreduce of ranks of one process whose devices share a context, with kernels: lists that stay on the
 * devices (Note [lists that stay]), lists of which some are too short to stay, results of all kinds, ranks that fail
 * alone. */
#include "dev/device_impl.h"
#include "exec/comm.h"
#include "sparse/scratch.h"
#include "world/devices.h"
#include "world/sparse_flight.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>

#include <cmocka.h>

enum { SHORT_BYTES = 128 * 1024 /* shorter lists do not stay */ };

enum { ENTRY_BYTES = 16, SLACK = 4096 }; /* of kernels that sort wide keys; beside a list */
static const int sizes[] = { 2, 3, 5, 8 };

static void each_way(struct world *world, int rank, choir_comm *comm, void *arg)
{
	const struct sparse_call *call = arg;

	sparse_flight_run(world, rank, comm, call, (enum way)((call->seed + (uint64_t)rank) % N_WAYS));
}

static void on_devices(world_fn fn, struct sparse_call *call)
{
	struct world world;

	devices_begin(&world, call->n, 0);
	world_threads(&world, fn, call);
	world_end(&world);
}

/* Any operator, type, width and range; the lists stay, however short. */
static void test_forced(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 8; seed++) {
		struct sparse_call call;

		sparse_call_draw(&call, seed * 8 + 1, sizes[seed % 4], 700); /* options: algorithm=allgather */
		on_devices(each_way, &call);
		sparse_call_free(&call);
	}
}

/* Rows of which some ranks have many, and others few or none. */
static struct sparse_call long_rows(uint64_t seed)
{
	struct sparse_call call = { .seed = seed,
		                    .n = sizes[seed % 4],
		                    .ind_dtype = seed % 3 ? CHOIR_I32 : CHOIR_I64,
		                    .val_dtype = CHOIR_F32,
		                    .op = seed % 2 ? CHOIR_OP_SUM : CHOIR_OP_MEAN,
		                    .width = 64,
		                    .range = seed % 5 < 2 ? 3000 : 400000000, /* with a bitmap, and too far for one */
		                    .most = 3000,
		                    .device = true };

	sparse_call_make(&call);
	return call;
}

/* Are there lists that stay and lists that are too short? */
static bool is_mixed(const struct sparse_call *call, bool *some_stay)
{
	bool some_short = false;

	*some_stay = false;
	for (int r = 0; r < call->n; r++) {
		size_t bytes = call->in[r].count * (call->ind_bytes + call->val_bytes);

		*some_stay |= bytes >= SHORT_BYTES;
		some_short |= bytes > 0 && bytes < SHORT_BYTES;
	}
	return *some_stay && some_short;
}

static void test_mixed(void **state)
{
	int mixed = 0, alike = 0;

	(void)state;
	for (uint64_t seed = 0; seed < 10; seed++) {
		struct sparse_call call = long_rows(seed);
		bool stays;

		if (is_mixed(&call, &stays))
			mixed++;
		else
			alike += stays;
		on_devices(each_way, &call);
		sparse_call_free(&call);
	}
	print_message("%d mixed, %d alike\n", mixed, alike);
	assert_true(mixed > 1);
	assert_true(alike > 1);
}

/* --- devices with little memory --- */

static atomic_size_t most_bytes; /* of a cl_mem; 0 = any */

cl_mem __real_clCreateBuffer(cl_context context, cl_mem_flags flags, size_t bytes, void *host, cl_int *rc);
cl_mem __wrap_clCreateBuffer(cl_context context, cl_mem_flags flags, size_t bytes, void *host, cl_int *rc);

cl_mem __wrap_clCreateBuffer(cl_context context, cl_mem_flags flags, size_t bytes, void *host, cl_int *rc)
{
	size_t most = atomic_load(&most_bytes);

	if (most == 0 || bytes <= most)
		return __real_clCreateBuffer(context, flags, bytes, host, rc);
	*rc = CL_INVALID_BUFFER_SIZE;
	return NULL;
}

/* Each device has room for its rank's list and for the result, and for no merge: the host merges. */
static void with_little_memory(int n, size_t most)
{
	struct sparse_call call = { .seed = (uint64_t)n,
		                    .n = n,
		                    .ind_dtype = n == 2 ? CHOIR_I64 : CHOIR_I32,
		                    .val_dtype = CHOIR_F32,
		                    .op = CHOIR_OP_SUM,
		                    .width = 1,
		                    .range = n == 2 ? 50000000000 : 400000000, /* too far for a bitmap */
		                    .most = 60000,
		                    .device = true,
		                    .options = "algorithm=allgather" };
	struct world world;

	sparse_call_make(&call);
	for (int r = 0; r < n && n == 2; r++)
		most = call.in[r].count * ENTRY_BYTES + SLACK > most ? call.in[r].count * ENTRY_BYTES + SLACK : most;
	devices_begin(&world, call.n, 0);
	for (int i = 0; i < call.n; i++)
		world.comms[i]->device->facts.max_buffer_bytes = most;
	atomic_store(&most_bytes, most);
	world_threads(&world, each_way, &call);
	atomic_store(&most_bytes, 0);
	for (int i = 0; i < call.n; i++)
		world.comms[i]->device->facts.max_buffer_bytes = UINT64_MAX;
	world_end(&world);
	sparse_call_free(&call);
}

/* Of two ranks each has no more to merge than the other's list. */
static void test_little_memory(void **state)
{
	(void)state;
	with_little_memory(5, 900000);
	with_little_memory(2, 0);
}

/* A rank whose alloc_fn fails has lent its list all the same; the comm goes on. */
static void one_fails(struct world *world, int rank, choir_comm *comm, void *arg)
{
	const struct sparse_call *call = arg;

	for (int round = 0; round < 3; round++) {
		bool fails = rank == round % world->n;
		struct sparse_flight flight;

		OK(sparse_flight_start(&flight, world, rank, comm, call, fails ? ALLOCATES : RECEIVES,
		                       fails ? CHOIR_ARGUMENT : CHOIR_SUCCESS));
		if (!fails) {
			sparse_flight_land(&flight);
			continue;
		}
		IS(choir_event_wait(flight.event, -1), CHOIR_ARGUMENT);
		memory_free(&flight.recv_ind);
		memory_free(&flight.recv_val);
		sparse_flight_free(&flight);
	}
	OK(choir_comm_status(comm));
	sparse_flight_run(world, rank, comm, call, RECEIVES);
}

static void test_failing(void **state)
{
	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct sparse_call call = { .seed = 3,
			                    .n = sizes[i],
			                    .ind_dtype = CHOIR_I32,
			                    .val_dtype = CHOIR_F32,
			                    .op = CHOIR_OP_SUM,
			                    .width = 3,
			                    .range = 900,
			                    .most = 500,
			                    .device = true,
			                    .options = "algorithm=allgather" };

		sparse_call_make(&call);
		on_devices(one_fails, &call);
		sparse_call_free(&call);
	}
}

/* --- a rank fails when it is to read the others' lists --- */

static _Atomic int taken;         /* device memory of the library's */
static _Atomic int until_failure; /* ranks that read the others' lists; 0: none fails */

choir_status __real_scratch_take(choir_device *owner, uint64_t bytes, const char *what, struct scratch *out);
choir_status __wrap_scratch_take(choir_device *owner, uint64_t bytes, const char *what, struct scratch *out);
choir_status __wrap_scratch_take(choir_device *owner, uint64_t bytes, const char *what, struct scratch *out)
{
	choir_status st = __real_scratch_take(owner, bytes, what, out);

	atomic_fetch_add(&taken, out->mem != NULL);
	return st;
}

void __real_scratch_give(struct scratch *scratch);
void __wrap_scratch_give(struct scratch *scratch);
void __wrap_scratch_give(struct scratch *scratch)
{
	atomic_fetch_sub(&taken, scratch->mem != NULL);
	__real_scratch_give(scratch);
}

struct sparse;
choir_status __real_sparse_borrow(struct sparse *sparse);
choir_status __wrap_sparse_borrow(struct sparse *sparse);
choir_status __wrap_sparse_borrow(struct sparse *sparse)
{
	if (atomic_fetch_sub(&until_failure, 1) == 1)
		return error_set(CHOIR_NO_MEMORY, "planted");
	return __real_sparse_borrow(sparse);
}

static _Atomic int failed; /* ranks */

static void ends(struct world *world, int rank, choir_comm *comm, void *arg)
{
	struct sparse_flight flight;
	choir_status st;

	OK(sparse_flight_start(&flight, world, rank, comm, arg, RECEIVES, CHOIR_SUCCESS));
	st = choir_event_wait(flight.event, -1);
	CHECK(st == CHOIR_NO_MEMORY || st == CHOIR_SUCCESS);
	atomic_fetch_add(&failed, st != CHOIR_SUCCESS);
	memory_free(&flight.recv_ind);
	memory_free(&flight.recv_val);
	sparse_flight_free(&flight);
}

static void test_unread(void **state)
{
	struct sparse_call call = { .seed = 3,
		                    .n = 3,
		                    .ind_dtype = CHOIR_I32,
		                    .val_dtype = CHOIR_F32,
		                    .op = CHOIR_OP_SUM,
		                    .width = 3,
		                    .range = 900,
		                    .most = 500,
		                    .device = true,
		                    .options = "algorithm=allgather" };

	(void)state;
	sparse_call_make(&call);
	for (int r = 1; r <= call.n; r++) {
		atomic_store(&until_failure, r);
		atomic_store(&failed, 0);
		on_devices(ends, &call);
		assert_true(atomic_load(&failed) > 0);
		assert_int_equal(atomic_load(&taken), 0);
	}
	atomic_store(&until_failure, 0);
	sparse_call_free(&call);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_forced),  cmocka_unit_test(test_mixed),  cmocka_unit_test(test_little_memory),
		cmocka_unit_test(test_failing), cmocka_unit_test(test_unread),
	};

	return cmocka_run_group_tests(tests, devices_open, devices_close);
}
