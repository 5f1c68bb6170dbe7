/* SPDX-License-Identifier: MIT */
/* Copies between memory of two kinds, a cl_mem, SVM and USM, for which OpenCL has no command.
 *
 * One work-item for each 16 bytes; items beyond count do nothing.  No barrier: no two touch the same bytes. */
__kernel void copy_lines(__global uint4 *to, const __global uint4 *from, ulong count)
{
	size_t i = get_global_id(0);

	if (i < count)
		to[i] = from[i];
}
