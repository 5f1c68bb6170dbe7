/* SPDX-License-Identifier: MIT */
#include "exec/call_key.h"

#include <stdlib.h>
#include <string.h>

static size_t text_bytes(const char *text)
{
	return text != NULL ? strlen(text) + 1 : 0;
}

choir_status call_key_copy(const struct call_key *from, int n, struct call_key *to, void **room_p)
{
	size_t bytes = (size_t)n * sizeof *from->lists[0], text = text_bytes(from->options), total = text;
	unsigned char *at;

	*to = *from;
	for (int i = 0; i < KEY_LISTS; i++)
		total += from->lists[i] != NULL ? bytes : 0;
	if (total == 0)
		return CHOIR_SUCCESS;
	*room_p = at = malloc(total);
	if (at == NULL)
		return error_no_memory("a call's arguments", total);
	for (int i = 0; i < KEY_LISTS; i++) {
		if (from->lists[i] == NULL)
			continue;
		to->lists[i] = memcpy(at, from->lists[i], bytes);
		at += bytes;
	}
	if (text > 0)
		to->options = memcpy(at, from->options, text);
	return CHOIR_SUCCESS;
}

static bool same_list(const size_t *a, const size_t *b, int n)
{
	if (a == NULL || b == NULL)
		return a == b;
	for (int rank = 0; rank < n; rank++)
		if (a[rank] != b[rank])
			return false;
	return true;
}

bool call_key_same_lists(const struct call_key *a, const struct call_key *b, int n)
{
	if (a->lists[0] == NULL && b->lists[0] == NULL) /* nor the others */
		return true;
	for (int i = 0; i < KEY_LISTS; i++)
		if (!same_list(a->lists[i], b->lists[i], n))
			return false;
	return true;
}

static bool same_tensors(const choir_tensor *a, const choir_tensor *b, size_t n)
{
	if (a == NULL || b == NULL)
		return a == b;
	for (size_t i = 0; i < n; i++)
		if (a[i].count != b[i].count || a[i].dtype != b[i].dtype ||
		    !call_key_same_buffer(&a[i].send, &b[i].send) || !call_key_same_buffer(&a[i].recv, &b[i].recv))
			return false;
	return true;
}

static bool same_text(const char *a, const char *b)
{
	return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

bool call_key_same_contents(const struct call_key *a, const struct call_key *b, int n)
{
	return same_text(a->options, b->options) && call_key_same_lists(a, b, n) &&
	       same_tensors(a->tensors, b->tensors, a->count);
}
