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

/* Any bytes, in launches of any size, for SVM that the host wants (Note [SVM and host memory] in src/dev/copy.c). */
#define COPY_BYTES(name)                                                                                               \
	__kernel void name(__global uchar *to, const __global uchar *from, ulong count)                                \
	{                                                                                                              \
		for (size_t i = get_global_id(0); i < count; i += get_global_size(0))                                  \
			to[i] = from[i];                                                                               \
	}

COPY(copy_to_mem)
COPY(copy_from_mem)
COPY(copy_pointers)

COPY_BYTES(bytes_to_mem)
COPY_BYTES(bytes_from_mem)
