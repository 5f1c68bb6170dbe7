/* SPDX-License-Identifier: MIT */
#include "exec/mail.h"

#include "base/copy.h"
#include "exec/steps.h"

#include <string.h>

enum { STREAM_BYTES = 4096 };

static struct arena_mail *mail_between(struct choir_comm *comm, int from, int to)
{
	const struct layout *layout = &comm->layout;

	return layout->node_of[from] == layout->node_of[to] ? arena_mail(comm->arena, layout->place_of[from], layout->place_of[to]) : NULL;
}

static uint64_t number_of(const struct run *run)
{
	return run->key & ~WIRE_PAIR;
}

/* Has the receiver what was put there last? */
static bool is_free(struct arena_mail *mail, uint64_t at)
{
	uint64_t last = atomic_load_explicit(&mail->boxes[at].flag, memory_order_relaxed); /* mine */

	if (mail->seen[at] == last)
		return true;
	for (int i = 0; i < ARENA_BOXES; i++)
		mail->seen[i] = atomic_load_explicit(&mail->taken[i], memory_order_acquire);
	return mail->seen[at] == last;
}

static unsigned char *room(struct arena_box *box, uint64_t bytes)
{
	return bytes <= sizeof box->bytes ? box->bytes : box->more;
}

bool mail_put(struct run *run, const struct plan_step *step)
{
	struct arena_mail *mail = mail_between(run->comm, run->comm->rank, step->peer);
	uint64_t number = number_of(run);
	struct arena_box *box;

	if (mail == NULL || step->len > ARENA_BOX_BYTES || step->len != run->in.bytes || !is_free(mail, number % ARENA_BOXES))
		return false;
	box = &mail->boxes[number % ARENA_BOXES];
	if (step->len >= STREAM_BYTES)
		copy_host(box->more, steps_host(run, run->plan->refs[step->src_first]), step->len, true);
	else
		memcpy(room(box, step->len), steps_host(run, run->plan->refs[step->src_first]), step->len);
	if (memcmp(box->record, &run->record, sizeof run->record) != 0)
		memcpy(box->record, &run->record, sizeof run->record);
	box->call = record_hash(&run->record);
	atomic_store_explicit(&box->flag, number + 1, memory_order_release);
	comm_ring_node(run->comm);
	return true;
}

choir_status mail_take(struct run *run, const struct plan_step *step, bool *done)
{
	struct arena_mail *mail = mail_between(run->comm, step->peer, run->comm->rank);
	uint64_t number = number_of(run);
	struct call_record theirs;
	struct arena_box *box;

	if (mail == NULL || atomic_load_explicit(&mail->boxes[number % ARENA_BOXES].flag, memory_order_acquire) != number + 1)
		return CHOIR_SUCCESS;
	box = &mail->boxes[number % ARENA_BOXES];
	if (box->call != record_hash(&run->record)) {
		memcpy(&theirs, box->record, sizeof theirs);
		return run_mismatch(run, step->peer, &theirs);
	}
	memcpy(steps_host(run, step->dst), room(box, step->len), step->len);
	atomic_store_explicit(&mail->taken[number % ARENA_BOXES], number + 1, memory_order_release);
	*done = true;
	return CHOIR_SUCCESS;
}
