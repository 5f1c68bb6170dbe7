/* SPDX-License-Identifier: MIT */
#include "run.h"

#include "bench/data/symmetric.h"
#include "bench/ranks/world.h"

struct job run_job(struct run *run, const struct collective_row *what, choir_dtype dtype, choir_op op)
{
	return (struct job){ .args = run->args,
		             .what = what,
		             .world = run->world,
		             .device = run->device,
		             .comm = run->comm,
		             .memory = symmetric_source(run),
		             .rank = run->world->rank,
		             .n = run->world->size,
		             .dtype = dtype,
		             .op = op,
		             .elem_bytes = choir_dtype_bytes(dtype) };
}
