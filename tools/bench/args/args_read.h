/* SPDX-License-Identifier: MIT */
/* How a flag's text becomes a value.  All give false with a sentence in error (ARGS_ERROR_BYTES) if it is none; a text
 * that is NULL leaves the value as it is. */
#ifndef BENCH_ARGS_READ_H
#define BENCH_ARGS_READ_H

#include "args.h"
#include "lib/flags.h"

bool args_complain(char *error, const char *format, ...) __attribute__((format(printf, 2, 3))); /* false */
bool args_read_bytes(const char *flag, const char *text, size_t *out, char *error);
bool args_read_share(const char *flag, const char *text, double *out, char *error);

/* args_read_list: cuts text, which lies in args->line, at its commas; room for ARGS_MAX_LIST items. */
bool args_read_list(const char *flag, const char *text, const char **items, int *n, char *error);

/* args_read_sparse: all that is said of sparse rows. */
bool args_read_sparse(struct args *args, char *error);

/* The flags, for flags_parse. */
extern const struct flags args_flags;

#endif
