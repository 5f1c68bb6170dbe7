/* SPDX-License-Identifier: MIT */
/* Collectives that only move, in device memory: the copies of `direct`, from cl_mem to cl_mem.  Each byte goes once
 * over the link between the devices, to each rank that receives it.  One node, any lengths.  Note [device plans]. */
#include "algo/build.h"
#include "algo/device.h"

choir_status allgather_device(const struct algo_in *in, struct plan *plan)
{
	return device_plan(allgather_direct(in, plan), plan);
}

choir_status alltoall_device(const struct algo_in *in, struct plan *plan)
{
	return device_plan(alltoall_direct(in, plan), plan);
}

choir_status broadcast_device(const struct algo_in *in, struct plan *plan)
{
	return device_plan(broadcast_direct(in, plan), plan);
}
