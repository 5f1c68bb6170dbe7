/* SPDX-License-Identifier: MIT */
/* Three passes over the words: number them as they come (a hash table), sort the numbers by frequency, renumber the
 * tokens. */
#include "text.h"
#include "wordnet.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

struct entry {
	char *word;
	size_t length;
	int64_t count;
	int32_t id; /* in order of appearance, then in order of frequency */
};

/* Open addressing, linear probing, at most half full; slots hold number of entry + 1. */
struct table {
	struct entry *entries;
	size_t n, room;
	int32_t *slots;
	size_t n_slots; /* a power of two */
};

static int is_letter(unsigned char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c > 127;
}

static int32_t *slot_of(const struct table *table, const char *word, size_t length)
{
	size_t mask = table->n_slots - 1;

	for (size_t i = XXH64(word, length, 0) & mask;; i = (i + 1) & mask) {
		const struct entry *entry;

		if (!table->slots[i])
			return table->slots + i;
		entry = table->entries + table->slots[i] - 1;
		if (entry->length == length && !memcmp(entry->word, word, length))
			return table->slots + i;
	}
}

static choir_status grow(struct table *table)
{
	size_t room = table->room ? 2 * table->room : 1024;
	struct entry *entries = realloc(table->entries, room * sizeof *entries);
	int32_t *slots;

	if (!entries)
		return fail_memory("the vocabulary", room * sizeof *entries);
	table->entries = entries;
	slots = calloc(2 * room, sizeof *slots);
	if (!slots)
		return fail_memory("the vocabulary", 2 * room * sizeof *slots);
	free(table->slots);
	table->slots = slots;
	table->n_slots = 2 * room;
	table->room = room;
	for (size_t i = 0; i < table->n; i++)
		*slot_of(table, entries[i].word, entries[i].length) = (int32_t)i + 1;
	return CHOIR_SUCCESS;
}

static choir_status number(struct table *table, char *word, size_t length, int32_t *id_p)
{
	int32_t *slot;

	if (table->n == table->room)
		TRY(grow(table));
	slot = slot_of(table, word, length);
	if (!*slot) {
		table->entries[table->n] = (struct entry){ .word = word, .length = length, .id = (int32_t)table->n };
		*slot = (int32_t)++table->n;
	}
	table->entries[*slot - 1].count++;
	*id_p = *slot; /* 0 is the boundary */
	return CHOIR_SUCCESS;
}

/* Lower-cases text->letters in place, ends every word by a 0 and writes the tokens, numbered by appearance.  A boundary
 * never follows another; there is room for one token per byte, and two. */
static choir_status scan(struct text *text, size_t n_bytes, struct table *table)
{
	char *byte = text->letters, *end = byte + n_bytes;

	text->tokens[text->n_tokens++] = TEXT_BOUNDARY;
	while (byte < end) {
		char *word = byte;
		int line_ends;

		while (byte < end && is_letter((unsigned char)*byte)) {
			if (*byte >= 'A' && *byte <= 'Z')
				*byte = (char)(*byte - 'A' + 'a');
			byte++;
		}
		line_ends = byte == end || *byte == '\n';
		if (byte > word)
			TRY(number(table, word, (size_t)(byte - word), &text->tokens[text->n_tokens++]));
		if (line_ends && text->tokens[text->n_tokens - 1] != TEXT_BOUNDARY)
			text->tokens[text->n_tokens++] = TEXT_BOUNDARY;
		*byte++ = 0;
	}
	return CHOIR_SUCCESS;
}

static int by_count(const void *left, const void *right)
{
	const struct entry *a = left, *b = right;

	if (a->count != b->count)
		return a->count > b->count ? -1 : 1;
	return strcmp(a->word, b->word);
}

/* Sorts the entries and renumbers the tokens: the most frequent word becomes 1. */
static choir_status renumber(struct text *text, struct table *table)
{
	int32_t *new_id = malloc((table->n + 1) * sizeof *new_id);

	text->n_words = table->n + 1;
	text->words = calloc(text->n_words, sizeof *text->words);
	text->counts = calloc(text->n_words, sizeof *text->counts);
	if (!new_id || !text->words || !text->counts) {
		free(new_id);
		return fail_memory("the vocabulary", text->n_words * 20);
	}
	qsort(table->entries, table->n, sizeof *table->entries, by_count);
	new_id[0] = TEXT_BOUNDARY;
	text->words[0] = "</s>";
	for (size_t i = 0; i < table->n; i++) {
		new_id[table->entries[i].id + 1] = (int32_t)i + 1;
		text->words[i + 1] = table->entries[i].word;
		text->counts[i + 1] = table->entries[i].count;
	}
	for (size_t i = 0; i < text->n_tokens; i++) {
		text->tokens[i] = new_id[text->tokens[i]];
		text->counts[0] += text->tokens[i] == TEXT_BOUNDARY;
	}
	free(new_id);
	return CHOIR_SUCCESS;
}

/* Takes over bytes, which have room for a 0 at the end. */
static choir_status parse(char *bytes, size_t n_bytes, struct text *out)
{
	struct text text = { .letters = bytes };
	struct table table = { 0 };
	choir_status st;

	text.tokens = malloc((n_bytes + 2) * sizeof *text.tokens);
	st = text.tokens ? scan(&text, n_bytes, &table) : fail_memory("the text", n_bytes * sizeof *text.tokens);
	if (st == CHOIR_SUCCESS && !table.n)
		st = failure(CHOIR_ARGUMENT, "the text has no words");
	if (st == CHOIR_SUCCESS)
		st = renumber(&text, &table);
	free(table.entries);
	free(table.slots);
	if (st != CHOIR_SUCCESS)
		text_free(&text);
	else
		*out = text;
	return st;
}

choir_status text_parse(const char *bytes, size_t n_bytes, struct text *out)
{
	char *copy = malloc(n_bytes + 1);

	if (!copy)
		return fail_memory("the text", n_bytes);
	memcpy(copy, bytes, n_bytes);
	copy[n_bytes] = 0;
	return parse(copy, n_bytes, out);
}

choir_status text_read(const char *path, struct text *out)
{
	const char *folder = getenv("WNSEARCHDIR");
	char *bytes;
	size_t n;

	if (path)
		TRY(file_read(path, &bytes, &n));
	else
		TRY(wordnet_read(folder ? folder : "/usr/share/wordnet", &bytes, &n));
	return parse(bytes, n, out);
}

void text_free(struct text *text)
{
	free(text->tokens);
	free(text->words);
	free(text->counts);
	free(text->letters);
	*text = (struct text){ 0 };
}
