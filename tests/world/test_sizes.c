/* SPDX-License-Identifier: MIT */
/* Structs of callers built before or after this version, counts at their ends, and handles that nothing is moved
 * through. */
#include "base/arithmetic.h"
#include "world/gate.h"

#include <choir/op.h>
#include <choir/plan.h>
#include <choir/topk.h>
#include <choir/transport.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

/* Memory whose end nobody reads beyond, and behind it an address that nobody reads. */
static unsigned char *room_end(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	unsigned char *pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_true(pages != MAP_FAILED && mprotect(pages + page, page, PROT_NONE) == 0);
	return pages + page;
}

/* A struct of the first n bytes of one that this version knows, its struct_size among them.  It begins where structs
 * may, so up to 7 bytes are behind it. */
static void *shortened(const void *whole, size_t n)
{
	unsigned char *at = room_end() - round_up(n, sizeof(size_t));

	memcpy(at, whole, n);
	memcpy(at, &n, sizeof n);
	return at;
}

#define REFUSED(call, words)                                                                                           \
	do {                                                                                                           \
		assert_int_equal(call, CHOIR_ARGUMENT);                                                                \
		if (!says(choir_last_error(), words))                                                                  \
			fail_msg("%s: \"%s\"", #call, choir_last_error());                                             \
	} while (0)

static void test_short_call(void **state)
{
	choir_call whole = CHOIR_CALL_INIT, *call = shortened(&whole, sizeof(size_t));
	float in = 3, out = 0;
	struct world world;
	int got = 0;

	(void)state;
	world_begin(&world, 1, NULL);
	assert_int_equal(
	    choir_allreduce(world.comms[0], choir_host(&in), choir_host(&out), 1, CHOIR_F32, CHOIR_OP_SUM, call, NULL),
	    CHOIR_SUCCESS);
	assert_true(out == 3);
	assert_int_equal(choir_alltoallv(world.comms[0], choir_host(&in), &(size_t){ 1 }, NULL, choir_host(&out),
	                                 &(size_t){ 1 }, NULL, CHOIR_F32, call, NULL),
	                 CHOIR_SUCCESS);
	assert_int_equal(choir_sendrecv(world.comms[0], choir_host(&(int){ 7 }), 1, 0, choir_host(&got), 1, 0,
	                                CHOIR_I32, call, NULL),
	                 CHOIR_SUCCESS);
	assert_int_equal(got, 7);
	world_end(&world);
}

static int no_gather(void *ctx, const void *mine, size_t bytes, void *all)
{
	(void)ctx, (void)mine, (void)bytes, (void)all;
	return 7;
}

static void test_short_and_long_structs(void **state)
{
	choir_device *device = world_device(), *made;
	choir_device_config whole = CHOIR_DEVICE_CONFIG_INIT;
	choir_bootstrap boot = { sizeof boot, 0, 1, no_gather, NULL, NULL };
	cl_context context = choir_device_context(device);
	cl_device_id id = choir_device_id(device);
	choir_comm *comm;

	(void)state;
	assert_int_equal(choir_device_create(context, id, shortened(&whole, sizeof(size_t)), &made), CHOIR_SUCCESS);
	choir_device_destroy(made);
	whole.struct_size = sizeof whole + 8;
	REFUSED(choir_device_create(context, id, &whole, &made), "choir_device_create|struct_size is 24");
	whole.struct_size = 3;
	REFUSED(choir_device_create(context, id, &whole, &made), "choir_device_create|struct_size is 3");
	assert_int_equal(choir_comm_create(shortened(&boot, offsetof(choir_bootstrap, ctx)), 1, &device, NULL, &comm),
	                 CHOIR_SUCCESS);
	choir_comm_destroy(comm);
	REFUSED(choir_comm_create(shortened(&boot, sizeof(size_t)), 1, &device, NULL, &comm),
	        "choir_comm_create|gather");
	boot.struct_size = sizeof boot + 8;
	REFUSED(choir_comm_create(&boot, 1, &device, NULL, &comm), "choir_comm_create|bootstrap->struct_size is 48");
}

static int destroyed;

static void count_destroy(choir_transport *transport)
{
	(void)transport;
	destroyed++;
}

static const choir_transport_ops ops = { .struct_size = sizeof ops, .name = "theirs", .destroy = count_destroy };
static choir_transport theirs = { .ops = &ops };

/* The create call has it, whatever its outcome; unless the caller's struct ends before it. */
static void test_refused_transport(void **state)
{
	choir_comm_config config = CHOIR_COMM_CONFIG_INIT;
	choir_device *device = world_device();
	choir_comm *comm;

	(void)state;
	config.transport = &theirs;
	REFUSED(choir_comm_create_local(0, &device, &config, &comm), "n_local");
	assert_int_equal(destroyed, 1);
	config.struct_size = sizeof config + 8;
	REFUSED(choir_comm_create_local(1, &device, &config, &comm), "struct_size");
	assert_int_equal(destroyed, 2);
	config.struct_size = offsetof(choir_comm_config, transport);
	REFUSED(choir_comm_create_local(0, &device, &config, &comm), "n_local");
	assert_int_equal(destroyed, 2);
}

/* No size that ends inside a member is that of any version: nothing is taken by half. */
static void test_cut_configs(void **state)
{
	choir_comm_config config = CHOIR_COMM_CONFIG_INIT;
	choir_device_config of_device = CHOIR_DEVICE_CONFIG_INIT;
	choir_bootstrap boot = { sizeof boot, 0, 1, no_gather, NULL, NULL };
	choir_device *device = world_device(), *made;
	int before = destroyed;
	choir_comm *comm;

	(void)state;
	config.transport = &theirs;
	for (size_t n = offsetof(choir_comm_config, transport) + 1; n % sizeof(void *) != 0; n++) {
		REFUSED(choir_comm_create_local(1, &device, shortened(&config, n), &comm),
		        "choir_comm_create_local|config->struct_size");
		REFUSED(choir_comm_create(&boot, 1, &device, shortened(&config, n), &comm),
		        "choir_comm_create|config->struct_size");
	}
	assert_int_equal(destroyed, before);
	REFUSED(choir_comm_create(shortened(&boot, offsetof(choir_bootstrap, gather) + 7), 1, &device, NULL, &comm),
	        "choir_comm_create|bootstrap->struct_size is 23");
	REFUSED(choir_device_create(choir_device_context(device), choir_device_id(device), shortened(&of_device, 11),
	                            &made),
	        "choir_device_create|struct_size is 11");
}

static void test_cut_calls(void **state)
{
	choir_call call = CHOIR_CALL_INIT;
	choir_topk_config of_state = CHOIR_TOPK_CONFIG_INIT;
	choir_topk_out out = CHOIR_TOPK_OUT_INIT;
	choir_op_config of_op = CHOIR_OP_CONFIG_INIT;
	choir_plan_costs costs = { .struct_size = offsetof(choir_plan_costs, network_GBps) + 4, .network_GBps = 7 };
	choir_topk_state *topk;
	choir_buffer one = choir_host(&(float){ 1 });
	struct world world;
	choir_op op;

	(void)state;
	world_begin(&world, 1, NULL);
	call.options = "order=any";
	REFUSED(choir_allreduce(world.comms[0], one, one, 1, CHOIR_F32, CHOIR_OP_SUM,
	                        shortened(&call, offsetof(choir_call, options) + 5), NULL),
	        "choir_allreduce|call->struct_size");
	REFUSED(choir_op_create(shortened(&of_op, offsetof(choir_op_config, name) + 1), &op),
	        "choir_op_create|struct_size is 9");
	REFUSED(choir_plan_costs_default(&costs), "choir_plan_costs_default|struct_size");
	assert_true(costs.network_GBps == 7);
	of_state.count = 1;
	assert_int_equal(choir_topk_create(world.comms[0], &of_state, &topk), CHOIR_SUCCESS);
	for (size_t n = offsetof(choir_topk_out, involved) + 1; n < offsetof(choir_topk_out, involved_pairs_p); n++)
		REFUSED(choir_topk_allreduce(topk, one, shortened(&out, n), NULL, NULL),
		        "choir_topk_allreduce|out->struct_size");
	choir_topk_destroy(topk);
	world_end(&world);
}

static void test_most(void **state)
{
	int colors[2] = { INT32_MAX, INT32_MAX }, keys[2] = { 1, 0 };
	choir_comm *children[2] = { NULL, NULL };
	struct world world;

	(void)state;
	world_begin(&world, 2, NULL);
	assert_int_equal(choir_comm_split_local(2, world.comms, colors, keys, children), CHOIR_SUCCESS);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(choir_comm_size(children[i]), 2);
		assert_int_equal(choir_comm_rank(children[i]), 1 - i);
		assert_int_equal(choir_comm_destroy(children[i]), CHOIR_SUCCESS);
	}
	world_end(&world);
}

/* More tensors than memory can hold. */
static void test_most_tensors(void **state)
{
	int32_t from[2] = { 0 }, to[2] = { 0 };
	choir_tensor tensor = { choir_host(from), choir_host(to), 2, CHOIR_I32 };
	const size_t most = SIZE_MAX;
	struct world world;

	(void)state;
	world_begin(&world, 2, NULL);
	choir_comm *comm = world.comms[0];
	REFUSED(choir_allreduce_multi(comm, &tensor, most, CHOIR_OP_SUM, NULL, NULL),
	        "choir_allreduce_multi|n_tensors");
	REFUSED(choir_reduce_scatter_multi(comm, &tensor, most, CHOIR_OP_SUM, NULL, NULL),
	        "choir_reduce_scatter_multi|n_tensors");
	REFUSED(choir_allgather_multi(comm, &tensor, most, NULL, NULL), "choir_allgather_multi|n_tensors");
	REFUSED(choir_broadcast_multi(comm, &tensor, most, 0, NULL, NULL), "choir_broadcast_multi|n_tensors");
	REFUSED(choir_reduce_multi(comm, &tensor, most, CHOIR_OP_SUM, 0, NULL, NULL), "choir_reduce_multi|n_tensors");
	REFUSED(choir_reduce_scatter_padded_multi(comm, &tensor, most, CHOIR_OP_SUM, NULL, NULL),
	        "choir_reduce_scatter_padded_multi|n_tensors");
	REFUSED(choir_allgather_padded_multi(comm, &tensor, most, NULL, NULL),
	        "choir_allgather_padded_multi|n_tensors");
	world_end(&world);
}

static void test_stale_mem(void **state)
{
	choir_buffer stale = choir_mem((cl_mem)(void *)room_end(), 0);
	size_t n_ind = 0, n_val = 0, none = 0;
	choir_event *event;
	struct world world;

	(void)state;
	world_begin(&world, 1, NULL);
	choir_comm *comm = world.comms[0];
	assert_int_equal(choir_allreduce(comm, stale, stale, 0, CHOIR_F32, CHOIR_OP_SUM, NULL, NULL), CHOIR_SUCCESS);
	assert_int_equal(choir_allreduce(comm, stale, stale, 0, CHOIR_F32, CHOIR_OP_SUM, NULL, &event), CHOIR_SUCCESS);
	assert_int_equal(choir_event_wait(event, -1), CHOIR_SUCCESS);
	choir_event_release(event);
	assert_int_equal(choir_alltoallv(comm, stale, &none, NULL, stale, &none, NULL, CHOIR_F32, NULL, NULL),
	                 CHOIR_SUCCESS);
	assert_int_equal(choir_sparse_allreduce(comm, stale, 0, stale, 0, stale, &n_ind, stale, &n_val, CHOIR_I32,
	                                        CHOIR_F32, CHOIR_OP_SUM, NULL, NULL, NULL),
	                 CHOIR_SUCCESS);
	assert_true(n_ind == 0 && n_val == 0);
	world_end(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_short_call),        cmocka_unit_test(test_short_and_long_structs),
		cmocka_unit_test(test_refused_transport), cmocka_unit_test(test_cut_configs),
		cmocka_unit_test(test_cut_calls),         cmocka_unit_test(test_most),
		cmocka_unit_test(test_most_tensors),      cmocka_unit_test(test_stale_mem)
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	world_device_drop();
	return failed;
}
