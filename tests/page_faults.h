/* SPDX-License-Identifier: MIT */
/* Page faults of this process, for tests of memory that is mapped ahead. */
#ifndef TESTS_PAGE_FAULTS_H
#define TESTS_PAGE_FAULTS_H

#include <stddef.h>
#include <sys/mman.h>
#include <sys/resource.h>

static inline long page_faults(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_minflt;
}

/* page_faults_hidden: why they cannot be told; NULL: they can.  shared: a page of shared memory. */
static inline const char *page_faults_hidden(void *shared)
{
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
	(void)shared;
	return "a sanitizer takes some of its own";
#else
	return madvise(shared, 4096, MADV_POPULATE_READ) == 0 ? NULL : "this kernel has no MADV_POPULATE_READ";
#endif
}

#endif
