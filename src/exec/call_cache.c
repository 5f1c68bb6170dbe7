/* SPDX-License-Identifier: MIT */
#include "exec/call_cache.h"

/* By what differs most from call to call. */
static struct prepared **entry_of(struct choir_comm *comm, const struct call_key *key)
{
	uint64_t h = (uintptr_t)key->form + 31 * ((uintptr_t)key->send.base + key->send.offset_bytes);

	h = 31 * h + (uintptr_t)key->recv.base + key->recv.offset_bytes;
	h = 31 * h + key->count + (uint64_t)key->peer + ((uint64_t)key->tag << 20);
	return &comm->engine.cache.prepared[(h * 0x9E3779B97F4A7C15u >> 32) % PREPARED_KEPT];
}

struct prepared *call_cache_find(struct choir_comm *comm, const struct call_key *key)
{
	struct prepared *prepared = *entry_of(comm, key);
	bool found = prepared != NULL && call_key_same(&prepared->key, key, comm->n) &&
	             prepared_is_valid(comm, prepared, false);

	return found ? prepared : NULL;
}

void call_cache_keep(struct choir_comm *comm, struct prepared *prepared)
{
	struct prepared **at = entry_of(comm, &prepared->key), *old = *at;

	*at = prepared_retain(prepared);
	prepared_release(old);
}

struct prepared *call_cache_like(struct choir_comm *comm, const struct call_key *key)
{
	for (int i = 0; i < PREPARED_KEPT; i++) {
		struct prepared *prepared = comm->engine.cache.prepared[i];

		if (prepared != NULL && prepared->key.form == key->form && prepared->key.dtype == key->dtype &&
		    call_key_same_lists(&prepared->key, key, comm->n))
			return prepared;
	}
	return NULL;
}

void call_cache_drop(struct choir_comm *comm)
{
	for (int i = 0; i < PREPARED_KEPT; i++) {
		prepared_release(comm->engine.cache.prepared[i]);
		comm->engine.cache.prepared[i] = NULL;
	}
}
