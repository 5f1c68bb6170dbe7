/* SPDX-License-Identifier: MIT */
/* Many tensors: of --trainer, as a file lists them, or of --tensors. */
#ifndef BENCH_TENSOR_LIST_H
#define BENCH_TENSOR_LIST_H

#include <choir/types.h>

#include <stdbool.h>

enum { TENSOR_ERROR_BYTES = 256 };

struct list_tensor {
	char name[96];
	size_t count;
	choir_dtype dtype;
	double delay_us;
};

struct tensor_list {
	struct list_tensor *tensors;
	int n;
};

/* tensor_list_read: the gradients of a training step in the order in which they are made, "name count dtype delay" a
 * line, delay in microseconds of the kernel that makes it; # begins a comment.  false with a sentence that names file
 * and line; *out untouched then. */
bool tensor_list_read(const char *path, struct tensor_list *out, char error[TENSOR_ERROR_BYTES]);

/* tensor_list_parse: sizes in bytes ("4,64K,1M"), or "random:N:LOW:HIGH": N sizes between two, small ones as frequent
 * as large ones, the same every time; the dtypes are dealt out in turn.  A size below one element is one.  Errors as
 * above. */
bool tensor_list_parse(const char *text, const choir_dtype *dtypes, int n_dtypes, struct tensor_list *out,
                       char error[TENSOR_ERROR_BYTES]);

void tensor_list_fini(struct tensor_list *list);

#endif
