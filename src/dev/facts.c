/* SPDX-License-Identifier: MIT */
#include "dev/device_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void device_text(cl_device_id id, cl_device_info what, char *out, size_t bytes)
{
	char text[1024] = "";

	if (clGetDeviceInfo(id, what, sizeof text, text, NULL) != CL_SUCCESS)
		text[0] = '\0';
	snprintf(out, bytes, "%s", text);
}

/* 12 for a text such as "OpenCL 1.2 ...". */
static int version_number(const char *text)
{
	int major = 1, minor = 0;

	if (sscanf(text, "OpenCL %d.%d", &major, &minor) != 2)
		return 10;
	return 10 * major + minor;
}

static bool device_has_extension(cl_device_id id, const char *name)
{
	size_t bytes = 0;
	bool found = false;

	if (clGetDeviceInfo(id, CL_DEVICE_EXTENSIONS, 0, NULL, &bytes) != CL_SUCCESS || bytes == 0)
		return false;
	char *text = malloc(bytes + 1);
	if (text != NULL && clGetDeviceInfo(id, CL_DEVICE_EXTENSIONS, bytes, text, NULL) == CL_SUCCESS) {
		text[bytes] = '\0';
		found = strstr(text, name) != NULL;
	}
	free(text);
	return found;
}

choir_status context_devices(cl_context context, cl_device_id **ids_p, size_t *n_p)
{
	size_t bytes = 0;
	cl_int rc = clGetContextInfo(context, CL_CONTEXT_DEVICES, 0, NULL, &bytes);

	if (rc != CL_SUCCESS)
		return error_cl("clGetContextInfo", rc);
	cl_device_id *ids = malloc(bytes);
	if (ids == NULL)
		return error_no_memory("a context's devices", bytes);
	rc = clGetContextInfo(context, CL_CONTEXT_DEVICES, bytes, ids, NULL);
	if (rc != CL_SUCCESS) {
		free(ids);
		return error_cl("clGetContextInfo", rc);
	}
	*ids_p = ids;
	*n_p = bytes / sizeof *ids;
	return CHOIR_SUCCESS;
}

static choir_status learn_context(cl_context context, struct device_facts *facts)
{
	cl_device_id *ids;
	size_t n;
	bool all = true;

	TRY(context_devices(context, &ids, &n));
	for (size_t i = 0; all && i < n; i++) {
		cl_device_type type = 0;

		all = clGetDeviceInfo(ids[i], CL_DEVICE_TYPE, sizeof type, &type, NULL) == CL_SUCCESS &&
		      (type & CL_DEVICE_TYPE_CPU) != 0;
	}
	free(ids);
	facts->cpus_only = all;
	facts->alone = n == 1;
	return CHOIR_SUCCESS;
}

static void usm_learn(cl_device_id id, cl_platform_id platform, struct device_usm *usm)
{
	memset(usm, 0, sizeof *usm);
	if (!device_has_extension(id, "cl_intel_unified_shared_memory"))
		return;
	usm->info =
	    (clGetMemAllocInfoINTEL_fn)clGetExtensionFunctionAddressForPlatform(platform, "clGetMemAllocInfoINTEL");
	usm->copy = (clEnqueueMemcpyINTEL_fn)clGetExtensionFunctionAddressForPlatform(platform, "clEnqueueMemcpyINTEL");
	usm->alloc =
	    (clDeviceMemAllocINTEL_fn)clGetExtensionFunctionAddressForPlatform(platform, "clDeviceMemAllocINTEL");
	usm->free = (clMemFreeINTEL_fn)clGetExtensionFunctionAddressForPlatform(platform, "clMemFreeINTEL");
	usm->set_argument = (clSetKernelArgMemPointerINTEL_fn)clGetExtensionFunctionAddressForPlatform(
	    platform, "clSetKernelArgMemPointerINTEL");
	if (usm->info == NULL || usm->copy == NULL)
		memset(usm, 0, sizeof *usm);
	if (usm->alloc == NULL || usm->free == NULL || usm->set_argument == NULL) {
		usm->alloc = NULL;
		usm->free = NULL;
		usm->set_argument = NULL;
	}
}

/* Note [long loops].  Mesa's llvmpipe (22.3.6) counts the iterations of all loops that a work-item executes in a
 * launch, nested ones and those that follow each other, and leaves each loop once they are 65535, without an error.
 * Kernels that fold rows loop as often as an index repeats, which no launch bounds: llvmpipe gets no sparse kernels. */
static bool has_long_loops(const struct device_facts *facts)
{
	return strncmp(facts->name, "llvmpipe", strlen("llvmpipe")) != 0;
}

/* Note [sub-groups].  cl_intel_subgroups adds its functions to OpenCL C 1.2, cl_khr_subgroups to later ones only.  A
 * program that does not build with them is built again without (program.c). */
static const char *sub_group_std(cl_device_id id, int version)
{
	if (device_has_extension(id, "cl_intel_subgroups"))
		return "-cl-std=CL1.2";
	if (version < 20 || !device_has_extension(id, "cl_khr_subgroups"))
		return NULL;
	return version < 30 ? "-cl-std=CL2.0" : "-cl-std=CL3.0";
}

/* Note [vector widths].  A GPU's lanes each take what the driver prefers, 16 bytes on Intel's, 4 on AMD's; it may say 0
 * of a type that it lacks.  A CPU's compiler makes vectors across work-items. */
static void widths_learn(cl_device_id id, struct device_facts *facts)
{
	static const cl_device_info widths[VECTOR_WIDTHS] = { CL_DEVICE_PREFERRED_VECTOR_WIDTH_CHAR,
		                                              CL_DEVICE_PREFERRED_VECTOR_WIDTH_SHORT,
		                                              CL_DEVICE_PREFERRED_VECTOR_WIDTH_INT,
		                                              CL_DEVICE_PREFERRED_VECTOR_WIDTH_LONG };

	for (int i = 0; i < VECTOR_WIDTHS; i++) {
		cl_uint most = 16u >> i, width = 1;

		if ((facts->type & CL_DEVICE_TYPE_CPU) == 0)
			clGetDeviceInfo(id, widths[i], sizeof width, &width, NULL);
		facts->vector_widths[i] = 1;
		while (2 * facts->vector_widths[i] <= width && facts->vector_widths[i] < most)
			facts->vector_widths[i] *= 2;
	}
}

choir_status facts_learn(cl_context context, cl_device_id id, struct device_facts *facts, struct device_usm *usm)
{
	cl_platform_id platform;
	cl_device_fp_config fp32 = 0, fp64 = 0;
	cl_bool unified = CL_FALSE;
	cl_int rc;

	memset(facts, 0, sizeof *facts);
	rc = clGetDeviceInfo(id, CL_DEVICE_PLATFORM, sizeof platform, &platform, NULL);
	if (rc == CL_SUCCESS)
		rc = clGetDeviceInfo(id, CL_DEVICE_TYPE, sizeof facts->type, &facts->type, NULL);
	if (rc == CL_SUCCESS)
		rc = clGetDeviceInfo(id, CL_DEVICE_MAX_WORK_GROUP_SIZE, sizeof facts->max_group, &facts->max_group,
		                     NULL);
	if (rc == CL_SUCCESS)
		rc = clGetDeviceInfo(id, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof facts->compute_units,
		                     &facts->compute_units, NULL);
	if (rc != CL_SUCCESS)
		return error_cl("clGetDeviceInfo", rc);
	TRY(learn_context(context, facts));

	device_text(id, CL_DEVICE_NAME, facts->name, sizeof facts->name);
	device_text(id, CL_DEVICE_VENDOR, facts->vendor, sizeof facts->vendor);
	device_text(id, CL_DEVICE_VERSION, facts->version, sizeof facts->version);
	device_text(id, CL_DRIVER_VERSION, facts->driver, sizeof facts->driver);
	if (version_number(facts->version) < 12)
		return error_set(CHOIR_UNSUPPORTED, "%s speaks '%s', and choir needs OpenCL 1.2", facts->name,
		                 facts->version);
	if (clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof facts->platform, facts->platform, NULL) != CL_SUCCESS)
		snprintf(facts->platform, sizeof facts->platform, "unknown");

	/* A query that the driver refuses leaves the property absent. */
	widths_learn(id, facts);
	clGetDeviceInfo(id, CL_DEVICE_SINGLE_FP_CONFIG, sizeof fp32, &fp32, NULL);
	clGetDeviceInfo(id, CL_DEVICE_DOUBLE_FP_CONFIG, sizeof fp64, &fp64, NULL);
	clGetDeviceInfo(id, CL_DEVICE_HOST_UNIFIED_MEMORY, sizeof unified, &unified, NULL);
	clGetDeviceInfo(id, CL_DEVICE_GLOBAL_MEM_SIZE, sizeof facts->memory_bytes, &facts->memory_bytes, NULL);
	clGetDeviceInfo(id, CL_DEVICE_MAX_MEM_ALLOC_SIZE, sizeof facts->max_buffer_bytes, &facts->max_buffer_bytes,
	                NULL);
	facts->fp64 = fp64 != 0;
	facts->exact_division = (fp32 & CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT) != 0;
	facts->denormals = (fp32 & CL_FP_DENORM) != 0;
	facts->host_unified = unified == CL_TRUE;
	facts->long_loops = has_long_loops(facts);
	facts->sub_group_std = sub_group_std(id, version_number(facts->version));
	if (version_number(facts->version) >= 20 &&
	    clGetDeviceInfo(id, CL_DEVICE_SVM_CAPABILITIES, sizeof facts->svm, &facts->svm, NULL) != CL_SUCCESS)
		facts->svm = 0;
	usm_learn(id, platform, usm);
	return CHOIR_SUCCESS;
}
