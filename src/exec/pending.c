/* SPDX-License-Identifier: MIT */
#include "exec/pending.h"

#include "exec/comm_list.h"
#include "exec/engine.h"

/* Of any comm that shares the messenger. */
static bool has_work(struct choir_comm *comm)
{
	return engine_has_work(comm) || (comm->messenger != NULL && messenger_busy(comm->messenger));
}

/* Were commands of the comm's device under way when it was last driven? */
static bool device_works(const struct choir_comm *comm)
{
	return !engine_idle(comm) && atomic_load_explicit(&comm->engine.device_works, memory_order_relaxed);
}

/* Note [wait policy] in base/wait.h. */
void pending_note_device(struct wait_for *why, const struct choir_comm *comm)
{
	if (!device_works(comm))
		return;
	why->rings |= dev_has_quick_callbacks(comm->device);
	why->device |= !dev_has_quick_callbacks(comm->device);
	why->shares |= dev_is_cpu(comm->device);
}

bool pending_any(void)
{
	bool left = engine_jobs_are_passed_on();

	for (struct choir_comm *comm = comm_list_next_busy(NULL); comm != NULL; comm = comm_list_next_busy(comm))
		left |= has_work(comm);
	return left;
}

bool pending_why(struct wait_for *why)
{
	bool left = engine_jobs_are_passed_on();

	comm_list_lock();
	for (struct choir_comm *comm = comm_list_next_busy(NULL); comm != NULL; comm = comm_list_next_busy(comm)) {
		bool here = has_work(comm);

		left |= here;
		why->polled |= here && comm->messenger != NULL && messenger_polled(comm->messenger);
		why->crowded |= comm->crowded;
		pending_note_device(why, comm);
	}
	comm_list_unlock();
	return left;
}

bool pending_polled(void)
{
	bool polled = false;

	comm_list_lock();
	for (struct choir_comm *comm = comm_list_next_busy(NULL); comm != NULL && !polled;
	     comm = comm_list_next_busy(comm))
		polled = comm->messenger != NULL && messenger_polled(comm->messenger) && has_work(comm);
	comm_list_unlock();
	return polled;
}

int64_t pending_process(void)
{
	struct choir_comm *busy = NULL;
	int64_t process = BELL_ANY;
	bool several = false;

	comm_list_lock();
	for (struct choir_comm *comm = comm_list_next_busy(NULL); comm != NULL && !several;
	     comm = comm_list_next_busy(comm))
		if (!engine_idle(comm)) {
			several = busy != NULL;
			busy = comm;
		}
	if (busy != NULL && !several)
		process = engine_awaited(busy);
	comm_list_unlock();
	return process;
}

bool pending_ring_at_ends(void)
{
	struct choir_comm *comm = NULL;
	bool all = true;

	while ((comm = comm_list_next(comm, COMM_LIST_BUSY)) != NULL)
		if (device_works(comm))
			all &= dev_has_quick_callbacks(comm->device) && engine_ring_at_ends(comm);
	return all;
}
