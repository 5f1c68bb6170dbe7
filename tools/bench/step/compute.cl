/* SPDX-License-Identifier: MIT */
/* Work that takes time and touches no memory: x is never negative, which the compiler does not know. */
__kernel void work(__global float *out, uint rounds)
{
	float x = (float)get_global_id(0);

	for (uint i = 0; i < rounds; i++)
		x = mad(x, 0.999f, 0.5f);
	if (x < 0)
		out[0] = x;
}
