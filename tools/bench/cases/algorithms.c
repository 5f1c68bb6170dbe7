/* SPDX-License-Identifier: MIT */
#include "algorithms.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_of(const json_t *row, const struct collective_row *what)
{
	const char *collective = json_string_value(json_object_get(row, "collective"));

	return collective != NULL && strcmp(collective, what->asks != NULL ? what->asks : what->name) == 0;
}

static int find(const struct algorithms *all, const char *name, size_t length)
{
	for (int i = 0; i < all->n; i++)
		if (strlen(all->name[i]) == length && memcmp(all->name[i], name, length) == 0)
			return i;
	return -1;
}

/* Those of the list, in its order. */
static bool pick(const struct collective_row *what, const char *wanted, struct algorithms *all)
{
	struct algorithms picked = { .n = 0 };

	for (const char *at = wanted; at != NULL; at = strchr(at, ',') == NULL ? NULL : strchr(at, ',') + 1) {
		size_t length = strcspn(at, ",");
		int i = find(all, at, length);

		if (i < 0)
			fprintf(stderr, "choir-bench: %s has no algorithm %.*s\n", what->name, (int)length, at);
		if (i < 0)
			return false;
		if (find(&picked, at, length) < 0)
			memcpy(picked.name[picked.n++], all->name[i], ALGORITHMS_NAME_BYTES);
	}
	*all = picked;
	return true;
}

bool algorithms_of(choir_comm *comm, const struct collective_row *what, const char *wanted, struct algorithms *out)
{
	char *text = NULL;
	choir_status st = choir_comm_json(comm, &text);
	json_t *info = st == CHOIR_SUCCESS ? json_loads(text, 0, NULL) : NULL, *row;
	const json_t *list = json_object_get(info, "algorithms");
	size_t i;

	free(text);
	out->n = 0;
	json_array_foreach(list, i, row) if (is_of(row, what) && out->n < ALGORITHMS_MAX)
	    snprintf(out->name[out->n++], ALGORITHMS_NAME_BYTES, "%s", json_string_value(json_object_get(row, "name")));
	if (!json_is_array(list))
		fprintf(stderr, "choir-bench: the library does not tell its algorithms: %s\n", choir_last_error());
	st = json_is_array(list) ? CHOIR_SUCCESS : CHOIR_UNSUPPORTED;
	json_decref(info);
	if (st != CHOIR_SUCCESS || wanted == NULL || strcmp(wanted, "all") == 0)
		return st == CHOIR_SUCCESS;
	return pick(what, wanted, out);
}
