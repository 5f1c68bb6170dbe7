/* SPDX-License-Identifier: MIT */
/* Note [what may change].  A key is equal if every argument is: addresses, handles, lengths, and the contents of lists.
 * Two things may change behind equal arguments, and both are counted where they happen: the memory that the ranks share
 * (comm_symmetric_changes), and a cl_mem that dies, whose handle may come back as another memory's (dev_deaths).  A
 * cl_mem that is retained cannot die.  The memory behind an SVM or USM pointer may change unseen, so a call with one is
 * prepared anew each time.  Calls of other ranks are compared as ever. */
#include "exec/prepared.h"

#include "base/user_op.h"
#include "exec/commit.h"
#include "exec/span_table.h"

#include <stdlib.h>

choir_status prepared_create(const struct choir_comm *comm, const struct call_key *key, size_t n_parts,
                             struct prepared **out_p)
{
	size_t bytes = sizeof(struct prepared) + n_parts * sizeof(struct part);
	struct prepared *prepared = calloc(1, bytes);
	choir_status st;

	if (prepared == NULL)
		return error_no_memory("a call", bytes);
	atomic_init(&prepared->refs, 1);
	prepared->n_parts = n_parts;
	prepared->reusable = prepared->reusable_if_retained = true;
	prepared->changes = comm_symmetric_changes(comm);
	prepared->deaths = dev_deaths();
	st = call_key_copy(key, comm->n, &prepared->key, &prepared->room);
	if (st != CHOIR_SUCCESS) {
		prepared_release(prepared);
		return st;
	}
	*out_p = prepared;
	return CHOIR_SUCCESS;
}

struct prepared *prepared_retain(struct prepared *prepared)
{
	if (prepared != NULL)
		atomic_fetch_add_explicit(&prepared->refs, 1, memory_order_relaxed);
	return prepared;
}

void prepared_release(struct prepared *prepared)
{
	if (prepared == NULL || atomic_fetch_sub_explicit(&prepared->refs, 1, memory_order_acq_rel) != 1)
		return;
	for (size_t i = 0; i < prepared->n_parts; i++) {
		cached_plan_release(prepared->parts[i].bound.cached);
		operand_table_free(prepared->parts[i].operands);
		span_table_free(prepared->parts[i].spans);
	}
	segments_release(prepared->owner);
	commit_release(prepared->commit);
	user_op_release(prepared->user);
	free(prepared->room);
	free(prepared);
}

bool prepared_is_valid(const struct choir_comm *comm, const struct prepared *prepared, bool retained)
{
	bool lasts = retained ? prepared->reusable_if_retained : prepared->reusable && prepared->deaths == dev_deaths();

	return lasts && prepared->changes == comm_symmetric_changes(comm);
}

/* A cl_mem with a direct pointer is watched already. */
bool prepared_lasts(choir_device *device, choir_buffer buffer, const struct dev_access *access)
{
	if (buffer.kind != CHOIR_BUFFER_MEM)
		return buffer.kind == CHOIR_BUFFER_HOST;
	return access->direct || dev_watch_death(device, buffer.base);
}

bool prepared_lasts_if_kept(choir_buffer buffer)
{
	return buffer.kind == CHOIR_BUFFER_HOST || buffer.kind == CHOIR_BUFFER_MEM;
}

static unsigned char *address_of(const choir_buffer *buffer)
{
	return (unsigned char *)buffer->base + buffer->offset_bytes;
}

/* Is the buffer host memory, or empty, as that of the call is?  Its address passes the checks of dev_range. */
static bool may_replace(const choir_buffer *buffer, const choir_buffer *old, const struct dev_access *access,
                        uint64_t elem_bytes)
{
	uintptr_t room = UINTPTR_MAX - (uintptr_t)buffer->base;

	if (buffer->kind != old->kind || !access->direct)
		return false;
	if (access->bytes == 0)
		return buffer->kind == CHOIR_BUFFER_HOST || buffer->kind == CHOIR_BUFFER_NONE;
	return buffer->kind == CHOIR_BUFFER_HOST && buffer->base != NULL && buffer->offset_bytes <= room &&
	       access->bytes <= room - buffer->offset_bytes && (uintptr_t)address_of(buffer) % elem_bytes == 0;
}

static bool lie_apart(const struct call_key *key, const struct bound *bound)
{
	uintptr_t send = (uintptr_t)address_of(&key->send), recv = (uintptr_t)address_of(&key->recv);

	return bound->send.bytes == 0 || bound->recv.bytes == 0 || send + bound->send.bytes <= recv ||
	       recv + bound->recv.bytes <= send;
}

/* Would the prepared call be the same with its buffers at other addresses? */
static bool may_move(const struct prepared *prepared)
{
	const struct bound *bound = &prepared->parts[0].bound;

	return prepared->n_parts == 1 && prepared->commit == NULL && call_key_is_flat(&prepared->key) &&
	       !bound->cached->plan.peers && !bound->in.in_place && bound->become_script == NULL;
}

bool prepared_serves(const struct choir_comm *comm, const struct prepared *prepared, const struct call_key *key)
{
	const struct bound *bound = &prepared->parts[0].bound;
	struct call_key moved = *key;

	moved.send = prepared->key.send;
	moved.recv = prepared->key.recv;
	return call_key_is_flat(key) && call_key_same(&prepared->key, &moved, comm->n) && may_move(prepared) &&
	       prepared_is_valid(comm, prepared, false) &&
	       may_replace(&key->send, &prepared->key.send, &bound->send, bound->in.elem_bytes) &&
	       may_replace(&key->recv, &prepared->key.recv, &bound->recv, bound->in.elem_bytes) &&
	       lie_apart(key, bound);
}

void prepared_move(struct run *run, const struct call_key *key)
{
	if (run->bound.send.bytes > 0)
		run->bound.send.ptr = address_of(&key->send);
	if (run->bound.recv.bytes > 0)
		run->bound.recv.ptr = address_of(&key->recv);
}

void prepared_unbind(struct run *run)
{
	prepared_release(run->prepared);
	cached_plan_release(run->other_plan);
	run->prepared = NULL;
	run->part = NULL;
	run->other_plan = NULL;
	run->plan = NULL;
}

void prepared_bind(struct run *run, struct prepared *prepared, struct part *part)
{
	prepared_retain(prepared); /* the run may hold the last one */
	prepared_unbind(run);
	run->bound = part->bound;
	run->prepared = prepared;
	run->part = part;
	run->plan = &part->bound.cached->plan;
	run->event->algorithm = run->plan->algorithm;
}
