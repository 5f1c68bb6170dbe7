/* SPDX-License-Identifier: MIT */
/* Memory of the caller's that others can map: what may be borrowed, what is refused, and that a mapping shows the same
 * bytes. */
#include "node/borrow.h"

#include "base/error.h"

#include "support.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

enum { BYTES = 5 * 4096 };

static int refusal; /* of fallocate; 0 = none */

int __real_fallocate(int fd, int mode, off_t at, off_t bytes);
int __wrap_fallocate(int fd, int mode, off_t at, off_t bytes);
int __wrap_fallocate(int fd, int mode, off_t at, off_t bytes)
{
	errno = refusal;
	return refusal != 0 ? -1 : __real_fallocate(fd, mode, at, bytes);
}

/* A shared mapping of a new file, which is closed. */
static unsigned char *map_new(int fd)
{
	unsigned char *memory;

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, BYTES), 0);
	memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(memory, MAP_FAILED);
	close(fd);
	return memory;
}

/* A shared mapping of a file under /dev/shm that is gone again, or not. */
static unsigned char *shared_memory(bool keep_name, char name[64])
{
	unsigned char *memory;

	snprintf(name, 64, "/choir-borrow-%ld", (long)getpid());
	memory = map_new(shm_open(name, O_CREAT | O_EXCL | O_RDWR, 0600));
	if (!keep_name)
		shm_unlink(name);
	return memory;
}

/* At an odd offset, so that neither end is a page's. */
static void test_same_bytes(void **state)
{
	char name[64];
	unsigned char *memory = shared_memory(true, name);
	struct borrow_address address;
	struct borrow_map map;

	(void)state;
	assert_int_equal(borrow_begin(memory + 100, BYTES - 200, &address), CHOIR_SUCCESS);
	assert_int_equal(borrow_map(&address, &map), CHOIR_SUCCESS);
	assert_ptr_not_equal(map.ptr, memory + 100);
	memory[100] = 17;
	memory[BYTES - 101] = 18;
	map.ptr[5000] = 19;
	assert_int_equal(map.ptr[0], 17);
	assert_int_equal(map.ptr[BYTES - 201], 18);
	assert_int_equal(memory[5100], 19);
	borrow_unmap(&map);
	borrow_unmap(&map);
	borrow_end(&address);
	shm_unlink(name);
	munmap(memory, BYTES);
}

static void refused(const void *ptr, uint64_t bytes, const char *word)
{
	struct borrow_address address = { .bytes = 12345 };

	assert_int_equal(borrow_begin(ptr, bytes, &address), CHOIR_UNSUPPORTED);
	assert_non_null(strstr(error_text(), word));
	assert_int_equal(address.bytes, 12345);
}

static void test_refused(void **state)
{
	char name[64];
	unsigned char *memory = shared_memory(true, name);
	void *private = malloc(1 << 20),
	     *anonymous = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)state;
	refused(private, 1 << 20, "private");
	refused(anonymous, BYTES, "private");
	refused(memory + BYTES / 2, BYTES, "mapping");
	refused(memory, UINT64_MAX, "mapping");
	refused(NULL, 1, "mapping");
	mprotect(memory, BYTES, PROT_READ);
	refused(memory, BYTES, "read-only");
	shm_unlink(name);
	munmap(anonymous, BYTES);
	munmap(memory, BYTES);
	free(private);
}

/* A descriptor that means another file by now, and a file that has become shorter. */
static void test_other_file(void **state)
{
	char name[64];
	unsigned char *memory = shared_memory(true, name);
	struct borrow_address address, wrong;
	struct borrow_map map = { 0 };

	(void)state;
	assert_int_equal(borrow_begin(memory, BYTES, &address), CHOIR_SUCCESS);
	wrong = address;
	wrong.inode++;
	assert_int_equal(borrow_map(&wrong, &map), CHOIR_TRANSPORT);
	wrong = address;
	wrong.fd = 1023;
	assert_int_equal(borrow_map(&wrong, &map), CHOIR_TRANSPORT);
	assert_int_equal(ftruncate(address.fd, BYTES / 2), 0);
	assert_int_equal(borrow_map(&address, &map), CHOIR_TRANSPORT);
	assert_null(map.base);
	borrow_end(&address);
	shm_unlink(name);
	munmap(memory, BYTES);
}

/* Pages that were never written have their memory from then on: in a file system that is full by then an access would
 * end the process. */
static void test_room(void **state)
{
	char name[64];
	unsigned char *memory = shared_memory(true, name);
	struct borrow_address address = { 0 };
	struct stat file;

	(void)state;
	refusal = ENOSPC;
	assert_int_equal(borrow_begin(memory, BYTES, &address), CHOIR_NO_MEMORY);
	assert_non_null(strstr(error_text(), "no room for the file behind registered memory"));
	assert_int_equal(address.bytes, 0);
	refusal = EOPNOTSUPP; /* of a file system that cannot say it */
	assert_int_equal(borrow_begin(memory, BYTES, &address), CHOIR_SUCCESS);
	borrow_end(&address);
	refusal = 0;
	assert_int_equal(borrow_begin(memory + 4096, BYTES - 2 * 4096, &address), CHOIR_SUCCESS);
	assert_int_equal(fstat(address.fd, &file), 0);
	assert_int_equal(file.st_size, BYTES);
	assert_int_equal(file.st_blocks * 512, BYTES - 2 * 4096);
	assert_int_equal(ftruncate(address.fd, BYTES - 4096), 0);
	borrow_end(&address);
	refused(memory, BYTES, "ends before, at byte 16384");
	shm_unlink(name);
	munmap(memory, BYTES);
}

/* Folders until the path has more than 400 bytes. */
static void test_long_path(void **state)
{
	char path[1024] = "/dev/shm", folder[96];
	struct borrow_address address;
	unsigned char *memory;
	size_t n[8] = { 0 };

	(void)state;
	for (int i = 0; i < 8; i++) {
		n[i] = strlen(path);
		snprintf(folder, sizeof folder, "/choir-borrow-%ld-%040d", (long)getpid(), i);
		strcat(path, folder);
		assert_int_equal(i < 7 ? mkdir(path, 0700) : 0, 0);
	}
	memory = map_new(open(path, O_CREAT | O_EXCL | O_RDWR, 0600));
	assert_int_equal(borrow_begin(memory, BYTES, &address), CHOIR_SUCCESS);
	borrow_end(&address);
	munmap(memory, BYTES);
	assert_int_equal(unlink(path), 0);
	for (int i = 7; i > 0; i--) {
		path[n[i]] = '\0';
		assert_int_equal(rmdir(path), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same_bytes), cmocka_unit_test(test_refused),   cmocka_unit_test(test_other_file),
		cmocka_unit_test(test_room),       cmocka_unit_test(test_long_path),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
