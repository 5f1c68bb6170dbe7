/* SPDX-License-Identifier: MIT */
/* Kernels: their arguments are taken when they are enqueued; they run later, as a second cl_kernel of the same name
 * that only the model sets arguments of.  A kernel may touch all of each buffer that it is given. */
#include "model.h"

#include <stdlib.h>
#include <string.h>

struct argument {
	size_t bytes;               /* 0: not set yet */
	void *value;                /* NULL: local memory */
	bool is_memory, is_pointer; /* the value is a cl_mem; the address of shared virtual memory */
	bool only_reads;
	bool was_pointer; /* some value before it was */
};

struct kernel {
	cl_kernel handle, runs;
	unsigned refs;
	cl_uint n;
	struct argument *args;
	pthread_mutex_t lock; /* one launch at a time */
};

struct launch {
	struct kernel *kernel;
	cl_uint dims;
	size_t from[3], global[3], local[3];
	bool has_from, has_local;
	struct argument *args;
};

static struct table kernels;

static void kernel_unref(struct kernel *kernel)
{
	pthread_mutex_lock(&model_lock);
	bool last = --kernel->refs == 0;
	pthread_mutex_unlock(&model_lock);
	if (!last)
		return;
	below->clReleaseKernel(kernel->runs);
	for (cl_uint i = 0; i < kernel->n; i++)
		free(kernel->args[i].value);
	free(kernel->args);
	pthread_mutex_destroy(&kernel->lock);
	free(kernel);
}

/* Does the kernel promise only to read what this argument points to? */
static bool only_reads(cl_kernel handle, cl_uint i)
{
	cl_kernel_arg_address_qualifier space = 0;
	cl_kernel_arg_type_qualifier type = 0;

	below->clGetKernelArgInfo(handle, i, CL_KERNEL_ARG_ADDRESS_QUALIFIER, sizeof space, &space, NULL);
	below->clGetKernelArgInfo(handle, i, CL_KERNEL_ARG_TYPE_QUALIFIER, sizeof type, &type, NULL);
	return space == CL_KERNEL_ARG_ADDRESS_CONSTANT || (type & CL_KERNEL_ARG_TYPE_CONST) != 0;
}

static cl_int add(cl_program program, cl_kernel handle, const char *name)
{
	struct kernel *kernel = calloc(1, sizeof *kernel);
	cl_int rc = kernel != NULL ? CL_SUCCESS : CL_OUT_OF_HOST_MEMORY;

	if (rc == CL_SUCCESS)
		kernel->runs = below->clCreateKernel(program, name, &rc);
	if (rc == CL_SUCCESS)
		rc = below->clGetKernelInfo(handle, CL_KERNEL_NUM_ARGS, sizeof kernel->n, &kernel->n, NULL);
	if (rc != CL_SUCCESS || (kernel->args = calloc(kernel->n + 1, sizeof *kernel->args)) == NULL) {
		free(kernel);
		return rc != CL_SUCCESS ? rc : CL_OUT_OF_HOST_MEMORY;
	}
	kernel->handle = handle;
	kernel->refs = 1;
	pthread_mutex_init(&kernel->lock, NULL);
	for (cl_uint i = 0; i < kernel->n; i++)
		kernel->args[i].only_reads = only_reads(handle, i);
	pthread_mutex_lock(&model_lock);
	table_add(&kernels, handle, kernel);
	pthread_mutex_unlock(&model_lock);
	return CL_SUCCESS;
}

static cl_kernel CL_API_CALL create(cl_program program, const char *name, cl_int *rc_p)
{
	cl_int rc = CL_SUCCESS;
	cl_kernel handle = below->clCreateKernel(program, name, &rc);

	if (rc == CL_SUCCESS && (rc = add(program, handle, name)) != CL_SUCCESS) {
		below->clReleaseKernel(handle);
		handle = NULL;
	}
	if (rc_p != NULL)
		*rc_p = rc;
	return handle;
}

static cl_int CL_API_CALL create_all(cl_program program, cl_uint room, cl_kernel *out, cl_uint *n_p)
{
	cl_uint n = 0;
	cl_int rc = below->clCreateKernelsInProgram(program, room, out, &n);

	for (cl_uint i = 0; rc == CL_SUCCESS && out != NULL && i < n; i++) {
		char name[256] = "";

		below->clGetKernelInfo(out[i], CL_KERNEL_FUNCTION_NAME, sizeof name, name, NULL);
		rc = add(program, out[i], name);
	}
	if (n_p != NULL)
		*n_p = n;
	return rc;
}

static cl_int CL_API_CALL retain(cl_kernel handle)
{
	pthread_mutex_lock(&model_lock);
	struct kernel *kernel = table_find(&kernels, handle);
	if (kernel != NULL)
		kernel->refs++;
	pthread_mutex_unlock(&model_lock);
	return kernel != NULL ? below->clRetainKernel(handle) : CL_INVALID_KERNEL;
}

static cl_int CL_API_CALL release(cl_kernel handle)
{
	cl_uint refs = 0;

	pthread_mutex_lock(&model_lock);
	struct kernel *kernel = table_find(&kernels, handle);
	below->clGetKernelInfo(handle, CL_KERNEL_REFERENCE_COUNT, sizeof refs, &refs, NULL);
	if (kernel != NULL && refs == 1)
		table_remove(&kernels, handle);
	pthread_mutex_unlock(&model_lock);
	if (kernel == NULL)
		return CL_INVALID_KERNEL;
	kernel_unref(kernel);
	return below->clReleaseKernel(handle);
}

/* After the driver below has taken the same. */
static cl_int keep_argument(cl_kernel handle, cl_uint i, size_t bytes, const void *value, bool is_pointer)
{
	void *copy = value != NULL ? malloc(bytes) : NULL;
	cl_mem mem = NULL;

	if (copy != NULL)
		memcpy(copy, value, bytes);
	if (copy != NULL && bytes == sizeof mem && !is_pointer)
		memcpy(&mem, value, bytes);
	pthread_mutex_lock(&model_lock);
	struct kernel *kernel = table_find(&kernels, handle);
	struct argument *argument = kernel != NULL && i < kernel->n ? &kernel->args[i] : NULL;
	if (argument != NULL) {
		free(argument->value);
		argument->bytes = bytes;
		argument->value = copy;
		argument->is_memory = memory_of(mem) != NULL;
		argument->is_pointer = is_pointer;
		argument->was_pointer |= is_pointer;
	}
	pthread_mutex_unlock(&model_lock);
	if (argument == NULL)
		free(copy);
	return argument != NULL ? CL_SUCCESS : CL_INVALID_KERNEL;
}

static cl_int CL_API_CALL set_argument(cl_kernel handle, cl_uint i, size_t bytes, const void *value)
{
	cl_int rc = below->clSetKernelArg(handle, i, bytes, value);

	return rc == CL_SUCCESS ? keep_argument(handle, i, bytes, value, false) : rc;
}

cl_int CL_API_CALL kernel_set_pointer(cl_kernel handle, cl_uint i, const void *ptr)
{
	pthread_mutex_lock(&model_lock);
	struct memory *root = memory_viewed_at(ptr);
	cl_int rc = root != NULL && root->handle == NULL ? CL_SUCCESS : CL_INVALID_ARG_VALUE;
	pthread_mutex_unlock(&model_lock);
	return rc == CL_SUCCESS ? keep_argument(handle, i, sizeof ptr, &ptr, true) : rc;
}

void launch_free(struct launch *launch)
{
	for (cl_uint i = 0; launch->args != NULL && i < launch->kernel->n; i++)
		free(launch->args[i].value);
	free(launch->args);
	kernel_unref(launch->kernel);
	free(launch);
}

/* Under the lock: the kernel may touch all of that memory. */
static cl_int take_memory(struct command *command, const struct argument *from)
{
	struct memory *memory = memory_of(*(cl_mem *)from->value);
	size_t off = 0;

	if (memory == NULL)
		return CL_INVALID_MEM_OBJECT;
	struct memory *root = memory_root(memory, &off);
	bool reads = from->only_reads || (memory->flags & CL_MEM_READ_ONLY) != 0;

	command_touch(command, root, off, off + memory->bytes, !reads);
	return CL_SUCCESS;
}

/* The same of shared virtual memory; *value becomes the address in the device's memory. */
static cl_int take_shared(struct command *command, const struct argument *from, void *value)
{
	unsigned char *ptr, *there;

	memcpy(&ptr, from->value, sizeof ptr);
	struct memory *root = memory_viewed_at(ptr);
	if (root == NULL || root->handle != NULL)
		return CL_INVALID_ARG_VALUE;
	there = root->device + (ptr - root->view);
	memcpy(value, &there, sizeof there);
	command_touch(command, root, 0, root->bytes, !from->only_reads);
	return CL_SUCCESS;
}

/* Under the lock. */
static cl_int take_arguments(struct command *command, struct launch *launch)
{
	const struct kernel *kernel = launch->kernel;

	launch->args = calloc(kernel->n + 1, sizeof *launch->args);
	if (launch->args == NULL)
		return CL_OUT_OF_HOST_MEMORY;
	for (cl_uint i = 0; i < kernel->n; i++) {
		struct argument *to = &launch->args[i];
		const struct argument *from = &kernel->args[i];
		cl_int rc = CL_SUCCESS;

		if (from->bytes == 0)
			return CL_INVALID_KERNEL_ARGS;
		if (from->is_memory && from->was_pointer) {
			report("svm", "argument %u of a kernel is a cl_mem, and was a pointer before", i);
			return CL_INVALID_KERNEL_ARGS;
		}
		*to = *from;
		to->value = NULL;
		if (from->value == NULL)
			continue;
		to->value = malloc(from->bytes);
		if (to->value == NULL)
			return CL_OUT_OF_HOST_MEMORY;
		memcpy(to->value, from->value, from->bytes);
		if (from->is_memory)
			rc = take_memory(command, from);
		else if (from->is_pointer)
			rc = take_shared(command, from, to->value);
		if (rc != CL_SUCCESS) {
			report("freed", "argument %u of a kernel is memory that is no more", i);
			return rc;
		}
	}
	return CL_SUCCESS;
}

/* The rules of OpenCL for sizes; counts items and groups.  Without sizes the driver may choose groups of one item. */
static cl_int check_sizes(const struct launch *launch, const struct device *device, uint64_t *items_p,
                          uint64_t *groups_p)
{
	size_t most = device_kernel_items(device, launch->kernel->runs), group = 1;

	*items_p = *groups_p = 1;
	for (cl_uint i = 0; i < launch->dims; i++) {
		size_t local = launch->has_local ? launch->local[i] : 1;

		if (launch->global[i] == 0)
			return CL_INVALID_GLOBAL_WORK_SIZE;
		if (local == 0 || launch->global[i] % local != 0)
			return CL_INVALID_WORK_GROUP_SIZE;
		group *= local;
		*items_p *= launch->global[i];
		*groups_p *= launch->global[i] / local;
	}
	return group <= most ? CL_SUCCESS : CL_INVALID_WORK_GROUP_SIZE;
}

static cl_int fill_launch(struct command *command, struct launch *launch, cl_uint dims, const size_t *from,
                          const size_t *global, const size_t *local)
{
	uint64_t groups;
	cl_int rc;

	if (dims < 1 || dims > 3)
		return CL_INVALID_WORK_DIMENSION;
	if (global == NULL)
		return CL_INVALID_GLOBAL_WORK_SIZE;
	launch->dims = dims;
	launch->has_from = from != NULL;
	launch->has_local = local != NULL;
	for (cl_uint i = 0; i < dims; i++) {
		launch->from[i] = from != NULL ? from[i] : 0;
		launch->global[i] = global[i];
		launch->local[i] = local != NULL ? local[i] : 0;
	}
	rc = check_sizes(launch, command->queue->device, &command->items, &groups);
	if (rc == CL_SUCCESS && (double)groups > options.groups)
		report("groups", "a kernel is launched over %llu groups, more than %.0f", (unsigned long long)groups,
		       options.groups);
	return rc;
}

static cl_int CL_API_CALL enqueue(cl_command_queue queue, cl_kernel handle, cl_uint dims, const size_t *from,
                                  const size_t *global, const size_t *local, cl_uint n, const cl_event *list,
                                  cl_event *event_p)
{
	struct launch *launch;
	struct command *command;
	cl_int rc = command_begin(queue, n, list, "kernel", &command);

	if (rc != CL_SUCCESS)
		return rc;
	launch = calloc(1, sizeof *launch);
	command->kind = DO_KERNEL;
	command->engine = ENGINE_COMPUTE;
	pthread_mutex_lock(&model_lock);
	struct kernel *kernel = launch != NULL ? table_find(&kernels, handle) : NULL;
	if (kernel == NULL) {
		rc = launch != NULL ? CL_INVALID_KERNEL : CL_OUT_OF_HOST_MEMORY;
	} else {
		kernel->refs++;
		launch->kernel = kernel;
		command->launch = launch;
		rc = take_arguments(command, launch);
	}
	pthread_mutex_unlock(&model_lock);
	if (kernel == NULL)
		free(launch);
	if (rc == CL_SUCCESS)
		rc = fill_launch(command, launch, dims, from, global, local);
	if (rc == CL_SUCCESS)
		return command_submit(command, CL_COMMAND_NDRANGE_KERNEL, CL_FALSE, event_p);
	command_drop(command);
	return rc;
}

static cl_int CL_API_CALL enqueue_task(cl_command_queue queue, cl_kernel kernel, cl_uint n, const cl_event *list,
                                       cl_event *event_p)
{
	static const size_t one = 1;

	return enqueue(queue, kernel, 1, NULL, &one, &one, n, list, event_p);
}

cl_int launch_run(struct launch *launch, cl_command_queue queue)
{
	struct kernel *kernel = launch->kernel;
	cl_int rc = CL_SUCCESS;

	pthread_mutex_lock(&kernel->lock);
	for (cl_uint i = 0; i < kernel->n && rc == CL_SUCCESS; i++) {
		const struct argument *argument = &launch->args[i];

		rc = argument->is_pointer ? below->clSetKernelArgSVMPointer(kernel->runs, i, *(void **)argument->value)
		                          : below->clSetKernelArg(kernel->runs, i, argument->bytes, argument->value);
	}
	if (rc == CL_SUCCESS)
		rc = below->clEnqueueNDRangeKernel(queue, kernel->runs, launch->dims,
		                                   launch->has_from ? launch->from : NULL, launch->global,
		                                   launch->has_local ? launch->local : NULL, 0, NULL, NULL);
	pthread_mutex_unlock(&kernel->lock);
	if (rc == CL_SUCCESS)
		rc = below->clFinish(queue);
	if (rc != CL_SUCCESS)
		report("kernel", "the driver below answers %d to a kernel that the model took", rc);
	return rc;
}

static cl_int CL_API_CALL group_info(cl_kernel handle, cl_device_id id, cl_kernel_work_group_info what, size_t room,
                                     void *out, size_t *bytes_p)
{
	const struct device *device = device_of(id);
	size_t most;

	if (id != NULL && device == NULL)
		return CL_INVALID_DEVICE;
	if (device != NULL && what == CL_KERNEL_WORK_GROUP_SIZE) {
		most = device_kernel_items(device, handle);
		return answer(&most, sizeof most, room, out, bytes_p);
	}
	return below->clGetKernelWorkGroupInfo(handle, device != NULL ? device->below : NULL, what, room, out, bytes_p);
}

void kernel_install(struct _cl_icd_dispatch *mine)
{
	mine->clCreateKernel = create;
	mine->clCreateKernelsInProgram = create_all;
	mine->clRetainKernel = retain;
	mine->clReleaseKernel = release;
	mine->clSetKernelArg = set_argument;
	mine->clSetKernelArgSVMPointer = kernel_set_pointer;
	mine->clEnqueueNDRangeKernel = enqueue;
	mine->clEnqueueTask = enqueue_task;
	mine->clGetKernelWorkGroupInfo = group_info;
}
