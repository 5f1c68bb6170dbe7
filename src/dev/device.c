/* SPDX-License-Identifier: MIT */
#include "dev/device_impl.h"

#include "base/ascii.h"
#include "base/fork.h"
#include "base/struct_size.h"

#include <stdlib.h>
#include <string.h>

static const char *const class_names[] = { "auto", "direct", "map", "stage" };
static const char *const reduce_names[] = { "auto", "host", "kernel" };

#define COUNT(a) (sizeof(a) / sizeof *(a))

const char *choir_memory_class_name(choir_memory_class memory_class)
{
	return (size_t)memory_class < COUNT(class_names) ? class_names[memory_class] : "unknown";
}

/* The index among names of the environment variable's value; 0 (auto) if it is not set. */
static choir_status choice_from_environment(const char *variable, const char *const *names, size_t n, int *out)
{
	const char *text = getenv(variable);

	*out = 0;
	if (text == NULL || text[0] == '\0')
		return CHOIR_SUCCESS;
	for (size_t i = 0; i < n; i++)
		if (ascii_equal(text, names[i])) {
			*out = (int)i;
			return CHOIR_SUCCESS;
		}
	return error_set(CHOIR_ARGUMENT, "%s is '%s'; it can be auto, %s, %s%s%s", variable, text, names[1], names[2],
	                 n > 3 ? ", " : "", n > 3 ? names[3] : "");
}

static choir_status read_config(const choir_device_config *config, choir_memory_class *class_p,
                                choir_reduce_where *reduce_p)
{
	choir_device_config c = CHOIR_DEVICE_CONFIG_INIT;
	int from_environment;

	if (config != NULL) {
		if (!struct_size_fits(config->struct_size, sizeof c))
			return error_set(CHOIR_ARGUMENT,
			                 "choir_device_create: config->struct_size is %zu; this library knows %zu (use "
			                 "CHOIR_DEVICE_CONFIG_INIT)",
			                 config->struct_size, sizeof c);
		memcpy(&c, config, config->struct_size);
	}
	if ((size_t)c.memory_class >= COUNT(class_names))
		return error_set(CHOIR_ARGUMENT, "choir_device_config.memory_class is %d, which is no class",
		                 (int)c.memory_class);
	if ((size_t)c.reduce >= COUNT(reduce_names))
		return error_set(CHOIR_ARGUMENT, "choir_device_config.reduce is %d, which is no choice", (int)c.reduce);
	TRY(choice_from_environment("CHOIR_CLASS", class_names, COUNT(class_names), &from_environment));
	if (c.memory_class == CHOIR_CLASS_AUTO)
		c.memory_class = (choir_memory_class)from_environment;
	TRY(choice_from_environment("CHOIR_REDUCE", reduce_names, COUNT(reduce_names), &from_environment));
	if (c.reduce == CHOIR_REDUCE_AUTO)
		c.reduce = (choir_reduce_where)from_environment;
	*class_p = c.memory_class;
	*reduce_p = c.reduce;
	return CHOIR_SUCCESS;
}

static choir_status device_is_of_context(cl_context context, cl_device_id id)
{
	cl_device_id *ids;
	size_t n;
	bool found = false;

	TRY(context_devices(context, &ids, &n));
	for (size_t i = 0; i < n; i++)
		found = found || ids[i] == id;
	free(ids);
	return found ? CHOIR_SUCCESS
	             : error_set(CHOIR_ARGUMENT, "choir_device_create: the device is not one of the context's %zu", n);
}

static choir_status choose_class(choir_device *device, choir_memory_class wanted)
{
	device->facts.direct_works = probe_direct(device);
	device->facts.map_works = probe_map(device);
	device->memory_class = wanted;
	if (wanted == CHOIR_CLASS_DIRECT && !device->facts.direct_works)
		return error_set(CHOIR_UNSUPPORTED,
		                 "%s cannot be class direct: a mapped pointer is not coherent after the unmap there",
		                 device->facts.name);
	if (wanted == CHOIR_CLASS_AUTO)
		device->memory_class = device->facts.direct_works ? CHOIR_CLASS_DIRECT
		                       : device->facts.map_works  ? CHOIR_CLASS_MAP
		                                                  : CHOIR_CLASS_STAGE;
	return CHOIR_SUCCESS;
}

static void queue_destroy(cl_command_queue queue)
{
	if (queue == NULL)
		return;
	clFinish(queue);
	clReleaseCommandQueue(queue);
}

static choir_status device_init(choir_device *device, choir_memory_class wanted)
{
	TRY(facts_learn(device->context, device->id, &device->facts, &device->usm));
	buffers_init(device);
	TRY(queue_create(device, &device->queue));
	device->pointers = pointer_cache_create();
	if (device->pointers == NULL)
		return error_no_memory("a device's pointer cache", 4096);
	TRY(choose_class(device, wanted));
	if (dev_has_far_memory(device))
		rates_learn(device, &device->rates);
	if (device->memory_class == CHOIR_CLASS_MAP)
		device->short_map_bytes = rates_short_map_bytes(device);
	return CHOIR_SUCCESS;
}

choir_status choir_device_create(cl_context context, cl_device_id id, const choir_device_config *config,
                                 choir_device **out_p)
{
	choir_memory_class wanted = CHOIR_CLASS_AUTO;
	choir_reduce_where reduce = CHOIR_REDUCE_AUTO;

	if (context == NULL || id == NULL || out_p == NULL)
		return error_set(CHOIR_ARGUMENT, "choir_device_create: null %s",
		                 context == NULL ? "context"
		                 : id == NULL    ? "device"
		                                 : "out_p");
	TRY(read_config(config, &wanted, &reduce));
	TRY(device_is_of_context(context, id));

	choir_device *device = calloc(1, sizeof *device);
	if (device == NULL)
		return error_no_memory("a device", sizeof *device);
	atomic_init(&device->refs, 1);
	program_cache_init(&device->programs);
	fork_watch();
	device->generation = fork_generation();
	clRetainContext(context);
	clRetainDevice(id); /* Intel's CPU runtime frees a sub-device that only a context uses */
	device->context = context;
	device->id = id;
	device->reduce = reduce;
	choir_status st = device_init(device, wanted);
	if (st != CHOIR_SUCCESS) {
		choir_device_destroy(device);
		return st;
	}
	*out_p = device;
	return CHOIR_SUCCESS;
}

choir_status choir_device_create_queue(cl_command_queue queue, const choir_device_config *config, choir_device **out_p)
{
	cl_context context;
	cl_device_id id;
	cl_int rc;

	if (queue == NULL || out_p == NULL)
		return error_set(CHOIR_ARGUMENT, "choir_device_create_queue: null %s",
		                 queue == NULL ? "queue" : "out_p");
	rc = clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof context, &context, NULL);
	if (rc == CL_SUCCESS)
		rc = clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof id, &id, NULL);
	if (rc != CL_SUCCESS)
		return error_cl("clGetCommandQueueInfo", rc);
	return choir_device_create(context, id, config, out_p);
}

choir_device *dev_retain(choir_device *device)
{
	atomic_fetch_add(&device->refs, 1);
	return device;
}

bool dev_attach(choir_device *device, void *thing, void (*detach)(void *))
{
	void *none = NULL;

	if (!atomic_compare_exchange_strong(&device->attached, &none, thing))
		return false;
	device->detach = detach;
	return true;
}

void *dev_attached(choir_device *device)
{
	return atomic_load(&device->attached);
}

bool dev_is_the_parents(const choir_device *device)
{
	return device->generation != fork_generation() && !dev_is_host(device);
}

/* In a forked child the OpenCL objects and the calls under way stay: they are the parent's. */
void choir_device_destroy(choir_device *device)
{
	int left = device != NULL ? atomic_fetch_sub(&device->refs, 1) - 1 : -1;
	void *thing = left == 1 ? atomic_exchange(&device->attached, NULL) : NULL;

	if (thing != NULL)
		device->detach(thing);
	if (left != 0 || dev_is_the_parents(device))
		return;
	if (!program_cache_fini(&device->programs))
		return;
	for (int i = 0; i < COPY_QUEUES; i++)
		queue_destroy(atomic_load(&device->copies[i]));
	queue_destroy(device->queue);
	buffers_free(device);
	if (!dev_is_host(device)) {
		pointer_cache_release(device->pointers);
		clReleaseContext(device->context);
		clReleaseDevice(device->id);
	}
	free(device);
}

cl_context choir_device_context(const choir_device *device)
{
	return device != NULL ? device->context : NULL;
}

cl_device_id choir_device_id(const choir_device *device)
{
	return device != NULL ? device->id : NULL;
}

choir_memory_class choir_device_class(const choir_device *device)
{
	return device != NULL ? device->memory_class : CHOIR_CLASS_AUTO;
}
