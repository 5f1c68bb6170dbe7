/* SPDX-License-Identifier: MIT */
/* Buffers for tests: host memory, a cl_mem with an offset or a pointer of OpenCL's, sentinels on both sides. */
#ifndef TESTS_MEMORY_H
#define TESTS_MEMORY_H

#include "world/world.h"

enum { SENTINEL_BYTES = 64, SENTINEL = 0xA5 };

/* What memory on the device is. */
enum memory_kind {
	MEMORY_MEM,
	MEMORY_SVM_COARSE,
	MEMORY_SVM_FINE,
	MEMORY_USM_HOST,
	MEMORY_USM_SHARED,
	MEMORY_USM_DEVICE,
	MEMORY_MIXED, /* one after the other of all that the device has */
	N_MEMORY_KINDS
};
extern const char *const memory_kind_names[N_MEMORY_KINDS];

struct memory {
	bool device;
	enum memory_kind kind;
	size_t bytes, offset; /* of the payload */
	unsigned char *host;  /* the whole, sentinels included; the shadow of what is on the device */
	cl_mem mem;
	unsigned char *pointer; /* SVM, USM: the whole */
	choir_device *owner;
	cl_command_queue queue; /* shared by all */
	bool lent;              /* from the region of memory_use: host is the memory itself */
	choir_buffer buffer;
};

/* memory_make: bytes of payload, all bytes SENTINEL; on the device its offset is `shift` bytes beyond the first
 * sentinel. */
bool memory_make(struct memory *memory, choir_device *device, bool on_device, size_t bytes, size_t shift);
void memory_free(struct memory *memory);

/* memory_choose: what is made on the device from now on, by all threads; at first MEMORY_MEM.  Between worlds.
 * memory_choose_flags: of cl_mems from now on; at first CL_MEM_READ_WRITE.  Between worlds too.
 * memory_lacks: NULL if the device has that kind, else a reason.
 * memory_each: fn with each kind of pointers chosen, and with all in turn; says why the device lacks one. */
void memory_choose(enum memory_kind kind);
void memory_choose_flags(cl_mem_flags flags);
const char *memory_lacks(choir_device *device, enum memory_kind kind);
void memory_each(choir_device *device, void (*fn)(enum memory_kind kind));

/* memory_use: what this thread makes from now on lies in these bytes, until it is called with NULL: host memory, or at
 * the same place of mem (NULL: host memory too).  skew bytes lie before each, so that ranks' buffers stand at different
 * offsets.  The region begins anew when nothing of it is in use. */
void memory_use(void *base, cl_mem mem, size_t bytes, size_t skew);

unsigned char *memory_payload(struct memory *memory);
void memory_push(struct memory *memory); /* shadow to device */
void memory_pull(struct memory *memory); /* device to shadow */
bool memory_sentinels_stand(const struct memory *memory);

/* memory_map_shared: a shared mapping that choir_mem_register takes, for munmap; NULL if there is none. */
void *memory_map_shared(size_t bytes);

/* memory_drop: what is kept of the device; by world_device_drop. */
void memory_drop(void);
#endif
