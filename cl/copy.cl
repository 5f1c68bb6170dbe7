/* SPDX-License-Identifier: MIT */
/* Copies between memory of two kinds, a cl_mem, SVM and USM, for which OpenCL has no command; and between a GPU's SVM
 * and a cl_mem on its way to the host or from it (Note [SVM and host memory] in src/dev/copy.c).
 *
 * One work-item for each element, 16 bytes or one; items beyond count do nothing.  No barrier: no two touch the same
 * bytes.
 *
 * One kernel under three names, so that an argument is always a cl_mem or always a pointer: NVIDIA's driver 580
 * launches no kernel that is given a cl_mem where it had a pointer before. */
#define COPY(name, type)                                                                                               \
	__kernel void name(__global type *to, const __global type *from, ulong count)                                  \
	{                                                                                                              \
		size_t i = get_global_id(0);                                                                           \
                                                                                                                       \
		if (i < count)                                                                                         \
			to[i] = from[i];                                                                               \
	}

COPY(copy_to_mem, uint4)
COPY(copy_from_mem, uint4)
COPY(copy_pointers, uint4)

COPY(bytes_to_mem, uchar)
COPY(bytes_from_mem, uchar)
