/* SPDX-License-Identifier: MIT */
/* An operator of your own: each rank has a step x -> m x + c, and the allreduce composes the steps of all ranks in rank
 * order.  Steps do not commute, so the operator says so.  The ranks share one thread and host memory.
 *
 * ./operator */
#define CL_TARGET_OPENCL_VERSION 120
#include <choir/choir.h>
#include <stdio.h>
#include <stdlib.h>

#define RANKS 3

/* Modulo 2^32, packed as m << 32 | c. */
static uint64_t step(uint32_t m, uint32_t c)
{
	return (uint64_t)m << 32 | c;
}

/* acc[i] = acc[i], then src[i] */
static void compose(void *ctx, void *acc, const void *src, size_t count, choir_dtype dtype)
{
	uint64_t *to = acc;
	const uint64_t *from = src;

	(void)ctx;
	(void)dtype; /* of dtypes: CHOIR_U64 */
	for (size_t i = 0; i < count; i++) {
		uint32_t m = (uint32_t)(from[i] >> 32), c = (uint32_t)from[i];
		to[i] = step((uint32_t)(to[i] >> 32) * m, (uint32_t)to[i] * m + c);
	}
}

static void choir_ok(choir_status status)
{
	if (status != CHOIR_SUCCESS) {
		fprintf(stderr, "%s\n", choir_last_error());
		exit(1);
	}
}

int main(void)
{
	choir_device *device, *devices[RANKS];
	choir_comm *comms[RANKS];
	choir_op_config config = CHOIR_OP_CONFIG_INIT;
	choir_op then;
	uint64_t data[RANKS] = { step(2, 1), step(3, 5), step(10, 7) };

	choir_ok(choir_device_create_host(&device));
	for (int rank = 0; rank < RANKS; rank++)
		devices[rank] = device;
	choir_ok(choir_comm_create_local(RANKS, devices, NULL, comms));

	config.name = "then";
	config.fold = compose;
	/* For devices whose kernels reduce; host memory alone has none. */
	config.source = "ulong compose(ulong a, ulong b)\n"
			"{\n"
			"	uint m = (uint)(b >> 32), c = (uint)b;\n"
			"	return (ulong)((uint)(a >> 32) * m) << 32 | ((uint)a * m + c);\n"
			"}\n";
	config.fold_text = "compose(a, b)";
	config.commutative = 0;
	config.dtypes = 1u << CHOIR_U64;
	choir_ok(choir_op_create(&config, &then));

	choir_ok(choir_group_begin());
	for (int rank = 0; rank < RANKS; rank++)
		choir_ok(choir_allreduce(comms[rank], choir_host(&data[rank]), choir_host(&data[rank]), 1, CHOIR_U64,
		                         then, NULL, NULL));
	choir_ok(choir_group_end());
	for (int rank = 0; rank < RANKS; rank++)
		printf("rank %d: x -> %u x + %u\n", rank, (unsigned)(data[rank] >> 32), (unsigned)data[rank]);

	choir_ok(choir_op_destroy(then));
	for (int rank = 0; rank < RANKS; rank++)
		choir_comm_destroy(comms[rank]);
	choir_device_destroy(device);
	return 0;
}
