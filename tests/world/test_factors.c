/* SPDX-License-Identifier: MIT */
/* premul_sum: each rank's values are multiplied by its own factor.  All values are small integers over 8, so any order
 * and rounding is exact. */
#include "world/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MOST = 5 };

/* How a sum is asked for. */
enum form { WHOLE, IN_PLACE, TO_ROOT, SCATTERED, LIST, SPARSE, FORMS };

struct sizes {
	size_t count;
	bool device;
};

static double factor_of(int rank)
{
	static const double factors[MOST] = { 0.5, -2, 1, 0.25, 0 };

	return factors[rank];
}

static float value_of(int rank, size_t i)
{
	return (float)(rank + 1) * (float)(i % 16);
}

static float sum_of(int n, size_t i)
{
	double sum = 0;

	for (int r = 0; r < n; r++)
		sum += factor_of(r) * (double)value_of(r, i);
	return (float)sum;
}

static choir_status ask(enum form form, choir_comm *comm, choir_buffer in, choir_buffer out, size_t count,
                        const choir_call *call)
{
	choir_tensor tensor = { in, out, count, CHOIR_F32 };
	int n = choir_comm_size(comm);

	switch (form) {
	case WHOLE:
		return choir_allreduce(comm, in, out, count, CHOIR_F32, CHOIR_OP_PREMUL_SUM, call, NULL);
	case IN_PLACE:
		return choir_allreduce(comm, in, in, count, CHOIR_F32, CHOIR_OP_PREMUL_SUM, call, NULL);
	case TO_ROOT:
		return choir_reduce(comm, in, out, count, CHOIR_F32, CHOIR_OP_PREMUL_SUM, n - 1, call, NULL);
	case SCATTERED:
		return choir_reduce_scatter(comm, in, out, count / (size_t)n, CHOIR_F32, CHOIR_OP_PREMUL_SUM, call,
		                            NULL);
	default:
		return choir_allreduce_multi(comm, &tensor, 1, CHOIR_OP_PREMUL_SUM, call, NULL);
	}
}

static void dense(struct world *world, int rank, choir_comm *comm, void *arg)
{
	const struct sizes *s = arg;
	int n = choir_comm_size(comm);

	for (int form = WHOLE; form < SPARSE; form++) {
		choir_call call = CHOIR_CALL_INIT;
		struct memory in, out;
		size_t first = form == SCATTERED ? s->count / (size_t)n * (size_t)rank : 0;
		size_t got = form == SCATTERED ? s->count / (size_t)n : form == TO_ROOT && rank != n - 1 ? 0 : s->count;
		float *values;

		memory_make(&in, world->device, s->device, s->count * sizeof(float), 4);
		memory_make(&out, world->device, s->device, s->count * sizeof(float), 8);
		values = (float *)(void *)memory_payload(&in);
		for (size_t i = 0; i < s->count; i++)
			values[i] = value_of(rank, i);
		memory_push(&in);
		call.factor = factor_of(rank);
		OK(ask((enum form)form, comm, in.buffer, out.buffer, s->count, &call));
		memory_pull(&in);
		memory_pull(&out);
		values = (float *)(void *)memory_payload(form == IN_PLACE ? &in : &out);
		for (size_t i = 0; i < got; i++)
			if (values[i] != sum_of(n, first + i)) {
				world_fail(world, rank, "form %d, %zu of %zu: %g, not %g", form, i, s->count, values[i],
				           sum_of(n, first + i));
				break;
			}
		memory_free(&in);
		memory_free(&out);
	}
}

/* Ranks of uneven batches: rows are scaled before they are folded. */
static void sparse(struct world *world, int rank, choir_comm *comm, void *arg)
{
	int32_t ind[] = { 7, 3, 7 }, got_ind[3];
	float rows[] = { 1, 2, 3 }, got[3];
	size_t n_ind = 3, n_val = 3;
	choir_call call = CHOIR_CALL_INIT;
	double sum = 0;

	(void)arg;
	for (int r = 0; r < choir_comm_size(comm); r++)
		sum += factor_of(r);
	call.factor = factor_of(rank);
	OK(choir_sparse_allreduce(comm, choir_host(ind), 3, choir_host(rows), 3, choir_host(got_ind), &n_ind,
	                          choir_host(got), &n_val, CHOIR_I32, CHOIR_F32, CHOIR_OP_PREMUL_SUM, NULL, &call,
	                          NULL));
	CHECK(n_ind == 2 && got_ind[0] == 3 && got_ind[1] == 7 && got[0] == (float)(2 * sum) &&
	      got[1] == (float)(4 * sum));
}

/* A broadcast's root needs no recv: it has what it gives. */
static void broadcast(struct world *world, int rank, choir_comm *comm, void *arg)
{
	const struct sizes *s = arg;
	struct memory buffer;
	unsigned char *bytes;

	memory_make(&buffer, world->device, s->device, s->count, 4);
	bytes = memory_payload(&buffer);
	for (size_t i = 0; i < s->count; i++)
		bytes[i] = rank == 0 ? (unsigned char)(i * 7) : 0;
	memory_push(&buffer);
	for (int again = 0; again < 3; again++)
		OK(choir_broadcast(comm, rank == 0 ? buffer.buffer : choir_none(),
		                   rank == 0 ? choir_none() : buffer.buffer, s->count, CHOIR_U8, 0, NULL, NULL));
	memory_pull(&buffer);
	for (size_t i = 0; i < s->count; i++)
		if (bytes[i] != (unsigned char)(i * 7)) {
			world_fail(world, rank, "byte %zu of %zu", i, s->count);
			break;
		}
	memory_free(&buffer);
	if (rank != 0 && s->count > 0)
		IS(choir_broadcast(comm, choir_none(), choir_none(), s->count, CHOIR_U8, 0, NULL, NULL),
		   CHOIR_ARGUMENT);
}

static void on_all(world_fn fn)
{
	static const size_t counts[] = { 60, 6000, 420000 };

	for (int n = 1; n <= MOST; n += n == 3 ? 2 : 1)
		for (int per_node = 0; per_node < 2; per_node++)
			for (int k = 0; k < 6; k++) {
				struct sizes sizes = { counts[k / 2], k % 2 };

				world_run_at(n, per_node, 0, fn, &sizes);
			}
}

static void test_dense(void **state)
{
	(void)state;
	on_all(dense);
}
static void test_sparse(void **state)
{
	(void)state;
	on_all(sparse);
}
static void test_broadcast(void **state)
{
	(void)state;
	on_all(broadcast);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_dense), cmocka_unit_test(test_sparse),
		                            cmocka_unit_test(test_broadcast) };
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	world_device_drop();
	return failed;
}
