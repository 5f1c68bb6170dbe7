/* SPDX-License-Identifier: MIT */
/* The options of kernels that fold elements of a list and write indices: RAW = 1 if elements are original values
 * (square_add squares them), 0 if partial results; FINAL = 1 to apply the final expression; INDEX = int or long, the
 * type of the indices. */
#ifndef RAW
#error "RAW: 0 or 1"
#endif
#ifndef FINAL
#error "FINAL: 0 or 1"
#endif
#ifndef INDEX
#error "INDEX: int or long"
#endif
