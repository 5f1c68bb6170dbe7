/* SPDX-License-Identifier: MIT */
/* usage: unload LIBRARY...  The first is libchoir, used as a plugin on the caller's cl_mem and closed; only then is the
 * cl_mem released, whose destructor callback is the library's code.  The other libraries are opened and closed.  All of
 * them must stay loaded. */
#include <choir/choir.h>
#include <dlfcn.h>
#include <stdio.h>

#define FUNCTION(name) __typeof__(name) *name##_in = (__typeof__(name) *)dlsym(library, #name)

static int use(void *library, cl_context context, cl_device_id id, cl_mem mem)
{
	FUNCTION(choir_device_create);
	FUNCTION(choir_device_destroy);
	FUNCTION(choir_comm_create_local);
	FUNCTION(choir_comm_destroy);
	FUNCTION(choir_allreduce);
	FUNCTION(choir_mem);
	choir_device *device;
	choir_comm *comm;
	choir_buffer buffer = choir_mem_in(mem, 0);
	choir_status st;

	if (choir_device_create_in(context, id, NULL, &device) != CHOIR_SUCCESS ||
	    choir_comm_create_local_in(1, &device, NULL, &comm) != CHOIR_SUCCESS)
		return 1;
	st = choir_allreduce_in(comm, buffer, buffer, 100, CHOIR_F32, CHOIR_OP_SUM, NULL, NULL);
	choir_comm_destroy_in(comm);
	choir_device_destroy_in(device);
	return st != CHOIR_SUCCESS;
}

int main(int argc, char **argv)
{
	void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
	cl_platform_id platform;
	cl_device_id id;
	cl_int rc;
	int bad;

	if (library == NULL || clGetPlatformIDs(1, &platform, NULL) != CL_SUCCESS ||
	    clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &id, NULL) != CL_SUCCESS)
		return 1;
	cl_context context = clCreateContext(NULL, 1, &id, NULL, NULL, &rc);
	cl_mem mem = clCreateBuffer(context, CL_MEM_READ_WRITE, 4096, NULL, &rc);
	bad = use(library, context, id, mem);
	dlclose(library);
	clReleaseMemObject(mem);
	clReleaseContext(context);
	for (int i = 2; i < argc; i++) {
		library = dlopen(argv[i], RTLD_NOW | RTLD_LOCAL);
		bad |= library == NULL || dlclose(library) != 0;
	}
	for (int i = 1; i < argc; i++)
		bad |= dlopen(argv[i], RTLD_NOW | RTLD_NOLOAD) == NULL;
	puts(bad ? "wrong" : "fine");
	return bad;
}
