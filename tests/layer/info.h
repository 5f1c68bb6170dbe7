/* SPDX-License-Identifier: MIT */
/* What a layer says of itself. */
#ifndef TESTS_LAYER_INFO_H
#define TESTS_LAYER_INFO_H

#include <CL/cl_layer.h>
#include <string.h>

/* layer_info: clGetLayerInfo of the layer of that name. */
static inline cl_int layer_info(const char *name, cl_layer_info what, size_t room, void *out, size_t *bytes_p)
{
	static const cl_layer_api_version version = CL_LAYER_API_VERSION_100;
	const void *answer = what == CL_LAYER_NAME ? (const void *)name : &version;
	size_t bytes = what == CL_LAYER_NAME ? strlen(name) + 1 : sizeof version;

	if ((what != CL_LAYER_NAME && what != CL_LAYER_API_VERSION) || (out != NULL && room < bytes))
		return CL_INVALID_VALUE;
	if (out != NULL)
		memcpy(out, answer, bytes);
	if (bytes_p != NULL)
		*bytes_p = bytes;
	return CL_SUCCESS;
}

#endif
