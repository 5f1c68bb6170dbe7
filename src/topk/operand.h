/* SPDX-License-Identifier: MIT */
/* A caller's buffer that the host works on: in place where it reaches the memory, else in a copy. */
#ifndef TOPK_OPERAND_H
#define TOPK_OPERAND_H

#include "sparse/pool.h"
#include "sparse/transfer.h"

struct operand {
	const char *role;
	choir_buffer buffer;
	uint64_t bytes;
	uint32_t elem_bytes;
	uint64_t first; /* of a part of a tensor: its first element's index */
	bool read, write;
	bool by_kernel; /* in: kernels could write it; after operands_reach: they have to, and there is no ptr */
	cl_mem kept;    /* retained from operands_keep to fini */
	/* between reach and fini: where the host finds it */
	struct dev_access access;
	struct transfer move;
	struct pool_block copy;
	void *ptr;
	uint64_t written; /* bytes from its start that operands_write brings back */
};

/* operand_of: a buffer of so many elements; of more than any memory holds its bytes are UINT64_MAX. */
static inline struct operand operand_of(const char *role, choir_buffer buffer, uint64_t count, uint64_t elem_bytes,
                                        bool read, bool write)
{
	bool is_huge = elem_bytes > 0 && count > UINT64_MAX / elem_bytes;

	return (struct operand){ .role = role,
		                 .buffer = buffer,
		                 .bytes = is_huge ? UINT64_MAX : count * elem_bytes,
		                 .elem_bytes = (uint32_t)elem_bytes,
		                 .read = read,
		                 .write = write };
}

/* operand_kernels_run: does the device do such work by kernels, where functions could do it too?
 * operand_kernels_may: is the operand a cl_mem that kernels may use so? */
bool operand_kernels_run(const choir_device *device);
bool operand_kernels_may(const struct operand *operand);

/* operands_check: ranges, and overlaps of those that are written with others.  ARGUMENT, UNSUPPORTED naming `call`. */
choir_status operands_check(const char *call, choir_device *device, const struct operand *operands, size_t n);

/* operands_keep: retains their cl_mems until fini. */
choir_status operands_keep(struct operand *operands, size_t n);

/* operands_reach: finds ptr of each, and starts copying in what is read.  operands_write: starts copying out.
 * operands_move: goes on with either until *done_p; rings when it is worth while to call again. */
choir_status operands_reach(choir_device *device, struct operand *operands, size_t n);
void operands_write(choir_device *device, struct operand *operands, size_t n);
choir_status operands_move(struct operand *operands, size_t n, void (*ring)(void *), void *ctx, bool *done_p);

/* operands_want_copy: operands_move goes no further before operands_copy, which may take long. */
bool operands_want_copy(const struct operand *operands, size_t n);
choir_status operands_copy(struct operand *operands, size_t n);

/* operands_fini: waits for the device.  Legal on zeroed ones. */
void operands_fini(struct operand *operands, size_t n);

#endif
