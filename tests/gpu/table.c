/* SPDX-License-Identifier: MIT */
#include "model.h"

#include <stdlib.h>

struct table_entry {
	struct table_entry *next;
	const void *key;
	void *value;
};

static struct table_entry **link_to(struct table *table, const void *key)
{
	uint64_t hash = (uint64_t)(uintptr_t)key * 0x9e3779b97f4a7c15u;
	struct table_entry **link = &table->buckets[hash >> 54];

	while (*link != NULL && (*link)->key != key)
		link = &(*link)->next;
	return link;
}

void *table_find(const struct table *table, const void *key)
{
	struct table_entry *entry = *link_to((struct table *)table, key);

	return entry != NULL ? entry->value : NULL;
}

void table_add(struct table *table, const void *key, void *value)
{
	struct table_entry **link = link_to(table, key), *entry = *link;

	if (entry == NULL) {
		entry = calloc(1, sizeof *entry);
		if (entry == NULL)
			abort();
		entry->key = key;
		*link = entry;
	}
	entry->value = value;
}

void table_remove(struct table *table, const void *key)
{
	struct table_entry **link = link_to(table, key), *entry = *link;

	if (entry == NULL)
		return;
	*link = entry->next;
	free(entry);
}
