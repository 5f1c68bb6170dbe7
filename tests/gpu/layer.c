/* SPDX-License-Identifier: MIT */
/* The layer's entry: model.h says what it is. */
#include "layer/info.h"
#include "model.h"

#include <string.h>

const struct _cl_icd_dispatch *below;
pthread_mutex_t model_lock = PTHREAD_MUTEX_INITIALIZER;
static struct _cl_icd_dispatch mine;

cl_int answer(const void *value, size_t bytes, size_t room, void *out, size_t *bytes_p)
{
	if (out != NULL && room < bytes)
		return CL_INVALID_VALUE;
	if (out != NULL)
		memcpy(out, value, bytes);
	if (bytes_p != NULL)
		*bytes_p = bytes;
	return CL_SUCCESS;
}

CL_API_ENTRY cl_int CL_API_CALL clGetLayerInfo(cl_layer_info what, size_t room, void *out, size_t *bytes_p)
{
	return layer_info("choir's tests: a model GPU", what, room, out, bytes_p);
}

CL_API_ENTRY cl_int CL_API_CALL clInitLayer(cl_uint n, const struct _cl_icd_dispatch *target, cl_uint *n_p,
                                            const struct _cl_icd_dispatch **out_p)
{
	if (target == NULL || n_p == NULL || out_p == NULL || n * sizeof(void *) < sizeof mine)
		return CL_INVALID_VALUE;
	options_read();
	below = target;
	mine = *target;
	refused_install(&mine);
	device_install(&mine);
	context_install(&mine);
	program_install(&mine);
	memory_install(&mine);
	svm_install(&mine);
	queue_install(&mine);
	event_install(&mine);
	command_install(&mine);
	copies_install(&mine);
	maps_install(&mine);
	kernel_install(&mine);
	*n_p = sizeof mine / sizeof(void *);
	*out_p = &mine;
	return CL_SUCCESS;
}
