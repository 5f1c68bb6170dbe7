/* SPDX-License-Identifier: MIT */
/* Design notes.  The process has one list of loans, under the node room's lock, which is held across fork: a child
 * finds it whole, and no number in it.  A loan counts the readers that have not opened it yet and those that read.  Its
 * memory is freed, outside the lock, when the owner has given it and nobody reads or will.  A reader whose call fails
 * before it opens a loan leaves the memory in use for good, as in share.c. */
#include "sparse/lent.h"

#include "node/shared.h"

#include <stdlib.h>

struct lent_list {
	struct lent_list *next;
	uint64_t number;
	struct scratch ind, rows;
	int to_come, reading;
	bool owned;
};

static struct lent_list *loans;
static uint64_t last_number = LENT_NOTHING;

static void unlist(struct lent_list *list)
{
	struct lent_list **at = &loans;

	while (*at != list)
		at = &(*at)->next;
	*at = list->next;
}

/* Under the lock: is the caller to free it? */
static bool is_over(struct lent_list *list)
{
	bool over = !list->owned && list->to_come == 0 && list->reading == 0;

	if (over)
		unlist(list);
	return over;
}

static void free_list(struct lent_list *list)
{
	scratch_give(&list->ind);
	scratch_give(&list->rows);
	free(list);
}

choir_status lent_create(struct scratch *ind, struct scratch *rows, int readers, struct lent_list **out_p)
{
	struct lent_list *list = calloc(1, sizeof *list);

	if (list == NULL)
		return error_no_memory("a list that the ranks share", sizeof *list);
	*list = (struct lent_list){ .ind = *ind, .rows = *rows, .to_come = readers, .owned = true };
	*ind = *rows = (struct scratch){ 0 };
	shared_lock();
	list->number = ++last_number;
	list->next = loans;
	loans = list;
	shared_unlock();
	*out_p = list;
	return CHOIR_SUCCESS;
}

uint64_t lent_number(const struct lent_list *list)
{
	return list->number;
}

void lent_withdraw(struct lent_list *list, struct scratch *ind, struct scratch *rows)
{
	shared_lock();
	unlist(list);
	shared_unlock();
	*ind = list->ind;
	*rows = list->rows;
	free(list);
}

void lent_give(struct lent_list *list, bool all_open)
{
	bool over;

	if (list == NULL)
		return;
	shared_lock();
	list->owned = false;
	if (!all_open) {
		list->to_come = 0;
		list->number = 0;
	}
	over = is_over(list);
	shared_unlock();
	if (over)
		free_list(list);
}

choir_status lent_open(uint64_t number, struct lent_list **out_p)
{
	struct lent_list *list;

	shared_lock();
	for (list = loans; list != NULL && list->number != number;)
		list = list->next;
	if (list != NULL) {
		list->to_come--;
		list->reading++;
	}
	shared_unlock();
	if (list == NULL)
		return error_set(CHOIR_TRANSPORT, "its call has failed, and its pairs cannot be read");
	*out_p = list;
	return CHOIR_SUCCESS;
}

cl_mem lent_ind(const struct lent_list *list)
{
	return list->ind.mem;
}

cl_mem lent_rows(const struct lent_list *list)
{
	return list->rows.mem;
}

void lent_close(struct lent_list *list)
{
	bool over;

	if (list == NULL)
		return;
	shared_lock();
	list->reading--;
	over = is_over(list);
	shared_unlock();
	if (over)
		free_list(list);
}
