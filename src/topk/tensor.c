/* SPDX-License-Identifier: MIT */
#include "topk/tensor.h"

#include "sparse/scratch.h"

#include <string.h>

choir_status tensor_take(struct topk_tensor *tensor, choir_device *device, uint64_t bytes, const char *what)
{
	*tensor = (struct topk_tensor){ .far = NULL };
	if (device != NULL)
		return dev_buffer_create(device, bytes, &tensor->far);
	TRY(pool_take(&tensor->near, bytes, what));
	scratch_large_pages(&tensor->near); /* loops over several tensors at once are faster in them */
	return CHOIR_SUCCESS;
}

void tensor_give(struct topk_tensor *tensor)
{
	dev_buffer_free(tensor->far);
	tensor->far = NULL;
	pool_give(&tensor->near);
}

choir_status tensor_zero(struct topk_tensor *tensor, choir_device *device, uint64_t bytes, uint32_t elem_bytes)
{
	if (tensor->far != NULL)
		return dev_fill_zero(device, tensor->far, 0, bytes, elem_bytes, NULL);
	memset(tensor->near.ptr, 0, bytes);
	return CHOIR_SUCCESS;
}

choir_status tensor_read(const struct topk_tensor *tensor, choir_device *device, uint64_t bytes, void *to)
{
	struct dev_access access = dev_buffer_access(tensor->far, 0, bytes);
	cl_event event = NULL;

	if (tensor->far == NULL) {
		if (bytes > 0)
			memcpy(to, tensor->near.ptr, bytes);
		return CHOIR_SUCCESS;
	}
	TRY(dev_read(device, &access, 0, to, bytes, &event));
	return dev_wait(&event);
}

choir_status tensor_write(struct topk_tensor *tensor, choir_device *device, uint64_t bytes, const void *from)
{
	struct dev_access access = dev_buffer_access(tensor->far, 0, bytes);
	cl_event event = NULL;

	if (tensor->far == NULL) {
		if (bytes > 0)
			memcpy(tensor->near.ptr, from, bytes);
		return CHOIR_SUCCESS;
	}
	TRY(dev_write(device, &access, 0, from, bytes, &event));
	return dev_wait(&event);
}

void tensor_swap(struct topk_tensor *a, struct topk_tensor *b)
{
	struct topk_tensor old = *a;

	*a = *b;
	*b = old;
}
