/* SPDX-License-Identifier: MIT */
/* Design notes.
 *
 * The key of a program is its source's name and its options; sources are embedded, so a name stands for one text.  A
 * compiler cannot be stopped, so a thread of its own builds each program, without the lock, and the threads that need
 * the program wait until it is built or their deadline passes.  A failed build keeps its status and sentence;
 * one that failed for want of memory is tried again when it is asked for.  Entries live as long as the device, so
 * pointers to them are valid without the lock.  Each entry lists its unused kernels. */
#include "dev/program.h"
#include "dev/device_impl.h"
#include "dev/launch.h"

#include "base/log.h"
#include "base/thread_start.h"
#include "base/user_op.h"
#include "embedded.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#define OPTIONS_BYTES  1024
#define NO_DEADLINE_NS INT64_C(600000000000) /* for builds outside a call */
#define FINI_NS        INT64_C(10000000000)
#define TEXT_MARK      "/* CHOIR_TEXT */" /* in cl/ops.h */
#define SUB_GROUPS     "SUB_GROUPS"       /* in cl/group_sum.h */
#define POCL           "Portable Computing Language"

enum program_state { PROGRAM_BUILDING, PROGRAM_BUILT, PROGRAM_FAILED };

struct spare_kernel {
	struct spare_kernel *next;
	char *name;
	cl_kernel kernel;
};

struct program {
	struct program *next;
	uint64_t key;
	char *source, *options;
	enum program_state state;
	cl_program program;
	choir_status status;
	char error[ERROR_TEXT_BYTES];
	struct spare_kernel *spare;
};

void program_cache_init(struct program_cache *cache)
{
	pthread_condattr_t monotonic;

	pthread_mutex_init(&cache->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&cache->built, &monotonic);
	pthread_condattr_destroy(&monotonic);
	cache->first = NULL;
	cache->building = 0;
}

/* With the lock held: waits for the end of a build; false when until_ns has passed. */
static bool wait_for_build(struct program_cache *cache, int64_t until_ns)
{
	struct timespec until = { .tv_sec = until_ns / 1000000000, .tv_nsec = until_ns % 1000000000 };

	return pthread_cond_timedwait(&cache->built, &cache->lock, &until) != ETIMEDOUT;
}

static void program_free(struct program *program)
{
	while (program->spare != NULL) {
		struct spare_kernel *spare = program->spare;

		program->spare = spare->next;
		clReleaseKernel(spare->kernel);
		free(spare->name);
		free(spare);
	}
	if (program->program != NULL)
		clReleaseProgram(program->program);
	free(program->source);
	free(program->options);
	free(program);
}

bool program_cache_fini(struct program_cache *cache)
{
	int64_t until = program_now_ns() + FINI_NS;
	bool idle;

	pthread_mutex_lock(&cache->lock);
	while (cache->building > 0 && wait_for_build(cache, until))
		;
	idle = cache->building == 0;
	pthread_mutex_unlock(&cache->lock);
	if (!idle) {
		log_text(LOG_WARNING,
		         "a compiler still runs %lld s after its device was destroyed: the device's memory is kept",
		         (long long)(FINI_NS / 1000000000));
		return false;
	}
	while (cache->first != NULL) {
		struct program *program = cache->first;

		cache->first = program->next;
		program_free(program);
	}
	pthread_cond_destroy(&cache->built);
	pthread_mutex_destroy(&cache->lock);
	return true;
}

static uint64_t key_of(const char *source, const char *options)
{
	return XXH64(options, strlen(options), XXH64(source, strlen(source), 0));
}

/* With the lock held. */
static struct program *find(struct program_cache *cache, uint64_t key, const char *source, const char *options)
{
	for (struct program *p = cache->first; p != NULL; p = p->next)
		if (p->key == key && strcmp(p->source, source) == 0 && strcmp(p->options, options) == 0)
			return p;
	return NULL;
}

/* With the lock held: a new entry that the caller has to build.  NULL without memory. */
static struct program *add(struct program_cache *cache, uint64_t key, const char *source, const char *options)
{
	struct program *program = calloc(1, sizeof *program);

	if (program == NULL)
		return NULL;
	program->key = key;
	program->source = strdup(source);
	program->options = strdup(options);
	program->state = PROGRAM_BUILDING;
	if (program->source == NULL || program->options == NULL) {
		program_free(program);
		return NULL;
	}
	program->next = cache->first;
	cache->first = program;
	return program;
}

static choir_status build_failed(const choir_device *device, cl_program program, bool silent, const char *source,
                                 const char *options, cl_int rc)
{
	size_t bytes = 0;
	char *text = NULL;
	choir_status st = error_cl("clBuildProgram", rc);

	if (clGetProgramBuildInfo(program, device->id, CL_PROGRAM_BUILD_LOG, 0, NULL, &bytes) == CL_SUCCESS &&
	    bytes > 1)
		text = calloc(1, bytes + 1);
	if (text != NULL &&
	    clGetProgramBuildInfo(program, device->id, CL_PROGRAM_BUILD_LOG, bytes, text, NULL) == CL_SUCCESS) {
		if (!silent)
			log_text(LOG_WARNING, "%s (%s): %s", source, options, text);
		st = error_set(st, "%s: %s", error_text(), text);
	}
	free(text);
	return error_prefix(st, "%s (%s)", source, options);
}

/* The options with which every program is built, so that f32 division gives the host's bits (cl/ops.h). */
static const char *division_options(const struct device_facts *facts)
{
	if (facts->exact_division)
		return "-cl-fp32-correctly-rounded-divide-sqrt ";
	return facts->fp64 ? "-D DIVIDE_IN_F64 " : "";
}

/* The operator whose text the options name; a reference; NULL = they name none. */
static struct user_op *text_owner(const char *options)
{
	const char *at = strstr(options, DEV_TEXT_OPTION);

	return at != NULL ? user_op_text(strtoull(at + strlen(DEV_TEXT_OPTION), NULL, 16)) : NULL;
}

static cl_program create_program(cl_context context, const char *source, const struct user_op *op, cl_int *rc)
{
	const char *mark = op != NULL ? strstr(source, TEXT_MARK) : NULL;
	const char *parts[] = { source, op != NULL ? op->text : NULL, mark };
	const size_t bytes[] = { mark != NULL ? (size_t)(mark - source) : 0, 0, 0 }; /* 0: up to the end */

	return clCreateProgramWithSource(context, mark != NULL ? 3 : 1, parts, bytes, rc);
}

/* The drivers of GPUs build for several processes at once, those of CPUs are not trusted to: PoCL's cache on disk
 * races. */
static bool builds_alone(const struct device_facts *facts)
{
	return (facts->type & CL_DEVICE_TYPE_GPU) == 0 || strstr(facts->platform, POCL) != NULL;
}

/* Without the lock; blocks for the compiler.  Silent: what it refuses is built in another way. */
static choir_status build_as(const choir_device *device, const char *std, bool silent, const char *source,
                             const char *options, const struct user_op *op, int64_t until_ns, cl_program *out_p)
{
	char all[OPTIONS_BYTES];
	cl_int rc;

	if (snprintf(all, sizeof all, "%s %s%s", std, division_options(&device->facts), options) >= (int)sizeof all)
		return error_set(CHOIR_ARGUMENT, "%s: options of %zu bytes", source, strlen(options));
	cl_program program = create_program(device->context, embedded_source(source), op, &rc);
	if (rc != CL_SUCCESS)
		return error_cl("clCreateProgramWithSource", rc);
	int lock = builds_alone(&device->facts) ? build_lock_take(until_ns) : -1;
	rc = clBuildProgram(program, 1, &device->id, all, NULL, NULL);
	build_lock_give(lock);
	if (rc != CL_SUCCESS) {
		choir_status st = build_failed(device, program, silent, source, options, rc);
		clReleaseProgram(program);
		return st;
	}
	*out_p = program;
	return CHOIR_SUCCESS;
}

/* With sub-groups where the source has a form for them and the compiler takes it. */
static choir_status build(const choir_device *device, const char *source, const char *options, const struct user_op *op,
                          int64_t until_ns, cl_program *out_p)
{
	const char *text = embedded_source(source), *std = device->facts.sub_group_std;
	char with[OPTIONS_BYTES];

	if (text == NULL)
		return error_set(CHOIR_ARGUMENT, "no kernel source is called '%s'", source);
	if (std != NULL && strstr(text, SUB_GROUPS) != NULL &&
	    snprintf(with, sizeof with, "-D" SUB_GROUPS " %s", options) < (int)sizeof with &&
	    build_as(device, std, true, source, with, op, until_ns, out_p) == CHOIR_SUCCESS)
		return CHOIR_SUCCESS;
	return build_as(device, "-cl-std=CL1.2", false, source, options, op, until_ns, out_p);
}

/* The argument of a building thread, which frees it. */
struct build_job {
	choir_device *device;
	struct program *program;
	struct user_op *op; /* whose text it has; a reference; NULL = none */
	int64_t until_ns;
};

static void *build_program(void *arg)
{
	struct build_job *job = arg;
	struct program *program = job->program;
	struct program_cache *cache = &job->device->programs;

	program->status =
	    build(job->device, program->source, program->options, job->op, job->until_ns, &program->program);
	user_op_release(job->op);
	if (program->status != CHOIR_SUCCESS)
		snprintf(program->error, sizeof program->error, "%s", error_text());
	free(job);
	pthread_mutex_lock(&cache->lock);
	program->state = program->status == CHOIR_SUCCESS ? PROGRAM_BUILT : PROGRAM_FAILED;
	cache->building--;
	pthread_cond_broadcast(&cache->built);
	pthread_mutex_unlock(&cache->lock);
	return NULL;
}

/* With the lock held: starts a thread that builds the program. */
static choir_status start_build(choir_device *device, struct program *program, int64_t until_ns)
{
	struct build_job *job = malloc(sizeof *job);
	int rc;

	if (job == NULL)
		return error_no_memory("a build", sizeof *job);
	*job = (struct build_job){ device, program, text_owner(program->options), until_ns };
	rc = thread_start_detached(build_program, job);
	if (rc != 0) {
		user_op_release(job->op);
		free(job);
		return error_set(CHOIR_NO_MEMORY, "no thread can be started to build kernels: %s", strerror(rc));
	}
	device->programs.building++;
	return CHOIR_SUCCESS;
}

/* With the lock held: the entry, whose build is started if it is new. */
static choir_status find_or_start(choir_device *device, const char *source, const char *options, int64_t until_ns,
                                  struct program **out_p)
{
	struct program_cache *cache = &device->programs;
	uint64_t key = key_of(source, options);
	struct program *program = find(cache, key, source, options);

	if (program == NULL) {
		program = add(cache, key, source, options);
		if (program == NULL)
			return error_no_memory("a program", sizeof *program);
		choir_status st = start_build(device, program, until_ns);
		if (st != CHOIR_SUCCESS) {
			cache->first = program->next;
			program_free(program);
			return st;
		}
	} else if (program->state == PROGRAM_FAILED && program->status == CHOIR_NO_MEMORY) {
		TRY(start_build(device, program, until_ns)); /* there may be some now */
		program->state = PROGRAM_BUILDING;
	}
	*out_p = program;
	return CHOIR_SUCCESS;
}

/* With the lock held, which is let go. */
static void wait_until_built(struct program_cache *cache, const struct program *program, int64_t until_ns)
{
	pthread_mutex_unlock(&cache->lock);
	dev_build_wait_begins();
	pthread_mutex_lock(&cache->lock);
	while (program->state == PROGRAM_BUILDING && wait_for_build(cache, until_ns))
		;
	pthread_mutex_unlock(&cache->lock);
	dev_build_wait_ends();
	pthread_mutex_lock(&cache->lock);
}

/* The entry of a built program. */
static choir_status program_get(choir_device *device, const char *source, const char *options, struct program **out_p)
{
	struct program_cache *cache = &device->programs;
	int64_t deadline_ns = dev_build_until(),
		until = deadline_ns > 0 ? deadline_ns : program_now_ns() + NO_DEADLINE_NS;
	struct program *program = NULL;
	choir_status st;
	bool ended;

	pthread_mutex_lock(&cache->lock);
	st = find_or_start(device, source, options, until, &program);
	while (st == CHOIR_SUCCESS && program->state == PROGRAM_BUILDING && program_now_ns() < until)
		wait_until_built(cache, program, until); /* again where another thread has it built anew */
	ended = st == CHOIR_SUCCESS && program->state != PROGRAM_BUILDING;
	if (ended && program->status != CHOIR_SUCCESS)
		st = error_set(program->status, "%s", program->error);
	pthread_mutex_unlock(&cache->lock);
	TRY(st);
	if (!ended)
		return error_set(CHOIR_TIMEOUT,
		                 "%s (%s): the deadline passed while the OpenCL compiler was building it", source,
		                 options);
	*out_p = program;
	return CHOIR_SUCCESS;
}

static cl_kernel take_spare(struct program_cache *cache, struct program *program, const char *name)
{
	cl_kernel kernel = NULL;

	pthread_mutex_lock(&cache->lock);
	for (struct spare_kernel **link = &program->spare; *link != NULL; link = &(*link)->next)
		if (strcmp((*link)->name, name) == 0) {
			struct spare_kernel *spare = *link;

			*link = spare->next;
			kernel = spare->kernel;
			free(spare->name);
			free(spare);
			break;
		}
	pthread_mutex_unlock(&cache->lock);
	return kernel;
}

choir_status dev_kernel_take(choir_device *device, const char *source, const char *options, const char *name,
                             cl_kernel *out_p)
{
	struct program *program = NULL;
	cl_int rc;

	TRY(program_get(device, source, options, &program));
	cl_kernel kernel = take_spare(&device->programs, program, name);
	if (kernel == NULL) {
		kernel = clCreateKernel(program->program, name, &rc);
		if (rc != CL_SUCCESS)
			return error_prefix(error_cl("clCreateKernel", rc), "%s of %s", name, source);
	}
	*out_p = kernel;
	return CHOIR_SUCCESS;
}

void dev_kernel_give(choir_device *device, const char *source, const char *options, const char *name, cl_kernel kernel)
{
	struct program_cache *cache = &device->programs;
	struct spare_kernel *spare = malloc(sizeof *spare);
	char *copy = strdup(name);

	pthread_mutex_lock(&cache->lock);
	struct program *program = find(cache, key_of(source, options), source, options);
	bool kept = program != NULL && spare != NULL && copy != NULL;
	if (kept) {
		*spare = (struct spare_kernel){ program->spare, copy, kernel };
		program->spare = spare;
	}
	pthread_mutex_unlock(&cache->lock);
	if (!kept) {
		clReleaseKernel(kernel);
		free(spare);
		free(copy);
	}
}
