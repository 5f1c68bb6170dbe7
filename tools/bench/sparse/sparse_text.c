/* SPDX-License-Identifier: MIT */
/* Words are told apart by their 64-bit hash alone: of some 10^5 different ones no two share it. */
#include "sparse_ids.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { PATH_BYTES = 4096 };

struct entry {
	uint64_t hash, count;
	uint32_t first; /* in the order of first appearance */
};

/* Open addressing; the words so far by their place in order of appearance. */
struct vocabulary {
	struct entry *entry; /* [room], hash 0 = free */
	size_t room, n;
	struct sparse_text *text;
	size_t text_room;
};

static struct entry *slot_of(struct entry *entry, size_t room, uint64_t hash)
{
	size_t at = hash & (room - 1);

	while (entry[at].hash != 0 && entry[at].hash != hash)
		at = (at + 1) & (room - 1);
	return &entry[at];
}

static bool grow(struct vocabulary *words)
{
	size_t room = words->room == 0 ? 1 << 12 : 2 * words->room;
	struct entry *entry = calloc(room, sizeof *entry);

	if (entry == NULL)
		return false;
	for (size_t i = 0; i < words->room; i++)
		if (words->entry[i].hash != 0)
			*slot_of(entry, room, words->entry[i].hash) = words->entry[i];
	free(words->entry);
	words->entry = entry;
	words->room = room;
	return true;
}

static bool add(struct vocabulary *words, uint64_t hash)
{
	struct sparse_text *text = words->text;
	struct entry *entry;

	if (2 * words->n >= words->room && !grow(words))
		return false;
	if (text->n == words->text_room) {
		size_t room = 2 * words->text_room + 4096;
		uint32_t *larger = realloc(text->word, room * sizeof *larger);

		if (larger == NULL)
			return false;
		text->word = larger;
		words->text_room = room;
	}
	entry = slot_of(words->entry, words->room, hash);
	if (entry->hash == 0)
		*entry = (struct entry){ .hash = hash, .first = (uint32_t)words->n++ };
	entry->count++;
	text->word[text->n++] = entry->first;
	return true;
}

/* A line of WordNet's data files holds what is wanted behind its " | ". */
static bool add_line(struct vocabulary *words, const char *line, bool is_wordnet)
{
	const char *at = is_wordnet ? strstr(line, " | ") : line;
	uint64_t hash = 0;

	for (; at != NULL; at++) {
		if (isalpha((unsigned char)*at)) {
			hash = (hash ^ (uint64_t)tolower((unsigned char)*at)) * 0x9e3779b97f4a7c15u + 1;
			hash ^= hash >> 29;
			continue;
		}
		if (hash != 0 && !add(words, hash))
			return false;
		hash = 0;
		if (*at == '\0')
			break;
	}
	return true;
}

static bool add_file(struct vocabulary *words, const char *path, bool is_wordnet)
{
	FILE *file = fopen(path, "r");
	char *line = NULL;
	size_t room = 0;
	bool fine = file != NULL;

	while (fine && getline(&line, &room, file) >= 0)
		fine = add_line(words, line, is_wordnet);
	if (file != NULL)
		fclose(file);
	free(line);
	return fine;
}

static bool add_path(struct vocabulary *words, const char *path)
{
	static const char *const parts[] = { "adj", "adv", "noun", "verb" };
	char part[PATH_BYTES];
	struct stat status;

	if (stat(path, &status) != 0)
		return false;
	if (!S_ISDIR(status.st_mode))
		return add_file(words, path, false);
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
		snprintf(part, sizeof part, "%s/data.%s", path, parts[i]);
		if (!add_file(words, part, true))
			return false;
	}
	return true;
}

static int more_frequent(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	return (x->first > y->first) - (x->first < y->first);
}

/* From the order of appearance to that of frequency. */
static bool renumber(struct vocabulary *words)
{
	uint32_t *number = malloc((words->n + 1) * sizeof *number);

	if (number == NULL)
		return false;
	qsort(words->entry, words->room, sizeof *words->entry, more_frequent); /* the free ones go last */
	for (size_t i = 0; i < words->n; i++)
		number[words->entry[i].first] = (uint32_t)i;
	for (size_t i = 0; i < words->text->n; i++)
		words->text->word[i] = number[words->text->word[i]];
	words->text->distinct = words->n;
	free(number);
	return true;
}

bool sparse_text_read(const char *path, struct sparse_text *out)
{
	struct vocabulary words = { .text = out };
	bool fine;

	errno = 0;
	*out = (struct sparse_text){ 0 };
	fine = add_path(&words, path) && renumber(&words) && out->n > 0;
	free(words.entry);
	if (!fine)
		sparse_text_fini(out);
	return fine;
}

void sparse_text_fini(struct sparse_text *text)
{
	free(text->word);
	*text = (struct sparse_text){ 0 };
}
