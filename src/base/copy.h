/* SPDX-License-Identifier: MIT */
/* Copies on this thread, by plain or by non-temporal (nt) stores. */
#ifndef BASE_COPY_H
#define BASE_COPY_H

#include <stdbool.h>
#include <stddef.h>

/* copy_host: copies bytes between ranges that do not overlap, of any alignment.  nt: by non-temporal stores, for data
 * larger than the cache or not read again by this core; it then issues the store fence, so that a release store
 * publishes the bytes.  A plain copy on CPUs without such stores. */
void copy_host(void *dst, const void *src, size_t bytes, bool nt);

/* copy_host_plain: a copy by plain stores, tuned for memory that another core has written or will read. */
void copy_host_plain(void *dst, const void *src, size_t bytes);

/* copy_host_nt, copy_host_fence: a copy by nt stores and its store fence apart, for callers that make many copies. */
void copy_host_nt(void *dst, const void *src, size_t bytes);
void copy_host_fence(void);

/* copy_host_both: two copies of one length at once, so that the stores of the one and the loads of the other need not
 * wait for each other; the first by nt stores, the second by nt stores or by plain ones; and the store fence. */
void copy_host_both(void *dst, const void *src, void *dst2, const void *src2, size_t bytes, bool nt2);

#endif
