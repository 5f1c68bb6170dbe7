/* SPDX-License-Identifier: MIT */
/* Command lines, read by glibc's argp from a table with a row a flag.  --help and --version come with it. */
#ifndef LIB_FLAGS_H
#define LIB_FLAGS_H

#include <stdbool.h>
#include <stddef.h>

/* The type of the member that a flag sets: bool, const char *, int, size_t, double. */
enum flag_kind { FLAG_GIVEN, FLAG_TEXT, FLAG_INT, FLAG_WHOLE, FLAG_REAL };

struct flag {
	const char *name;
	int letter; /* 0 = none */
	enum flag_kind kind;
	size_t at;                 /* of the member, in what flags_parse fills */
	const char *value, *about; /* for --help */
	double least;              /* of a number */
	const char *otherwise; /* the value of the flag alone; a value then needs its "=": --zipf=1.2.  NULL = the flag
	                          needs one */
	const char *title;     /* this row only begins a group of flags, with this line in --help */
};

struct flags {
	const char *program, *words, *doc; /* for --help */
	const struct flag *flag;
	int n;
};

enum { FLAGS_ERROR_BYTES = 256 };

enum flags_outcome { FLAGS_READ, FLAGS_WRONG, FLAGS_TOLD };

/* flags_parse: sets members of *out; words: what has no flag, at most most_words of them, in order, with a NULL behind.
 * FLAGS_WRONG: the sentence is in error.  FLAGS_TOLD: --help or --version was asked for, and printed by flags_speaks.
 * Texts point into argv, which is put into another order. */
enum flags_outcome flags_parse(const struct flags *flags, int argc, char **argv, void *out, const char **words,
                               int most_words, char error[FLAGS_ERROR_BYTES]);

/* flags_speaks: whether this process is the first of its job, by the launcher's environment: MPI need not be up. */
bool flags_speaks(void);

#endif
