/* SPDX-License-Identifier: MIT */
#include "wordnet.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

choir_status file_read(const char *path, char **bytes_p, size_t *n_p)
{
	FILE *file = fopen(path, "rb");
	char *bytes = NULL;
	long n = -1;

	if (!file)
		return failure(CHOIR_ARGUMENT, "%s: %s", path, strerror(errno));
	if (fseek(file, 0, SEEK_END) == 0)
		n = ftell(file);
	if (n >= 0)
		bytes = malloc((size_t)n + 1);
	rewind(file);
	if (!bytes || fread(bytes, 1, (size_t)n, file) != (size_t)n) {
		free(bytes);
		fclose(file);
		return failure(CHOIR_ARGUMENT, "%s cannot be read as a whole", path);
	}
	fclose(file);
	bytes[n] = 0;
	*bytes_p = bytes;
	*n_p = (size_t)n;
	return CHOIR_SUCCESS;
}

/* One gloss, without what stands in double quotes; returns where the next output byte goes. */
static char *definition(char *out, const char *gloss, const char *end)
{
	int quoted = 0;

	for (; gloss < end; gloss++) {
		if (*gloss == '"')
			quoted = !quoted;
		else if (!quoted)
			*out++ = *gloss;
	}
	*out++ = '\n';
	return out;
}

size_t wordnet_definitions(char *bytes, size_t n)
{
	const char *line = bytes, *end = bytes + n;
	char *out = bytes; /* never overtakes line: a definition is shorter than its line */

	while (line < end) {
		const char *stop = memchr(line, '\n', (size_t)(end - line));
		const char *bar;

		if (!stop)
			stop = end;
		bar = *line == ' ' ? NULL : memmem(line, (size_t)(stop - line), " | ", 3);
		if (bar)
			out = definition(out, bar + 3, stop);
		line = stop + 1;
	}
	return (size_t)(out - bytes);
}

choir_status wordnet_read(const char *folder, char **bytes_p, size_t *n_p)
{
	static const char *const parts[] = { "noun", "verb", "adj", "adv" };
	char *all = NULL;
	size_t n_all = 0;

	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
		char path[4096], *bytes, *more;
		size_t n;

		snprintf(path, sizeof path, "%s/data.%s", folder, parts[i]);
		if (file_read(path, &bytes, &n) != CHOIR_SUCCESS) {
			free(all);
			return failure(CHOIR_ARGUMENT,
			               "no WordNet: install wordnet-base, or give another text by --text FILE");
		}
		n = wordnet_definitions(bytes, n);
		more = realloc(all, n_all + n + 1);
		if (!more) {
			free(bytes);
			free(all);
			return fail_memory("the glosses", n_all + n);
		}
		all = more;
		memcpy(all + n_all, bytes, n);
		n_all += n;
		free(bytes);
	}
	*bytes_p = all;
	*n_p = n_all;
	return CHOIR_SUCCESS;
}
