/* SPDX-License-Identifier: MIT */
/* Prefetching for loops that read memory from one end to the other.  The processor's own prefetching ends with each
 * page of 4 KiB, so the loop asks for one line of a page some pages before it gets there. */
#ifndef SPARSE_PREFETCH_H
#define SPARSE_PREFETCH_H

#define PREFETCH_PAGE     4096
#define PREFETCH_PAGES    8
#define PREFETCH_ELEMENTS 512 /* a page of the largest */

/* prefetch: once a page, with the address where the loop is.  The address that it fetches need not be mapped. */
static inline void prefetch(const void *at)
{
	__builtin_prefetch((const char *)at + PREFETCH_PAGES * PREFETCH_PAGE);
}

#endif
