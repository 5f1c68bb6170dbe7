/* SPDX-License-Identifier: MIT */
/* Ranks whose threads have other floating-point control words, dense and sparse: the bits are those of ranks with the
 * default word, and so are the costs in the rules of their comms. */
#include "dev/device_impl.h"
#include "exec/comm.h"
#include "kern/float_words.h"
#include "world/world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <string.h>

#include <cmocka.h>

enum { RANKS = 3, COUNT = 96, WIDTH = 4, PAIRS = COUNT / WIDTH, RESULT = RANKS * COUNT };

struct trial {
	choir_op op;
	choir_coalesce mode;
	choir_sparse_wire wire;
	const char *options;
	bool dense, by_event, words;
	size_t elem_bytes;
	unsigned char result[RANKS][RESULT * 4];
};

/* Subnormal numbers, and numbers whose sums must be rounded. */
static void fill(const struct trial *t, int rank, void *out)
{
	for (uint32_t i = 0; i < COUNT; i++) {
		uint32_t mantissa = (i * 2654435761u + (uint32_t)rank * 40503u) & 0x7fffff;
		uint32_t single = i % 2 == 0 ? mantissa : 0x3e000000 + (i % 5 << 23) + mantissa;
		uint16_t half = (uint16_t)(i % 2 == 0 ? mantissa & 0x3ff : 0x3000 + (mantissa & 0x7ff));

		memcpy((unsigned char *)out + i * t->elem_bytes, t->elem_bytes == 4 ? (void *)&single : (void *)&half,
		       t->elem_bytes);
	}
}

static void call(struct trial *t, struct world *world, int rank, choir_comm *comm, void *input, choir_event **event_p)
{
	choir_dtype dtype = t->elem_bytes == 4 ? CHOIR_F32 : CHOIR_F16;
	choir_sparse_attr attr = CHOIR_SPARSE_ATTR_INIT;
	choir_call with = CHOIR_CALL_INIT;
	static int32_t ind[RANKS][RESULT];
	int32_t index[PAIRS];
	size_t ind_count = RESULT, val_count = RESULT;

	with.options = t->options;
	attr.coalesce_mode = t->mode;
	attr.wire = t->wire;
	for (int i = 0; i < PAIRS; i++)
		index[i] = i * 7 % (PAIRS - 5); /* some twice */
	if (t->dense)
		OK(choir_allreduce(comm, choir_host(input), choir_host(t->result[rank]), COUNT, dtype, t->op, &with,
		                   event_p));
	else
		OK(choir_sparse_allreduce(comm, choir_host(index), PAIRS, choir_host(input), COUNT,
		                          choir_host(ind[rank]), &ind_count, choir_host(t->result[rank]), &val_count,
		                          CHOIR_I32, dtype, t->op, &attr, &with, event_p));
	if (event_p != NULL) {
		OK(choir_event_wait(*event_p, -1));
		choir_event_release(*event_p);
	}
}

static void body(struct world *world, int rank, choir_comm *comm, void *arg)
{
	uint64_t before = float_control_read(), word = float_words[rank % FLOAT_WORDS];
	unsigned char input[COUNT * 4];
	struct trial *t = arg;
	choir_event *event;

	fill(t, rank, input);
	if (t->words && rank > 0)
		float_control_write(word);
	call(t, world, rank, comm, input, t->by_event ? &event : NULL);
	if (t->words && rank > 0)
		CHECK(((float_control_read() ^ word) & FLOAT_CONTROL_BITS) == 0);
	float_control_write(before);
}

static void check(struct trial t, const char *what)
{
	struct trial plain = t;

	t.words = true;
	world_run(RANKS, NULL, body, &plain);
	world_run(RANKS, NULL, body, &t);
	for (int r = 0; r < RANKS; r++)
		if (memcmp(t.result[r], plain.result[r], sizeof t.result[r]) != 0)
			fail_msg("%s, %s, %s: rank %d has other bits", what, choir_op_name(t.op),
			         t.options != NULL ? t.options : "auto", r);
}

static void test_dense(void **state)
{
	(void)state;
	for (int v = 0; v < 8; v++)
		check((struct trial){ .dense = true,
		                      .op = v % 2 ? CHOIR_OP_MEAN : CHOIR_OP_SUM,
		                      .by_event = v / 2 % 2,
		                      .elem_bytes = v / 4 ? 2 : 4 },
		      "dense");
}

static void test_sparse(void **state)
{
	static const char *const options[] = { NULL,
		                               "algorithm=allgather",
		                               "algorithm=split",
		                               "algorithm=recursive_doubling",
		                               "algorithm=mask",
		                               "algorithm=dense" };

	(void)state;
	for (int v = 0; v < 12; v++)
		check((struct trial){ .op = v % 2 ? CHOIR_OP_MEAN : CHOIR_OP_SUM,
		                      .options = options[v / 2],
		                      .by_event = v % 4 < 2,
		                      .elem_bytes = 4 },
		      "sparse f32");
	check((struct trial){ .op = CHOIR_OP_SUM, .wire = CHOIR_SPARSE_WIRE_F16, .elem_bytes = 4 },
	      "sparse f32 by f16");
	check((struct trial){ .op = CHOIR_OP_SUM, .wire = CHOIR_SPARSE_WIRE_BF16, .elem_bytes = 4 },
	      "sparse f32 by bf16");
	check((struct trial){ .op = CHOIR_OP_MEAN, .mode = CHOIR_COALESCE_KEEP_PRECISION, .elem_bytes = 2 },
	      "sparse f16");
}

static _Atomic int launches;

cl_int __real_clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dims, const size_t *offset,
                                     const size_t *global, const size_t *local, cl_uint n, const cl_event *waits,
                                     cl_event *event_p);
cl_int __wrap_clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dims, const size_t *offset,
                                     const size_t *global, const size_t *local, cl_uint n, const cl_event *waits,
                                     cl_event *event_p);

cl_int __wrap_clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dims, const size_t *offset,
                                     const size_t *global, const size_t *local, cl_uint n, const cl_event *waits,
                                     cl_event *event_p)
{
	atomic_fetch_add(&launches, 1);
	return __real_clEnqueueNDRangeKernel(queue, kernel, dims, offset, global, local, n, waits, event_p);
}

/* A device that makes denormals 0, or divides inexactly, and kernels asked for: what they would do with other bits is
 * the host's, and no more than that.  Without these faults the same calls take kernels. */
static void test_what_kernels_cannot(void **state)
{
	choir_device *device = world_device();
	struct device_facts facts = device->facts;
	choir_reduce_where reduce = device->reduce;

	(void)state;
	for (int v = 0; v < 4; v++) {
		struct trial host = { .dense = true,
			              .op = v % 2 ? CHOIR_OP_MEAN : CHOIR_OP_SUM,
			              .elem_bytes = v / 2 ? 2 : 4 };
		struct trial t = host;

		device->reduce = CHOIR_REDUCE_HOST;
		world_run(RANKS, NULL, body, &host);
		device->reduce = CHOIR_REDUCE_KERNEL;
		device->facts.denormals = device->facts.fp64 = device->facts.exact_division = true;
		world_run(RANKS, NULL, body, &t);
		assert_true(atomic_exchange(&launches, 0) > 0);
		device->facts.denormals = device->facts.fp64 = device->facts.exact_division = false;
		world_run(RANKS, NULL, body, &t);
		/* a sum of two halves is no denormal f32 */
		assert_int_equal(atomic_exchange(&launches, 0) == 0, v != 2);
		device->reduce = reduce;
		device->facts = facts;
		assert_memory_equal(t.result, host.result, sizeof t.result);
	}
}

/* The costs that a comm read from its rules, made by a thread with that word. */
static struct link_costs costs_read(uint64_t word)
{
	uint64_t before = float_control_read();
	choir_comm_config config = CHOIR_COMM_CONFIG_INIT;
	struct link_costs costs;
	struct world world;

	config.rules = "costs: network beta=0.9 alpha=60000.7 merge=3.14159";
	(void)world_device();
	float_control_write(word);
	world_begin(&world, 1, &config);
	float_control_write(before);
	costs = world.comms[0]->rules.costs;
	world_end(&world);
	return costs;
}

static void test_rules(void **state)
{
	const struct link_costs plain = costs_read(float_control_read());

	(void)state;
	assert_true(plain.ns[LINK_NETWORK][COST_BETA] == 0.9F);
	for (int i = 0; i < FLOAT_WORDS; i++) {
		const struct link_costs costs = costs_read(float_words[i]);

		assert_memory_equal(&costs, &plain, sizeof costs);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_dense), cmocka_unit_test(test_sparse),
		                            cmocka_unit_test(test_what_kernels_cannot), cmocka_unit_test(test_rules) };
	int rc = cmocka_run_group_tests(tests, NULL, NULL);

	world_device_drop();
	return rc;
}
