/* SPDX-License-Identifier: MIT */
/* Memory of the caller's that others can map: what may be borrowed, what is refused, and that a mapping shows the same
 * bytes. */
#include "node/borrow.h"

#include "base/error.h"

#include "support.h"
#include <fcntl.h>

enum { BYTES = 5 * 4096 };

/* A shared mapping of a file under /dev/shm that is gone again, or not. */
static unsigned char *shared_memory(bool keep_name, char name[64])
{
	unsigned char *memory;
	int fd;

	snprintf(name, 64, "/choir-borrow-%ld", (long)getpid());
	fd = shm_open(name, O_CREAT | O_EXCL | O_RDWR, 0600);
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, BYTES), 0);
	memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(memory, MAP_FAILED);
	close(fd);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same_bytes),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_other_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
