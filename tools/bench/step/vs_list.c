/* SPDX-License-Identifier: MIT */
#include "vs_list.h"

#include <stdlib.h>

struct vs_list {
	struct contender base;
	int n;
	struct contender *each[]; /* [n] */
};

static int once(struct contender *self)
{
	struct vs_list *list = (struct vs_list *)self;
	int status = EXIT_FINE;

	for (int i = 0; i < list->n && status == EXIT_FINE; i++)
		status = list->each[i]->once(list->each[i]);
	return status;
}

static int fill(struct contender *self)
{
	struct vs_list *list = (struct vs_list *)self;
	int status = EXIT_FINE;

	for (int i = 0; i < list->n && status == EXIT_FINE; i++)
		status = list->each[i]->fill(list->each[i]);
	return status;
}

static int verify(struct contender *self, uint64_t *wrong_p)
{
	struct vs_list *list = (struct vs_list *)self;
	int status = EXIT_FINE;

	*wrong_p = 0;
	for (int i = 0; i < list->n && status == EXIT_FINE; i++) {
		uint64_t wrong = 0;

		status = list->each[i]->verify(list->each[i], &wrong);
		*wrong_p += wrong;
	}
	return status;
}

static void close_list(struct contender *self)
{
	struct vs_list *list = (struct vs_list *)self;

	for (int i = 0; i < list->n; i++)
		list->each[i]->close(list->each[i]);
	free(list);
}

struct contender *vs_list_open(const struct vs_way *way, const struct replay *replay, const char **why_not)
{
	struct vs_list *list = calloc(1, sizeof *list + (size_t)replay->n * sizeof *list->each);

	if (list == NULL)
		world_fail(replay->world, EXIT_WRONG);
	list->base = (struct contender){
		.name = way->name, .calls = 1, .once = once, .fill = fill, .verify = verify, .close = close_list
	};
	for (; list->n < replay->n; list->n++) {
		list->each[list->n] = vs_open_one(way, &replay->items[list->n].job, why_not);
		if (list->each[list->n] != NULL)
			continue;
		close_list(&list->base);
		return NULL;
	}
	return &list->base;
}
