/* SPDX-License-Identifier: MIT */
/* An OpenCL layer (OPENCL_LAYERS) that builds each program once for all processes of a test run: what was built stays
 * in the folder CHOIR_TEST_PROGRAMS, as the device's own binary.  Some runtimes take a tenth of a second and more to
 * build a program, 30 times what loading its binary takes, and tests are many processes.
 *
 * Design notes.
 *
 * Only what is built from source, for one device and without a callback, is looked up; everything else passes through.
 * A file's name is a hash of the source, the options, the device and its driver; it is written beside its place and
 * then renamed, so no process sees half of one.  What does not load is built from source.
 *
 * A handle made from source cannot be given a binary later, so the program that was loaded stands behind the handle
 * that the caller has: kernels are made of it, and questions about what was built go to it.  It is released with the
 * last reference that the caller has. */
#include "info.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

struct entry {
	struct entry *next;
	cl_program program, loaded; /* loaded: NULL until one stands behind it */
	cl_context context;
	XXH128_hash_t source;
	unsigned references;
};

static struct _cl_icd_dispatch mine;
static const struct _cl_icd_dispatch *below;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct entry *entries;

static struct entry **find(cl_program program)
{
	struct entry **link = &entries;

	while (*link != NULL && (*link)->program != program)
		link = &(*link)->next;
	return link;
}

/* The program that stands behind the handle, itself if none does. */
static cl_program behind(cl_program program)
{
	pthread_mutex_lock(&lock);
	struct entry *entry = *find(program);
	if (entry != NULL && entry->loaded != NULL)
		program = entry->loaded;
	pthread_mutex_unlock(&lock);
	return program;
}

static cl_program CL_API_CALL create(cl_context context, cl_uint n, const char **texts, const size_t *lengths,
                                     cl_int *rc_p)
{
	cl_program program = below->clCreateProgramWithSource(context, n, texts, lengths, rc_p);
	struct entry *entry = program != NULL ? calloc(1, sizeof *entry) : NULL;

	if (entry == NULL)
		return program;
	*entry = (struct entry){ .program = program, .context = context, .references = 1 };
	for (cl_uint i = 0; i < n; i++) {
		size_t bytes = lengths != NULL && lengths[i] > 0 ? lengths[i] : strlen(texts[i]);

		entry->source = XXH3_128bits_withSeed(texts[i], bytes, entry->source.low64 ^ entry->source.high64);
	}
	pthread_mutex_lock(&lock);
	entry->next = entries;
	entries = entry;
	pthread_mutex_unlock(&lock);
	return program;
}

static cl_int CL_API_CALL retain(cl_program program)
{
	pthread_mutex_lock(&lock);
	struct entry *entry = *find(program);
	if (entry != NULL)
		entry->references++;
	pthread_mutex_unlock(&lock);
	return below->clRetainProgram(program);
}

static cl_int CL_API_CALL release(cl_program program)
{
	struct entry *last = NULL;

	pthread_mutex_lock(&lock);
	struct entry **link = find(program);
	if (*link != NULL && --(*link)->references == 0) {
		last = *link;
		*link = last->next;
	}
	pthread_mutex_unlock(&lock);
	if (last != NULL && last->loaded != NULL)
		below->clReleaseProgram(last->loaded);
	free(last);
	return below->clReleaseProgram(program);
}

static bool path_of(const struct entry *entry, cl_device_id device, const char *options, char *path, size_t bytes)
{
	const char *folder = getenv("CHOIR_TEST_PROGRAMS");
	char name[256] = "", driver[256] = "";
	struct {
		XXH128_hash_t source, options, name, driver;
	} key;

	if (folder == NULL)
		return false;
	below->clGetDeviceInfo(device, CL_DEVICE_NAME, sizeof name - 1, name, NULL);
	below->clGetDeviceInfo(device, CL_DRIVER_VERSION, sizeof driver - 1, driver, NULL);
	key.source = entry->source;
	key.options = XXH3_128bits(options, strlen(options));
	key.name = XXH3_128bits(name, strlen(name));
	key.driver = XXH3_128bits(driver, strlen(driver));
	XXH128_hash_t hash = XXH3_128bits(&key, sizeof key);
	return snprintf(path, bytes, "%s/%016llx%016llx", folder, (unsigned long long)hash.high64,
	                (unsigned long long)hash.low64) < (int)bytes;
}

static unsigned char *read_file(const char *path, size_t *bytes_p)
{
	FILE *file = fopen(path, "rb");
	unsigned char *bytes = NULL;
	struct stat stat;

	if (file == NULL)
		return NULL;
	if (fstat(fileno(file), &stat) == 0 && stat.st_size > 0)
		bytes = malloc((size_t)stat.st_size);
	if (bytes != NULL && fread(bytes, 1, (size_t)stat.st_size, file) != (size_t)stat.st_size) {
		free(bytes);
		bytes = NULL;
	}
	if (bytes != NULL)
		*bytes_p = (size_t)stat.st_size;
	fclose(file);
	return bytes;
}

static void write_file(const char *path, const unsigned char *bytes, size_t n)
{
	char unfinished[600];
	int fd;

	snprintf(unfinished, sizeof unfinished, "%s.%ld.XXXXXX", path, (long)getpid());
	fd = mkstemp(unfinished);
	if (fd < 0)
		return;
	bool whole = write(fd, bytes, n) == (ssize_t)n;
	if (close(fd) != 0 || !whole || rename(unfinished, path) != 0)
		unlink(unfinished);
}

static cl_program load(cl_context context, cl_device_id device, const char *path)
{
	size_t bytes = 0;
	const unsigned char *binary = read_file(path, &bytes);
	cl_program program;
	cl_int rc, status;

	if (binary == NULL)
		return NULL;
	program = below->clCreateProgramWithBinary(context, 1, &device, &bytes, &binary, &status, &rc);
	free((void *)binary);
	if (program == NULL || rc != CL_SUCCESS)
		return NULL;
	if (status == CL_SUCCESS && below->clBuildProgram(program, 1, &device, "", NULL, NULL) == CL_SUCCESS)
		return program;
	below->clReleaseProgram(program);
	return NULL;
}

static void keep(cl_program program, const char *path)
{
	size_t bytes = 0;
	unsigned char *binary;

	if (below->clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof bytes, &bytes, NULL) != CL_SUCCESS ||
	    bytes == 0)
		return;
	binary = malloc(bytes);
	if (binary != NULL &&
	    below->clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof binary, &binary, NULL) == CL_SUCCESS)
		write_file(path, binary, bytes);
	free(binary);
}

static cl_int CL_API_CALL build(cl_program program, cl_uint n, const cl_device_id *devices, const char *options,
                                void(CL_CALLBACK *fn)(cl_program, void *), void *ctx)
{
	char path[512];
	cl_int rc;

	pthread_mutex_lock(&lock);
	struct entry *entry = *find(program); /* it lives as long as the caller's reference */
	pthread_mutex_unlock(&lock);
	if (entry == NULL || entry->loaded != NULL || n != 1 || fn != NULL ||
	    !path_of(entry, devices[0], options != NULL ? options : "", path, sizeof path))
		return below->clBuildProgram(program, n, devices, options, fn, ctx);
	entry->loaded = load(entry->context, devices[0], path);
	if (entry->loaded != NULL)
		return CL_SUCCESS;
	rc = below->clBuildProgram(program, n, devices, options, fn, ctx);
	if (rc == CL_SUCCESS)
		keep(program, path);
	return rc;
}

static cl_kernel CL_API_CALL kernel(cl_program program, const char *name, cl_int *rc_p)
{
	return below->clCreateKernel(behind(program), name, rc_p);
}

static cl_int CL_API_CALL kernels(cl_program program, cl_uint n, cl_kernel *out, cl_uint *n_p)
{
	return below->clCreateKernelsInProgram(behind(program), n, out, n_p);
}

/* What comes of building; the handle answers for itself what it was made of. */
static cl_int CL_API_CALL info(cl_program program, cl_program_info what, size_t bytes, void *out, size_t *bytes_p)
{
	bool built = what == CL_PROGRAM_BINARY_SIZES || what == CL_PROGRAM_BINARIES || what == CL_PROGRAM_NUM_KERNELS ||
	             what == CL_PROGRAM_KERNEL_NAMES;

	return below->clGetProgramInfo(built ? behind(program) : program, what, bytes, out, bytes_p);
}

static cl_int CL_API_CALL build_info(cl_program program, cl_device_id device, cl_program_build_info what, size_t bytes,
                                     void *out, size_t *bytes_p)
{
	return below->clGetProgramBuildInfo(behind(program), device, what, bytes, out, bytes_p);
}

CL_API_ENTRY cl_int CL_API_CALL clGetLayerInfo(cl_layer_info what, size_t room, void *out, size_t *bytes_p)
{
	return layer_info("choir's tests: programs are built once", what, room, out, bytes_p);
}

CL_API_ENTRY cl_int CL_API_CALL clInitLayer(cl_uint n, const struct _cl_icd_dispatch *target, cl_uint *n_p,
                                            const struct _cl_icd_dispatch **out_p)
{
	if (target == NULL || n_p == NULL || out_p == NULL || n * sizeof(void *) < sizeof mine)
		return CL_INVALID_VALUE;
	below = target;
	mine = *target;
	mine.clCreateProgramWithSource = create;
	mine.clRetainProgram = retain;
	mine.clReleaseProgram = release;
	mine.clBuildProgram = build;
	mine.clCreateKernel = kernel;
	mine.clCreateKernelsInProgram = kernels;
	mine.clGetProgramInfo = info;
	mine.clGetProgramBuildInfo = build_info;
	*n_p = sizeof mine / sizeof(void *);
	*out_p = &mine;
	return CL_SUCCESS;
}
