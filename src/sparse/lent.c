/* SPDX-License-Identifier: MIT */
/* Design notes.  The process has one list of loans, under the node room's lock, which is held across fork: a child
 * finds it whole, and no number in it.  A reader may come for as long as its own call lasts, and fail before it comes.
 * So a loan that its owner has given counts who reads, and awaits the loans of the other ranks: each is given at the
 * end of its rank's call, however that ends.  The memory is freed outside the lock. */
#include "sparse/lent.h"

#include "node/shared.h"

#include <stdlib.h>

struct lent_list {
	struct lent_list *next;
	uint64_t number;
	struct scratch ind, rows;
	choir_device *device; /* whose they are, a reference: another rank may free them after the owner's last call */
	int reading, n_awaited;
	bool owned;
	uint64_t awaited[]; /* numbers of loans that are owned */
};

static struct lent_list *loans;
static uint64_t last_number;

/* Under the lock: takes all that are over from the list. */
static struct lent_list *take_over(void)
{
	struct lent_list *over = NULL;

	for (struct lent_list **at = &loans; *at != NULL;) {
		struct lent_list *list = *at;

		if (list->owned || list->n_awaited > 0 || list->reading > 0) {
			at = &list->next;
			continue;
		}
		*at = list->next;
		list->next = over;
		over = list;
	}
	return over;
}

static void free_all(struct lent_list *over)
{
	for (struct lent_list *next; over != NULL; over = next) {
		next = over->next;
		scratch_give(&over->ind);
		scratch_give(&over->rows);
		choir_device_destroy(over->device);
		free(over);
	}
}

static struct lent_list *find(uint64_t number)
{
	struct lent_list *list = loans;

	while (list != NULL && list->number != number)
		list = list->next;
	return list;
}

choir_status lent_create(struct scratch *ind, struct scratch *rows, int others, struct lent_list **out_p)
{
	size_t bytes = sizeof(struct lent_list) + (size_t)others * sizeof(uint64_t);
	struct lent_list *list = calloc(1, bytes);

	if (list == NULL)
		return error_no_memory("a list that the ranks share", bytes);
	list->ind = *ind;
	list->rows = *rows;
	list->owned = true;
	list->device = ind->device != NULL ? dev_retain(ind->device) : NULL;
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
	struct lent_list **at = &loans;

	shared_lock();
	while (*at != list)
		at = &(*at)->next;
	*at = list->next;
	shared_unlock();
	*ind = list->ind;
	*rows = list->rows;
	choir_device_destroy(list->device);
	free(list);
}

void lent_await(struct lent_list *list, uint64_t number)
{
	const struct lent_list *other;

	shared_lock();
	other = find(number);
	if (other != NULL && other->owned)
		list->awaited[list->n_awaited++] = number;
	shared_unlock();
}

/* No loan awaits that number any more. */
static void await_no_more(uint64_t number)
{
	for (struct lent_list *list = loans; list != NULL; list = list->next)
		for (int i = 0; i < list->n_awaited; i++)
			if (list->awaited[i] == number)
				list->awaited[i--] = list->awaited[--list->n_awaited];
}

void lent_give(struct lent_list *list, bool all_know)
{
	struct lent_list *over;

	if (list == NULL)
		return;
	shared_lock();
	list->owned = false;
	await_no_more(list->number);
	if (!all_know) {
		list->n_awaited = 0;
		list->number = 0;
	}
	over = take_over();
	shared_unlock();
	free_all(over);
}

choir_status lent_open(uint64_t number, struct lent_list **out_p)
{
	struct lent_list *list;

	shared_lock();
	list = find(number);
	if (list != NULL)
		list->reading++;
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
	struct lent_list *over;

	if (list == NULL)
		return;
	shared_lock();
	list->reading--;
	over = take_over();
	shared_unlock();
	free_all(over);
}
