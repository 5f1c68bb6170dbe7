/* SPDX-License-Identifier: MIT */
/* The tests' own copies between coarse-grained SVM and host memory. */
#ifndef TESTS_SVM_COPY_H
#define TESTS_SVM_COPY_H

#include "world/memory.h"

/* svm_copy: bytes from the host's shadow to the SVM (pushes), or back, on the memory's queue.  On a GPU by a kernel and
 * a second buffer: Note [SVM and host memory] in src/dev/copy.c. svm_copy_drop: frees the kernels; nobody copies. */
cl_int svm_copy(const struct memory *memory, bool pushes, size_t bytes, cl_event *event_p);
void svm_copy_drop(void);

#endif
