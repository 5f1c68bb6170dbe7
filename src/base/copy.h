/* SPDX-License-Identifier: MIT */
/* Copies on this thread, by plain or by non-temporal (nt) stores. */
#ifndef BASE_COPY_H
#define BASE_COPY_H

#include <stdbool.h>
#include <stddef.h>

/* copy_host: bytes from src to dst, which do not overlap; any alignment.  stream: past the cache (non-temporal stores),
 * for results that are larger than the cache or that this core does not read again; the store fence is issued before it
 * returns, so that a release store publishes the bytes.  Where the CPU has no such stores it is a plain copy. */
void copy_host(void *dst, const void *src, size_t bytes, bool nt);

/* copy_host_plain: the same, for memory that another core reads or has written. */
void copy_host_plain(void *dst, const void *src, size_t bytes);

/* copy_host_nt, copy_host_fence: the two halves of a copy by nt stores, for callers that make many. */
void copy_host_nt(void *dst, const void *src, size_t bytes);
void copy_host_fence(void);

#endif
