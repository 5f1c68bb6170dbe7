/* SPDX-License-Identifier: MIT */
/* Which commands are ordered: vector clocks, one component a queue.
 *
 * A command comes after what the host had seen to be over when it enqueued it, after the commands before it in its
 * queue, and after its wait list.  The host sees an end by clWaitForEvents, clFinish, a blocking call or a callback;
 * clGetEventInfo alone is no synchronisation point.  Two commands that touch the same bytes, one of them writing, and
 * neither after the other, are a race, in whatever order this run did them. */
#include "model.h"

#include <stdlib.h>

struct access {
	struct access *next;
	uintptr_t from, to;
	bool writes;
	int slot;
	uint64_t index;
	const char *what;
};

struct clock host_clock;
static int n_slots;
static struct {
	bool taken;
	uint64_t index;
} slots[CLOCK_SLOTS];
static struct access *host_accesses;

void clock_join(struct clock *into, const struct clock *from)
{
	for (int i = 0; i < n_slots; i++)
		if (from->seen[i] > into->seen[i])
			into->seen[i] = from->seen[i];
}

int clock_slot_take(uint64_t *index_p)
{
	int slot = 0;

	while (slot < CLOCK_SLOTS - 1 && slots[slot].taken)
		slot++;
	slots[slot].taken = true; /* the last one is shared, when there are too many queues */
	n_slots = slot >= n_slots ? slot + 1 : n_slots;
	*index_p = slots[slot].index;
	return slot;
}

void clock_slot_give(int slot, uint64_t index)
{
	slots[slot].taken = false;
	if (index > slots[slot].index)
		slots[slot].index = index;
}

static struct access **accesses_of(struct memory *root)
{
	return root != NULL ? &root->accesses : &host_accesses;
}

static bool overlaps(const struct access *access, uintptr_t from, uintptr_t to)
{
	return access->from < to && from < access->to;
}

/* No command can be unordered with it any more: the host knows that it is over, and each command that has not started
 * was enqueued after that. */
static bool is_past(const struct access *access)
{
	if (host_clock.seen[access->slot] < access->index)
		return false;
	for (const struct queue *queue = queues; queue != NULL; queue = queue->next)
		for (const struct command *c = queue->head; c != NULL; c = c->next)
			if (c->event->clock.seen[access->slot] < access->index)
				return false;
	return true;
}

/* Drops what is past, and reports what is not ordered before the clock. */
static void compare(struct access **link, const struct touch *touch, const struct clock *clock, const char *what)
{
	while (*link != NULL) {
		struct access *access = *link;

		if (is_past(access)) {
			*link = access->next;
			free(access);
			continue;
		}
		if (overlaps(access, touch->from, touch->to) && (touch->writes || access->writes) &&
		    clock->seen[access->slot] < access->index)
			report("race",
			       "a %s and a %s touch the same %s without an order between them "
			       "(bytes %zu to %zu and %zu to %zu)",
			       what, access->what, touch->root != NULL ? "buffer" : "host memory", (size_t)touch->from,
			       (size_t)touch->to, (size_t)access->from, (size_t)access->to);
		link = &access->next;
	}
}

static void remember(const struct command *command, const struct touch *touch)
{
	struct access **list = accesses_of(touch->root), *access = malloc(sizeof *access);

	if (access == NULL)
		return;
	*access = (struct access){ *list,          touch->from,  touch->to, touch->writes, command->queue->slot,
		                   command->index, command->what };
	*list = access;
}

/* A map for writing belongs to the host until its unmap. */
static void compare_maps(const struct command *command, const struct touch *touch)
{
	if (touch->root == NULL || command->kind == DO_UNMAP || command->kind == DO_MAP)
		return;
	for (const struct mapping *m = touch->root->mappings; m != NULL; m = m->next)
		if (m->done && m->from < touch->to && touch->from < m->to && (m->writes || touch->writes))
			report("race", "a %s touches bytes %zu to %zu of a buffer while they are mapped%s",
			       command->what, (size_t)touch->from, (size_t)touch->to, m->writes ? " for writing" : "");
}

void order_start(struct command *command)
{
	struct clock *clock = &command->event->clock;

	clock_join(clock, &command->queue->clock);
	for (cl_uint i = 0; i < command->n_deps; i++)
		clock_join(clock, &command->deps[i]->clock);
	for (unsigned i = 0; i < command->n_touches; i++) {
		compare_maps(command, &command->touches[i]);
		compare(accesses_of(command->touches[i].root), &command->touches[i], clock, command->what);
	}
	clock->seen[command->queue->slot] = command->index;
	for (unsigned i = 0; i < command->n_touches; i++)
		remember(command, &command->touches[i]);
	command->queue->clock = *clock;
}

void order_freed(const char *what, struct memory *root, uintptr_t from, uintptr_t to)
{
	for (const struct access *access = *accesses_of(root); access != NULL; access = access->next)
		if (host_clock.seen[access->slot] < access->index && overlaps(access, from, to))
			report("freed", "%s goes away while a %s may still use it", what, access->what);
}

void order_forget(struct memory *root)
{
	while (root->accesses != NULL) {
		struct access *next = root->accesses->next;

		free(root->accesses);
		root->accesses = next;
	}
}
