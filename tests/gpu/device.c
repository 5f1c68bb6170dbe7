/* SPDX-License-Identifier: MIT */
/* Model devices: as many a platform as the options say, all over the platform's first CPU. */
#include "model.h"

#include <stdio.h>
#include <string.h>

#define MAGIC 0x6d6f64656c677075u
enum { MAX_DEVICES = 64 };

static struct device devices[MAX_DEVICES];
static unsigned n_devices;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

struct device *device_of(cl_device_id id)
{
	struct device *device = (struct device *)id;

	return device >= devices && device < devices + MAX_DEVICES && device->magic == MAGIC ? device : NULL;
}

void device_start(struct device *device)
{
	if (device->started)
		return;
	device->started = true;
	for (int kind = 0; kind < ENGINES; kind++) {
		device->engines[kind].device = device;
		device->engines[kind].kind = (enum engine_kind)kind;
		engine_start(&device->engines[kind]);
	}
	events_start();
}

static void add_platform(cl_platform_id platform)
{
	cl_device_id cpu;

	for (unsigned i = 0; i < n_devices; i++)
		if (devices[i].platform == platform)
			return;
	if (below->clGetDeviceIDs(platform, CL_DEVICE_TYPE_CPU, 1, &cpu, NULL) != CL_SUCCESS)
		return;
	for (unsigned i = 0; i < (unsigned)options.devices && n_devices < MAX_DEVICES; i++)
		devices[n_devices++] =
		    (struct device){ .magic = MAGIC, .below = cpu, .platform = platform, .number = i };
}

static cl_int CL_API_CALL get_ids(cl_platform_id platform, cl_device_type type, cl_uint room, cl_device_id *out,
                                  cl_uint *n_p)
{
	cl_uint n = 0;

	if ((out == NULL && n_p == NULL) || (out != NULL && room == 0))
		return CL_INVALID_VALUE;
	if (type == 0)
		return CL_INVALID_DEVICE_TYPE;
	pthread_mutex_lock(&lock);
	add_platform(platform);
	for (unsigned i = 0; i < n_devices && (type & (CL_DEVICE_TYPE_GPU | CL_DEVICE_TYPE_DEFAULT)) != 0; i++) {
		if (devices[i].platform != platform)
			continue;
		if (out != NULL && n < room)
			out[n] = (cl_device_id)&devices[i];
		n++;
	}
	pthread_mutex_unlock(&lock);
	if (n_p != NULL)
		*n_p = n;
	return n > 0 ? CL_SUCCESS : CL_DEVICE_NOT_FOUND;
}

/* The runtime's, and one of the model's own. */
static cl_int extensions_of(const struct device *device, size_t room, void *out, size_t *bytes_p)
{
	static const char usm[] = " cl_intel_unified_shared_memory";
	char text[8192] = "";

	below->clGetDeviceInfo(device->below, CL_DEVICE_EXTENSIONS, sizeof text - sizeof usm, text, NULL);
	if (strstr(text, usm + 1) == NULL)
		strcat(text, usm);
	return answer(text, strlen(text) + 1, room, out, bytes_p);
}

static cl_int name_of(const struct device *device, size_t room, void *out, size_t *bytes_p)
{
	char below_name[200] = "", name[256];

	below->clGetDeviceInfo(device->below, CL_DEVICE_NAME, sizeof below_name - 1, below_name, NULL);
	snprintf(name, sizeof name, "model GPU %u over %s", device->number, below_name);
	return answer(name, strlen(name) + 1, room, out, bytes_p);
}

static size_t at_most(size_t n, double limit)
{
	return (double)n > limit ? (size_t)limit : n;
}

static size_t group_items(const struct device *device)
{
	size_t most = 1;

	below->clGetDeviceInfo(device->below, CL_DEVICE_MAX_WORK_GROUP_SIZE, sizeof most, &most, NULL);
	return at_most(most, options.group_items);
}

size_t device_kernel_items(const struct device *device, cl_kernel kernel)
{
	size_t most = 1, required[3] = { 0 };

	below->clGetKernelWorkGroupInfo(kernel, device->below, CL_KERNEL_WORK_GROUP_SIZE, sizeof most, &most, NULL);
	below->clGetKernelWorkGroupInfo(kernel, device->below, CL_KERNEL_COMPILE_WORK_GROUP_SIZE, sizeof required,
	                                required, NULL);
	most = at_most(most, (double)group_items(device));
	return required[0] == 0 ? at_most(most, options.kernel_items) : most;
}

/* What a driver of a GPU with memory of its own answers; all else is the CPU's. */
static cl_int CL_API_CALL get_info(cl_device_id id, cl_device_info what, size_t room, void *out, size_t *bytes_p)
{
	static const cl_device_type type = CL_DEVICE_TYPE_GPU;
	static const cl_bool no = CL_FALSE;
	static const cl_device_id none = NULL;
	static const cl_uint zero = 0, one = 1;
	static const cl_device_svm_capabilities coarse = CL_DEVICE_SVM_COARSE_GRAIN_BUFFER;
	static const cl_command_queue_properties in_order = CL_QUEUE_PROFILING_ENABLE, nothing = 0;
	const struct device *device = device_of(id);
	size_t most;

	if (device == NULL)
		return CL_INVALID_DEVICE;
	switch (what) {
	case CL_DEVICE_MAX_WORK_GROUP_SIZE:
		most = group_items(device);
		return answer(&most, sizeof most, room, out, bytes_p);
	case CL_DEVICE_TYPE:
		return answer(&type, sizeof type, room, out, bytes_p);
	case CL_DEVICE_HOST_UNIFIED_MEMORY:
		return answer(&no, sizeof no, room, out, bytes_p);
	case CL_DEVICE_PARENT_DEVICE:
		return answer(&none, sizeof none, room, out, bytes_p);
	case CL_DEVICE_PARTITION_MAX_SUB_DEVICES:
		return answer(&zero, sizeof zero, room, out, bytes_p);
	case CL_DEVICE_REFERENCE_COUNT:
		return answer(&one, sizeof one, room, out, bytes_p);
	case CL_DEVICE_SVM_CAPABILITIES:
		return answer(&coarse, sizeof coarse, room, out, bytes_p);
	case CL_DEVICE_QUEUE_ON_HOST_PROPERTIES:
		return answer(&in_order, sizeof in_order, room, out, bytes_p);
	case CL_DEVICE_QUEUE_ON_DEVICE_PROPERTIES:
		return answer(&nothing, sizeof nothing, room, out, bytes_p);
	case CL_DEVICE_NAME:
		return name_of(device, room, out, bytes_p);
	case CL_DEVICE_EXTENSIONS:
		return extensions_of(device, room, out, bytes_p);
	default:
		return below->clGetDeviceInfo(device->below, what, room, out, bytes_p);
	}
}

static cl_int CL_API_CALL keep(cl_device_id id)
{
	return device_of(id) != NULL ? CL_SUCCESS : CL_INVALID_DEVICE;
}

static void *extension_function(const char *name)
{
	void *fn = usm_function(name);

	return fn != NULL ? fn : stats_function(name);
}

/* The runtime's functions of extensions would get handles of the model's. */
static void *CL_API_CALL function_of(cl_platform_id platform, const char *name)
{
	(void)platform;
	return extension_function(name);
}

static void *CL_API_CALL function(const char *name)
{
	return extension_function(name);
}

void device_install(struct _cl_icd_dispatch *mine)
{
	mine->clGetDeviceIDs = get_ids;
	mine->clGetDeviceInfo = get_info;
	mine->clRetainDevice = keep;
	mine->clReleaseDevice = keep;
	mine->clGetExtensionFunctionAddressForPlatform = function_of;
	mine->clGetExtensionFunctionAddress = function;
}
