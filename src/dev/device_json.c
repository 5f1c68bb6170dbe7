/* SPDX-License-Identifier: MIT */
#include "dev/device_impl.h"

#include <jansson.h>

static const char *type_name(cl_device_type type)
{
	if (type & CL_DEVICE_TYPE_GPU)
		return "gpu";
	if (type & CL_DEVICE_TYPE_CPU)
		return "cpu";
	return type & CL_DEVICE_TYPE_ACCELERATOR ? "accelerator" : "other";
}

/* Text that is not UTF-8 becomes "?": jansson would refuse the whole object. */
static json_t *text(const char *value)
{
	json_t *string = json_string(value);

	return string != NULL ? string : json_string("?");
}

static json_t *svm_object(cl_device_svm_capabilities svm)
{
	return json_pack("{s:b, s:b, s:b, s:b}", "coarse_buffer", (svm & CL_DEVICE_SVM_COARSE_GRAIN_BUFFER) != 0,
	                 "fine_buffer", (svm & CL_DEVICE_SVM_FINE_GRAIN_BUFFER) != 0, "fine_system",
	                 (svm & CL_DEVICE_SVM_FINE_GRAIN_SYSTEM) != 0, "atomics", (svm & CL_DEVICE_SVM_ATOMICS) != 0);
}

static json_t *rates_object(const struct device_rates *r)
{
	if (!r->measured)
		return json_null();
	return json_pack("{s:f, s:f, s:f, s:f, s:f, s:f, s:f}", "read_us", r->read_us, "write_us", r->write_us,
	                 "read_GBps", r->read_GBps, "write_GBps", r->write_GBps, "pageable_read_GBps",
	                 r->pageable_read_GBps, "pageable_write_GBps", r->pageable_write_GBps, "callback_us",
	                 r->callback_us);
}

static json_t *device_object(const choir_device *device)
{
	static const char *const reduce_names[] = { "auto", "host", "kernel" };
	const struct device_facts *f = &device->facts;
	const char *sparse_kernels = f->long_loops ? "yes" : "no: the driver ends loops after 65535 iterations";

	return json_pack(
	    "{s:o, s:o, s:o, s:o, s:o, s:s, s:s, s:b, s:b, s:s, s:I, s:I, s:I, s:I, s:b, s:b, s:b, s:b, s:s,"
	    " s:o, s:b, s:o}", /**/
	    "name", text(f->name), "vendor", text(f->vendor), "platform", text(f->platform), "version",
	    text(f->version), /**/
	    "driver", text(f->driver), "type", type_name(f->type), "class",
	    choir_memory_class_name(device->memory_class), /**/
	    "direct_works", (int)f->direct_works, "map_works", (int)f->map_works, "reduce",
	    reduce_names[device->reduce],                                                                         /**/
	    "compute_units", (json_int_t)f->compute_units, "max_group", (json_int_t)f->max_group,                 /**/
	    "memory_bytes", (json_int_t)f->memory_bytes, "max_buffer_bytes", (json_int_t)f->max_buffer_bytes,     /**/
	    "host_unified", (int)f->host_unified, "fp64", (int)f->fp64, "exact_division", (int)f->exact_division, /**/
	    "denormals", (int)f->denormals, "sparse_kernels", sparse_kernels, "svm", svm_object(f->svm), "usm",
	    device->usm.info != NULL, "rates", rates_object(&device->rates));
}

choir_status choir_device_json(const choir_device *device, char **text_p)
{
	if (device == NULL || text_p == NULL)
		return error_set(CHOIR_ARGUMENT, "choir_device_json: null %s", device == NULL ? "device" : "text_p");
	json_t *object = device_object(device);
	char *out = object != NULL ? json_dumps(object, JSON_INDENT(2)) : NULL;
	json_decref(object);
	if (out == NULL)
		return error_no_memory("a device's JSON", 1024);
	*text_p = out;
	return CHOIR_SUCCESS;
}
