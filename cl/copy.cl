/* SPDX-License-Identifier: MIT */
/* Copies between memory of two kinds, a cl_mem, SVM and USM, for which OpenCL has no command.
 *
 * One work-item for each 16 bytes; items beyond count do nothing.  No barrier: no two touch the same bytes.
 *
 * One kernel under three names, so that an argument is always a cl_mem or always a pointer: NVIDIA's driver 580
 * launches no kernel that is given a cl_mem where it had a pointer before. */
#define COPY(name)                                                                                                     \
	__kernel void name(__global uint4 *to, const __global uint4 *from, ulong count)                                \
	{                                                                                                              \
		size_t i = get_global_id(0);                                                                           \
                                                                                                                       \
		if (i < count)                                                                                         \
			to[i] = from[i];                                                                               \
	}

COPY(copy_to_mem)
COPY(copy_from_mem)
COPY(copy_pointers)
