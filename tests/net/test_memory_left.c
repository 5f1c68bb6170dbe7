/* SPDX-License-Identifier: MIT */
/* Limits of memory control groups, v1 and v2, at every level, on trees of files made here; and shared_make, which obeys
 * them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/error.h"
#include "node/memory_left.h"
#include "node/shared.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define MB ((uint64_t)1 << 20)

static char root[64];

static int remove_one(const char *path, const struct stat *stat, int kind, struct FTW *at)
{
	(void)stat, (void)kind, (void)at;
	return remove(path);
}

/* A file with its folders below root. */
static void put(const char *name, const char *text)
{
	char path[512];
	FILE *file;

	snprintf(path, sizeof path, "%s%s", root, name);
	for (char *slash = path + strlen(root) + 1; (slash = strchr(slash, '/')) != NULL; slash++) {
		*slash = '\0';
		mkdir(path, 0700);
		*slash = '/';
	}
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static void put_number(const char *folder, const char *name, uint64_t number)
{
	char path[256], text[32];

	snprintf(path, sizeof path, "%s/%s", folder, name);
	snprintf(text, sizeof text, "%llu\n", (unsigned long long)number);
	put(path, text);
}

static int make_root(void **state)
{
	(void)state;
	strcpy(root, "/tmp/choir-test-memory-XXXXXX");
	if (mkdtemp(root) == NULL)
		return -1;
	put("/proc/meminfo", "MemTotal:       16000000 kB\nMemFree:         1000 kB\nMemAvailable:    8388608 kB\n");
	return 0;
}

static int drop_root(void **state)
{
	(void)state;
	shared_root = "";
	shared_forget_spare();
	return nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void assert_left(uint64_t bytes, bool of_cgroup)
{
	struct memory_left left = memory_left(root);

	assert_int_equal(left.bytes, bytes);
	assert_int_equal(left.of_cgroup, of_cgroup);
}

static void test_machine(void **state)
{
	(void)state;
	assert_left(8192 * MB, false);
	put("/proc/meminfo", "MemTotal:       16000000 kB\n");
	assert_left(UINT64_MAX, false);
}

static void put_v2(const char *cgroup, const char *top)
{
	char text[256];

	snprintf(text, sizeof text, "0::%s\n", cgroup);
	put("/proc/self/cgroup", text);
	snprintf(text, sizeof text,
	         "22 1 0:20 / /proc rw - proc proc rw\n31 23 0:28 %s /cg rw,nosuid shared:4 - cgroup2 cgroup2 "
	         "rw,nsdelegate\n",
	         top);
	put("/proc/self/mountinfo", text);
}

static void test_v2_levels(void **state)
{
	(void)state;
	put_v2("/slice/job/step", "/");
	put("/cg/slice/job/step/memory.max", "max\n");
	put_number("/cg/slice/job/step", "memory.current", 10 * MB);
	assert_left(8192 * MB, false);
	put_number("/cg/slice/job", "memory.max", 1024 * MB);
	put_number("/cg/slice/job", "memory.current", 300 * MB);
	assert_left(724 * MB, true);
	put("/cg/slice/job/memory.stat", "anon 1\nfile 104857600\ninactive_file 52428800\nactive_file 104857600\n");
	assert_left(874 * MB, true); /* file pages are given back before anything is killed */
	put_number("/cg/slice/job/step", "memory.max", 400 * MB);
	assert_left(390 * MB, true);
	put_number("/cg/slice", "memory.max", 2048 * MB);
	put_number("/cg/slice", "memory.current", 2040 * MB);
	assert_left(8 * MB, true);
	put_number("/cg/slice", "memory.current", 2050 * MB);
	assert_left(0, true);
}

static void put_v1(const char *cgroup, const char *top)
{
	char text[256];

	snprintf(text, sizeof text, "9:name=systemd:/x\n5:devices:/memory\n4:cpu,memory:%s\n0::/\n", cgroup);
	put("/proc/self/cgroup", text);
	snprintf(text, sizeof text,
	         "32 31 0:29 / /cg/cpu rw - cgroup cgroup rw,cpu\n35 31 0:32 %s /cg/mem rw - cgroup cgroup rw,memory\n",
	         top);
	put("/proc/self/mountinfo", text);
}

static void test_v1_levels(void **state)
{
	(void)state;
	put_v1("/a/b", "/");
	put_number("/cg/mem", "memory.limit_in_bytes", 9223372036854771712u);
	put_number("/cg/mem", "memory.usage_in_bytes", 1);
	put_number("/cg/mem/a/b", "memory.limit_in_bytes", 9223372036854771712u);
	put_number("/cg/mem/a/b", "memory.usage_in_bytes", 1);
	assert_left(8192 * MB, false);
	put_number("/cg/mem/a", "memory.limit_in_bytes", 1024 * MB);
	put_number("/cg/mem/a", "memory.usage_in_bytes", 24 * MB);
	put("/cg/mem/a/memory.stat", "inactive_file 1\ntotal_inactive_file 4194304\ntotal_active_file 4194304\n");
	assert_left(1008 * MB, true);
}

/* A container without a cgroup namespace: the mount shows the container's folder; or the names tell of another tree. */
static void test_container(void **state)
{
	(void)state;
	put_v1("/docker/7/inner", "/docker/7");
	put_number("/cg/mem/inner", "memory.limit_in_bytes", 700 * MB);
	put_number("/cg/mem/inner", "memory.usage_in_bytes", 0);
	put_number("/cg/mem", "memory.limit_in_bytes", 600 * MB);
	put_number("/cg/mem", "memory.usage_in_bytes", 0);
	assert_left(600 * MB, true);
	put_number("/cg/mem", "memory.limit_in_bytes", 800 * MB);
	assert_left(700 * MB, true);
	put_v1("/elsewhere", "/docker/7");
	assert_left(800 * MB, true);
}

static void test_shared_make(void **state)
{
	struct shared_map map;

	(void)state;
	put_v2("/job", "/");
	put_number("/cg/job", "memory.max", 8 * MB);
	put_number("/cg/job", "memory.current", 4 * MB);
	shared_root = root;
	shared_forget_spare();
	assert_int_equal(shared_make("an arena", 5 * MB, &map), CHOIR_NO_MEMORY);
	assert_non_null(strstr(error_text(), "memory cgroup has 4194304 left"));
	assert_int_equal(shared_make("an arena", 3 * MB, &map), CHOIR_SUCCESS);
	shared_drop(&map);
}

static bool makes(uint64_t bytes)
{
	struct shared_map map;

	if (shared_make("an arena", bytes, &map) != CHOIR_SUCCESS)
		return false;
	shared_drop(&map);
	return true;
}

/* A reading of 640 MB lets 10 MB be taken without another one, for a moment. */
static void test_spare(void **state)
{
	bool spared = false;

	(void)state;
	put_v2("/job", "/");
	put_number("/cg/job", "memory.current", 0);
	shared_root = root;
	for (int i = 0; i < 100 && !spared; i++) { /* the moment may pass on a busy machine */
		put_number("/cg/job", "memory.max", 640 * MB);
		shared_forget_spare();
		assert_true(makes(MB));
		put_number("/cg/job", "memory.max", 0);
		spared = makes(MB) && makes(MB);
		assert_false(makes(11 * MB));
	}
	assert_true(spared);
	shared_forget_spare();
	assert_false(makes(1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_machine, make_root, drop_root),
		cmocka_unit_test_setup_teardown(test_v2_levels, make_root, drop_root),
		cmocka_unit_test_setup_teardown(test_v1_levels, make_root, drop_root),
		cmocka_unit_test_setup_teardown(test_container, make_root, drop_root),
		cmocka_unit_test_setup_teardown(test_shared_make, make_root, drop_root),
		cmocka_unit_test_setup_teardown(test_spare, make_root, drop_root),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
