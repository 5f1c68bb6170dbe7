/* SPDX-License-Identifier: MIT */
/* The build lock's file, and builds that hang: clBuildProgram is wrapped and waits until the test lets it go. */
#include "dev_fixture.h"
#include "hung_builds.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define OPTIONS "-D DTYPE=I32 -D OP=SUM"
#define MS      INT64_C(1000000)

enum { HANG_S = 600 };

static char folder[] = "/tmp/choir-test-build-XXXXXX", path[64];

static atomic_bool locked;     /* the last build was under the lock */
static atomic_int builds;      /* so far */
static _Atomic cl_int refusal; /* of the next build */

static bool lock_is_held(void)
{
	int fd = build_lock_open(path);
	bool held = fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) != 0;

	if (fd >= 0)
		close(fd);
	return held;
}

cl_int __real_clBuildProgram(cl_program program, cl_uint n, const cl_device_id *devices, const char *options,
                             void(CL_CALLBACK *notify)(cl_program, void *), void *ctx);
cl_int __wrap_clBuildProgram(cl_program program, cl_uint n, const cl_device_id *devices, const char *options,
                             void(CL_CALLBACK *notify)(cl_program, void *), void *ctx);

cl_int __wrap_clBuildProgram(cl_program program, cl_uint n, const cl_device_id *devices, const char *options,
                             void(CL_CALLBACK *notify)(cl_program, void *), void *ctx)
{
	cl_int refused;

	hung_builds_wait(HANG_S);
	refused = atomic_exchange(&refusal, CL_SUCCESS);
	atomic_store(&locked, lock_is_held());
	atomic_fetch_add(&builds, 1);
	if (refused != CL_SUCCESS)
		return refused;
	return __real_clBuildProgram(program, n, devices, options, notify, ctx);
}

static void make_file(mode_t mode)
{
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);

	assert_true(fd >= 0);
	assert_int_equal(fchmod(fd, mode), 0);
	close(fd);
}

static void test_own_file(void **state)
{
	int fd = build_lock_open(path);
	struct stat file;

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &file), 0);
	assert_int_equal(file.st_mode & 07777, 0600);
	close(fd);
	fd = build_lock_open(path);
	assert_true(fd >= 0);
	close(fd);
	unlink(path);
}

/* A file that others could hold is refused. */
static void test_files_of_others(void **state)
{
	(void)state;
	make_file(0666);
	assert_int_equal(build_lock_open(path), -1);
	unlink(path);
	make_file(0640);
	assert_int_equal(build_lock_open(path), -1);
	unlink(path);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(build_lock_open(path), -1);
	unlink(path);
	assert_int_equal(symlink("/dev/null", path), 0);
	assert_int_equal(build_lock_open(path), -1);
	unlink(path);
	make_file(0600);
	if (chown(path, 65534, 65534) == 0) /* root's test only */
		assert_int_equal(build_lock_open(path), -1);
	unlink(path);
}

/* Half of the time until the deadline, and then without the lock. */
static void test_held_lock(void **state)
{
	int64_t start = program_now_ns(), waited;
	int held;

	(void)state;
	assert_int_equal(setenv("XDG_RUNTIME_DIR", folder, 1), 0);
	held = build_lock_take(start + 60000 * MS);
	assert_true(held >= 0);
	start = program_now_ns();
	assert_int_equal(build_lock_take(start + 100 * MS), -1);
	waited = program_now_ns() - start;
	assert_true(waited >= 50 * MS && waited < 5000 * MS);
	build_lock_give(held);
	held = build_lock_take(program_now_ns() + 60000 * MS);
	assert_true(held >= 0);
	build_lock_give(held);
	unlink(path);
}

/* PoCL and the drivers of CPUs build under the lock, a GPU's own driver without. */
static void test_who_takes_the_lock(void **state)
{
	static const struct {
		cl_device_type type;
		const char *platform;
		bool locks;
	} drivers[] = { { CL_DEVICE_TYPE_GPU, "NVIDIA CUDA", false },
		        { CL_DEVICE_TYPE_GPU, "Portable Computing Language", true },
		        { CL_DEVICE_TYPE_CPU, "Intel(R) OpenCL", true } };

	(void)state;
	assert_int_equal(setenv("XDG_RUNTIME_DIR", folder, 1), 0);
	for (size_t i = 0; i < sizeof drivers / sizeof *drivers; i++) {
		choir_device *device = fixture_device_of(CHOIR_CLASS_STAGE);
		cl_kernel kernel = NULL;

		assert_non_null(device);
		device->facts.type = drivers[i].type;
		snprintf(device->facts.platform, sizeof device->facts.platform, "%s", drivers[i].platform);
		assert_ok(dev_kernel_take(device, "copy.cl", "", "copy_to_mem", &kernel));
		dev_kernel_give(device, "copy.cl", "", "copy_to_mem", kernel);
		assert_int_equal(atomic_load(&locked), drivers[i].locks);
		choir_device_destroy(device);
	}
	unlink(path);
}

/* The thread that asks gets TIMEOUT at its deadline; the build goes on, and the next one that asks finds it. */
static void test_hanging_build(void **state)
{
	choir_device *device = fixture_device_of(CHOIR_CLASS_STAGE);
	cl_kernel kernel = NULL;
	int64_t start = program_now_ns();

	(void)state;
	hung_builds_set(true);
	for (int i = 0; i < 2; i++) {
		dev_build_deadline(program_now_ns() + 30 * MS);
		assert_fails(dev_kernel_take(device, "reduce.cl", OPTIONS, "reduce_two", &kernel), CHOIR_TIMEOUT,
		             "reduce.cl (" OPTIONS ")");
		dev_build_deadline(0);
	}
	assert_true(program_now_ns() - start < 5000 * MS);
	hung_builds_set(false);
	assert_ok(dev_kernel_take(device, "reduce.cl", OPTIONS, "reduce_two", &kernel));
	dev_kernel_give(device, "reduce.cl", OPTIONS, "reduce_two", kernel);
	choir_device_destroy(device);
}

/* What failed for want of memory is built again when it is asked for; what the compiler refused is not. */
static void test_failed_builds(void **state)
{
	choir_device *device = fixture_device_of(CHOIR_CLASS_STAGE);
	cl_kernel kernel = NULL;

	(void)state;
	atomic_store(&refusal, CL_OUT_OF_HOST_MEMORY);
	assert_fails(dev_kernel_take(device, "copy.cl", "", "copy_to_mem", &kernel), CHOIR_NO_MEMORY, "copy.cl");
	assert_ok(dev_kernel_take(device, "copy.cl", "", "copy_to_mem", &kernel));
	dev_kernel_give(device, "copy.cl", "", "copy_to_mem", kernel);
	choir_device_destroy(device);
	device = fixture_device_of(CHOIR_CLASS_STAGE);
	atomic_store(&refusal, CL_INVALID_BUILD_OPTIONS);
	atomic_store(&builds, 0);
	for (int i = 0; i < 2; i++)
		assert_fails(dev_kernel_take(device, "copy.cl", "", "copy_to_mem", &kernel), CHOIR_OPENCL, "copy.cl");
	assert_int_equal(atomic_load(&builds), 1);
	choir_device_destroy(device);
}

/* A device may be destroyed while its program is still being built. */
static void test_destroy_while_building(void **state)
{
	choir_device *device = fixture_device_of(CHOIR_CLASS_STAGE);
	cl_kernel kernel = NULL;

	(void)state;
	hung_builds_set(true);
	dev_build_deadline(program_now_ns() + 1);
	assert_fails(dev_kernel_take(device, "reduce.cl", OPTIONS, "reduce_two", &kernel), CHOIR_TIMEOUT, "reduce.cl");
	dev_build_deadline(0);
	hung_builds_set(false);
	choir_device_destroy(device);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_own_file),      cmocka_unit_test(test_files_of_others),
		cmocka_unit_test(test_held_lock),     cmocka_unit_test(test_who_takes_the_lock),
		cmocka_unit_test(test_hanging_build), cmocka_unit_test(test_destroy_while_building),
		cmocka_unit_test(test_failed_builds),
	};
	int rc;

	if (mkdtemp(folder) == NULL)
		return 1;
	snprintf(path, sizeof path, "%s/choir-build.lock", folder);
	rc = cmocka_run_group_tests(tests, fixture_set_up, fixture_tear_down);
	unlink(path);
	rmdir(folder);
	return rc;
}
