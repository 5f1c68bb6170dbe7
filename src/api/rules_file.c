/* SPDX-License-Identifier: MIT */
#include "api/rules_file.h"

#include "base/error.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

enum { MAX_BYTES = 1 << 20 };

/* Reads on from `have` bytes until the end of the file; *text_p grows as needed and ends with a zero byte. */
static choir_status read_all(FILE *file, const char *path, char **text_p)
{
	size_t have = 0, room = 0;
	char *text = NULL;

	do {
		char *grown = realloc(text, room = 2 * room + 4096);

		if (grown == NULL) {
			free(text);
			return error_no_memory("rules", room);
		}
		text = grown;
		have += fread(text + have, 1, room - 1 - have, file);
	} while (have == room - 1 && have < MAX_BYTES);
	text[have] = '\0';
	if (ferror(file) || have >= MAX_BYTES || strlen(text) != have) {
		free(text);
		return error_set(CHOIR_ARGUMENT, "rules: %s is no file of rules", path);
	}
	*text_p = text;
	return CHOIR_SUCCESS;
}

choir_status rules_read(const char *given, struct rules *out)
{
	const char *path = given != NULL && given[0] == '@' ? given + 1 : NULL;
	choir_status st;
	char *text = NULL;
	FILE *file;

	if (path == NULL)
		return rules_parse(given, out);
	file = fopen(path, "re");
	if (file == NULL)
		return error_set(CHOIR_ARGUMENT, "rules: %s cannot be read: %s", path, strerror(errno));
	st = read_all(file, path, &text);
	fclose(file);
	if (st != CHOIR_SUCCESS)
		return st;
	st = rules_parse(text, out);
	free(text);
	return st == CHOIR_SUCCESS ? st : error_prefix(st, "%s", path);
}

uint64_t rules_hash(const struct rules *rules)
{
	uint64_t hash = 0;

	for (size_t i = 0; i < rules->n; i++) {
		const struct rule *rule = &rules->list[i];
		const uint64_t limits[] = { (uint64_t)rule->algorithm->collective,
			                    rule->low,
			                    rule->high,
			                    (uint64_t)rule->nodes_low,
			                    (uint64_t)rule->nodes_high,
			                    (uint64_t)rule->ranks_low,
			                    (uint64_t)rule->ranks_high };

		hash = XXH64(limits, sizeof limits, hash);
		hash = XXH64(rule->algorithm->name, strlen(rule->algorithm->name), hash);
	}
	return hash;
}
