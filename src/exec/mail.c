/* SPDX-License-Identifier: MIT */
/* Design notes.  An item is one cache line with its flag, and bytes in the ring if they do not fit beside it.  Sender and receiver each write lines of their own, and look
 * at the other's count once in a round of the items.  All here happens under the engine's drive lock, so each end of a pair is one thread at a time.
 *
 * Note [rings rotate].  A store to a line that the other core holds in its own cache waits until that has let go of it, 2 to 6 GB/s.  A ring that is longer than such a
 * cache comes back to a line only after the line has left it: then plain stores are as fast as to memory of one's own, and the bytes stay in the cache that both
 * share.  Measured with a bare loop, both ways at once: 16 KB in 1.6 us with 2 MB or more, 1.7 with 1 MB, 3.2 with 256 KB; with 4 MB the callers' data begin to leave the shared cache.
 * Where the cores share no cache, which may change from second to second on a virtual machine, plain stores stay slow and so do the loads behind them (1 MB both ways in 450
 * us, 100 past the cache).  So the receiver, which sees what both copies took, learns what is faster of what this sender sends, by the first pieces of messages, and says so
 * (Note [past the cache] in exec/stores.h). */
#include "exec/mail.h"

#include "base/copy.h"
#include "exec/progress.h"
#include "exec/steps.h"

#include <string.h>

enum { LINE_BYTES = 64 };

static struct arena_mail *mail_between(struct choir_comm *comm, int from, int to)
{
	const struct layout *layout = &comm->layout;

	return layout->node_of[from] == layout->node_of[to] ? arena_mail(comm->arena, layout->place_of[from], layout->place_of[to]) : NULL;
}

static uint64_t number_of(const struct run *run)
{
	return run->key & ~WIRE_PAIR;
}

static uint64_t hash_of(struct run *run)
{
	if (run->bound.record_hash == 0)
		run->bound.record_hash = record_hash(&run->bound.record);
	return run->bound.record_hash;
}

static unsigned char *ring_of(struct arena_mail *mail)
{
	return (unsigned char *)(mail + 1);
}

/* Is there an item free, and len bytes of the ring?  *at_p: where these begin. */
static bool has_room(const struct arena_mail *mail, uint64_t ring_bytes, uint64_t len, uint64_t *at_p)
{
	uint64_t freed = mail->seen > 0 ? mail->ends[(mail->seen - 1) % ARENA_ITEMS] : 0, to_end = ring_bytes - mail->at % ring_bytes;

	*at_p = len > to_end ? mail->at + to_end : mail->at;
	return mail->put == mail->seen || (mail->put - mail->seen < ARENA_ITEMS && *at_p + len - freed <= ring_bytes);
}

static bool make_room(struct arena_mail *mail, uint64_t ring_bytes, uint64_t len, uint64_t *at_p)
{
	if (has_room(mail, ring_bytes, len, at_p))
		return true;
	mail->seen = atomic_load_explicit(&mail->taken, memory_order_acquire);
	return has_room(mail, ring_bytes, len, at_p);
}

static uint64_t in_ring(uint64_t len)
{
	return len <= ARENA_ITEM_LINE_BYTES ? 0 : (len + LINE_BYTES - 1) / LINE_BYTES * LINE_BYTES;
}

static uint32_t ns_since(int64_t start)
{
	int64_t ns = progress_now_ns() - start;

	return ns < UINT32_MAX ? (uint32_t)ns : UINT32_MAX;
}

/* Past the cache where the message and all that goes with it do not fit. */
static bool streams(const struct run *run)
{
	return run->bound.in.bytes >= run->comm->cache_bytes / 4;
}

/* Both copies of a piece took so long. */
static void learn(struct run *run, const struct plan_step *step, const struct arena_item *item, int64_t take_ns)
{
	struct arena_mail *mail = mail_between(run->comm, step->peer, run->comm->rank);
	struct stores_way way = { .past = &mail->past, .entries = run->comm->engine.stores.mail[run->comm->layout.place_of[step->peer]] };

	stores_took(&way, stores_size(step->len, STORES_MAIL_SIZES), item->past, step->len, (int64_t)item->put_ns + take_ns);
}

static bool learns(const struct plan_step *step)
{
	return step->len >= STORES_BYTES && step->tag == 0;
}

static void put_bytes(struct arena_mail *mail, struct arena_item *item, void *dst, const void *src, uint64_t len)
{
	int64_t start;

	if (len < STORES_BYTES) {
		memcpy(dst, src, len);
		return;
	}
	item->past = stores_is_past(&(struct stores_way){ .past = &mail->past }, stores_size(len, STORES_MAIL_SIZES));
	start = progress_now_ns();
	copy_host(dst, src, len, item->past);
	item->put_ns = ns_since(start);
}

bool mail_put(struct run *run, const struct plan_step *step)
{
	struct arena_mail *mail = mail_between(run->comm, run->comm->rank, step->peer);
	uint64_t ring_bytes, room = in_ring(step->len), at;
	struct arena_item *item;

	if (mail == NULL || step->len > ARENA_ITEM_BYTES)
		return false;
	ring_bytes = arena_ring_bytes(run->comm->arena);
	if (!make_room(mail, ring_bytes, room, &at))
		return false;
	item = &mail->items[mail->put % ARENA_ITEMS];
	if (step->len > 0)
		put_bytes(mail, item, room > 0 ? ring_of(mail) + at % ring_bytes : item->bytes, steps_host(run, run->plan->refs[step->src_first]), step->len);
	if (room > 0)
		item->at = at % ring_bytes;
	item->message = number_of(run);
	if (memcmp(item->record, &run->bound.record, sizeof run->bound.record) != 0)
		memcpy(item->record, &run->bound.record, sizeof run->bound.record);
	item->call = hash_of(run);
	mail->at = mail->ends[mail->put % ARENA_ITEMS] = at + room;
	mail->put++;
	atomic_store_explicit(&item->flag, ARENA_FLAG(mail->put, step->tag), memory_order_release);
	comm_ring_node(run->comm);
	return true;
}

/* The number of the item, or false. */
static bool find(const struct arena_mail *mail, const struct run *run, uint32_t tag, uint64_t *item_p)
{
	uint64_t taken = atomic_load_explicit(&mail->taken, memory_order_relaxed); /* mine */

	for (uint64_t i = taken; i < taken + ARENA_ITEMS; i++) {
		const struct arena_item *item = &mail->items[i % ARENA_ITEMS];
		uint64_t flag = atomic_load_explicit(&item->flag, memory_order_acquire);

		if (flag >> 24 != (i + 1) << 24 >> 24)
			return false;
		*item_p = i;
		if ((flag & ARENA_DONE) == tag && item->message == number_of(run) && (mail->early >> i % ARENA_ITEMS & 1) == 0)
			return true;
	}
	return false;
}

/* All that were taken without a gap are free again. */
static void free_items(struct arena_mail *mail, uint64_t item)
{
	uint64_t taken = atomic_load_explicit(&mail->taken, memory_order_relaxed);

	if (item != taken) {
		mail->early |= UINT64_C(1) << item % ARENA_ITEMS;
		return;
	}
	for (taken++; (mail->early >> taken % ARENA_ITEMS & 1) != 0; taken++)
		mail->early &= ~(UINT64_C(1) << taken % ARENA_ITEMS);
	atomic_store_explicit(&mail->taken, taken, memory_order_release);
}

static void take_bytes(struct run *run, struct arena_mail *mail, const struct plan_step *step, const struct arena_item *item)
{
	const void *src = in_ring(step->len) > 0 ? ring_of(mail) + item->at : item->bytes;
	void *dst = steps_host(run, step->dst);
	int64_t start = learns(step) ? progress_now_ns() : 0;

	copy_host(dst, src, step->len, streams(run));
	if (learns(step))
		learn(run, step, item, ns_since(start));
}

choir_status mail_take(struct run *run, const struct plan_step *step, bool *done)
{
	struct arena_mail *mail = mail_between(run->comm, step->peer, run->comm->rank);
	const struct arena_item *item;
	struct call_record theirs;
	uint64_t number;

	if (mail == NULL || !find(mail, run, step->tag, &number))
		return CHOIR_SUCCESS;
	item = &mail->items[number % ARENA_ITEMS];
	if (item->call != hash_of(run)) {
		memcpy(&theirs, item->record, sizeof theirs);
		return run_mismatch(run, step->peer, &theirs);
	}
	if (step->len > 0)
		take_bytes(run, mail, step, item);
	free_items(mail, number);
	*done = true;
	return CHOIR_SUCCESS;
}
