/* SPDX-License-Identifier: MIT */
/* The text to learn: its words as numbers, in order of frequency. */
#ifndef TRAIN_TEXT_H
#define TRAIN_TEXT_H

#include "fail.h"

#include <stdint.h>

/* Id 0 stands between two sentences (lines; of WordNet: glosses).  Words have 1, 2, ... from the most frequent down;
 * equal counts in alphabetical order, so that the numbers depend on the text alone. */
#define TEXT_BOUNDARY 0

struct text {
	int32_t *tokens; /* 0 w w w 0 w w 0: begins and ends with a boundary */
	size_t n_tokens;
	size_t n_words;     /* different ids, the boundary included */
	const char **words; /* [n_words]; words[0] = "</s>" */
	int64_t *counts;    /* [n_words]: how often each occurs */
	char *letters;      /* what words[] points into */
};

/* text_read: path NULL = the definitions of WordNet's glosses (data.noun ... in the folder named by
 * WNSEARCHDIR, else /usr/share/wordnet), else any text file. Words are runs of letters, lower-cased; letters
 * are a-z and every byte above 127.  Owns memory until text_free. */
choir_status text_read(const char *path, struct text *out);

/* text_parse: the same from memory; one line is one sentence. */
choir_status text_parse(const char *bytes, size_t n_bytes, struct text *out);

/* text_free: a zeroed text is fine. */
void text_free(struct text *text);

#endif
