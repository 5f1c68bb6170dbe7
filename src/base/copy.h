/* SPDX-License-Identifier: MIT */
/* Copies on this thread, through the cache or past it. */
#ifndef BASE_COPY_H
#define BASE_COPY_H

#include <stdbool.h>
#include <stddef.h>

/* copy_host: bytes from src to dst, which do not overlap; any alignment.  stream: past the cache (non-temporal stores),
 * for results that are larger than the cache or that this core does not read again; the store fence is issued before it
 * returns, so that a release store publishes the bytes.  Where the CPU has no such stores it is a plain copy. */
void copy_host(void *dst, const void *src, size_t bytes, bool stream);

/* copy_host_plain: the same, for memory that another core reads or has written. */
void copy_host_plain(void *dst, const void *src, size_t bytes);

/* copy_host_stream, copy_host_fence: the two halves of a streaming copy, for callers that make many. */
void copy_host_stream(void *dst, const void *src, size_t bytes);
void copy_host_fence(void);

#endif
