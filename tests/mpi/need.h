/* SPDX-License-Identifier: MIT */
/* In a rank of a program of forked processes, whose exit status is what its function returns. */
#ifndef TESTS_MPI_NEED_H
#define TESTS_MPI_NEED_H

#include <choir/choir.h>
#include <stdio.h>

#define NEED(what)                                                                                                     \
	do {                                                                                                           \
		if (!(what)) {                                                                                         \
			fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #what, choir_last_error());             \
			return 1;                                                                                      \
		}                                                                                                      \
	} while (0)

#endif
