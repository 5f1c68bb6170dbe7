/* SPDX-License-Identifier: MIT */
/* Design notes.  All here runs under the engine's right to drive, so each end of a ring is one thread at a time
 * (base/ring.h).
 *
 * Note [rings rotate].  A store to a line that the other core still has in its own cache waits until that core gives
 * the line up.  A ring longer than such a cache comes back to a line only after the line has left it: then plain
 * stores are as fast as to private memory, and the bytes stay in the cache that both cores share.  Where the cores
 * share no cache plain stores stay slow.  So the receiver, which knows how long both copies took, learns from the first
 * piece of each message which stores are faster, and tells the sender (Note [nt stores] in base/nt.h).
 *
 * Note [both at once].  Where nt stores are faster, a piece goes to memory and its peer's comes from there, and a core
 * that does one after the other waits for each.  So while a long sendrecv puts a piece, it copies out the one that lies
 * there already; the step that takes that one then only frees it. */
#include "exec/p2p.h"

#include "base/copy.h"
#include "base/wait.h"
#include "exec/operand.h"
#include "exec/record.h"

#include <string.h>

enum { BOTH_BYTES = 512 * 1024 }; /* shorter calls, of a few pieces, gain nothing */

static struct ring *ring_between(struct choir_comm *comm, int from, int to)
{
	const struct layout *layout = &comm->layout;

	if (layout->node_of[from] != layout->node_of[to])
		return NULL;
	return arena_ring(comm->arena, layout->local_rank_of[from], layout->local_rank_of[to]);
}

/* Mine to the peer, allocated by the first message; NULL: there is none. */
static struct ring *ring_to(struct choir_comm *comm, int peer)
{
	const struct layout *layout = &comm->layout;
	struct ring *ring = ring_between(comm, comm->rank, peer);
	bool *none = &comm->engine.arena.no_rings;

	if (ring != NULL || *none || !arena_has_rings(comm->arena) || !comm_is_near(comm, peer))
		return ring;
	*none = arena_take_ring(comm->arena, comm->local_rank, layout->local_rank_of[peer]) != CHOIR_SUCCESS;
	return ring_between(comm, comm->rank, peer);
}

/* A call that may become a script stays with the transport: its plan may be given up half way, and nobody would take
 * the messages of that out of a ring. */
static bool uses_rings(const struct run *run)
{
	return run->bound.pair || (!run_is_script(run) && run->bound.become_script == NULL);
}

static uint64_t hash_of(struct run *run)
{
	if (run->bound.record_hash == 0)
		run->bound.record_hash = record_hash(&run->bound.record);
	return run->bound.record_hash;
}

static bool is_short(const struct plan_step *step)
{
	return step->len <= RING_SHORT_BYTES;
}

static uint32_t ns_since(int64_t start)
{
	int64_t ns = wait_now_ns() - start;

	return ns < UINT32_MAX ? (uint32_t)ns : UINT32_MAX;
}

static bool is_far(const struct choir_comm *comm, int peer)
{
	return (comm->far_ranks >> comm->layout.local_rank_of[peer] & 1) != 0; /* rings have no more ranks than bits */
}

static bool too_long_for_cache(const struct run *run)
{
	return run->bound.in.bytes >= run->comm->cache_bytes / 4;
}

/* Pieces of long messages come from memory and go there, whatever shorter ones do that are as long as a piece. */
static int entry_of(const struct run *run, const struct plan_step *step)
{
	return run->bound.in.bytes >= BOTH_BYTES ? NT_P2P_SIZES - 1 : nt_size(step->len, NT_P2P_SIZES - 1);
}

/* Tells the learner how long both copies of a piece took. */
static void learn(struct run *run, struct ring *ring, const struct plan_step *step, const struct ring_item *item,
                  int64_t take_ns)
{
	struct choir_comm *comm = run->comm;
	struct nt_entry *entries = comm->engine.nt.p2p[comm->layout.local_rank_of[step->peer]];
	struct nt_choice choice = { .bits = &ring->nt, .entries = entries, .far = is_far(comm, step->peer) };

	nt_took(&choice, entry_of(run, step), item->nt, step->len, (int64_t)item->put_ns + take_ns);
}

/* With the first message, since the ring's bytes are new to this process one page after the other. */
static void map_ring(struct choir_comm *comm, int peer)
{
	int local_rank = comm->layout.local_rank_of[peer];
	uint64_t bit = UINT64_C(1) << local_rank, *mapped = &comm->engine.arena.rings_mapped;

	if ((*mapped & bit) != 0)
		return;
	*mapped |= bit;
	arena_map_ring(comm->arena, local_rank, comm->local_rank);
}

/* A piece that lies in a ring, and the step of mine that takes it. */
struct piece {
	struct run *run;
	const struct plan_step *step;
	struct ring *ring;
	const struct ring_item *item;
	uint64_t number;
};

/* The recv of the sendrecv that this send is of, if its pieces may be copied to where they go; NULL: there is none. Its
 * deps are those of the send, so they are done. */
static struct run *recv_beside(const struct run *send)
{
	struct run *recv = send->is_inline ? send->comm->engine.inline_runs[INLINE_RECV] : send->next;

	if (recv == NULL || !recv->bound.pair || recv->bound.pair_sends || recv->prepared == NULL ||
	    recv->prepared != send->prepared || (!send->is_inline && recv->event != send->event))
		return NULL;
	return run_is_active(recv) && recv->bound.recv.direct && !recv->bound.lists ? recv : NULL;
}

static bool is_copied(const struct ring *ring, uint64_t number)
{
	return (ring->copied >> number % RING_ITEMS & 1) != 0;
}

/* Its step for that tag.  Steps are done in order, and that one is soon. */
static const struct plan_step *step_that_takes(const struct run *recv, uint32_t tag)
{
	const struct plan *plan = &recv->bound.cached->plan;

	for (uint32_t i = recv->state == RUN_STEPS ? recv->board.n_done : 0; i < plan->n_steps; i++)
		if (plan->steps[i].kind == PLAN_RECV_MSG && plan->steps[i].tag == tag)
			return &plan->steps[i];
	return NULL;
}

/* The oldest piece that has not been copied out, if it is one of the recv's, and of that length. */
static bool find_piece(struct run *recv, uint64_t len, struct piece *piece)
{
	struct ring *ring = ring_between(recv->comm, recv->bound.pair_peer, recv->comm->rank);
	uint64_t number = ring != NULL ? ring_first(ring) : 0;
	const struct ring_item *item;
	uint32_t tag;

	if (ring == NULL)
		return false;
	for (uint64_t end = number + RING_ITEMS; number < end; number++)
		if (!ring_freed_early(ring, number) && !is_copied(ring, number))
			break;
	item = ring_peek(ring, number, &tag);
	if (item == NULL || item->key[0] != recv->number || item->key[1] != hash_of(recv))
		return false;
	map_ring(recv->comm, recv->bound.pair_peer);
	*piece = (struct piece){ recv, step_that_takes(recv, tag), ring, item, number };
	return piece->step != NULL && piece->step->len == len && piece->step->dst.buf == PLAN_RECV;
}

static void put_and_take(struct ring *ring, struct ring_item *item, const void *src, const struct piece *in)
{
	int64_t start = wait_now_ns();

	copy_host_both(ring_at(ring, item), src, operand_at(in->run, in->step->dst), ring_at(in->ring, in->item),
	               in->step->len, too_long_for_cache(in->run));
	item->put_ns = ns_since(start) / 2;
	in->ring->copied |= UINT64_C(1) << in->number % RING_ITEMS;
	if (in->step->tag == 0)
		learn(in->run, in->ring, in->step, in->item, item->put_ns);
}

static void put_long(struct run *run, struct ring *ring, struct ring_item *item, const struct plan_step *step,
                     const void *src)
{
	bool far = is_far(run->comm, step->peer);
	struct run *recv;
	struct piece in;
	int64_t start;

	if (step->len < NT_LEAST_BYTES) {
		memcpy(ring_at(ring, item), src, step->len);
		return;
	}
	item->nt = nt_choose(&(struct nt_choice){ .bits = &ring->nt, .far = far }, entry_of(run, step));
	recv = item->nt && run->bound.in.bytes >= BOTH_BYTES ? recv_beside(run) : NULL;
	if (recv != NULL && find_piece(recv, step->len, &in)) {
		put_and_take(ring, item, src, &in);
		return;
	}
	start = wait_now_ns();
	copy_host(ring_at(ring, item), src, step->len, item->nt);
	item->put_ns = ns_since(start);
}

bool p2p_put(struct run *run, const struct plan_step *step)
{
	struct ring *ring = uses_rings(run) ? ring_to(run->comm, step->peer) : NULL;
	struct ring_item *item;
	const void *src;

	if (ring == NULL || step->len > ARENA_ITEM_BYTES)
		return false;
	item = ring_reserve(ring, arena_ring_bytes(run->comm->arena), is_short(step) ? 0 : step->len);
	if (item == NULL)
		return false;
	src = step->len > 0 ? operand_at(run, run->plan->refs[step->src_first]) : NULL;
	if (!is_short(step))
		put_long(run, ring, item, step, src);
	else if (step->len > 0)
		memcpy(item->bytes, src, step->len);
	item->key[0] = run->number;
	item->key[1] = hash_of(run);
	if (memcmp(item->record, &run->bound.record, sizeof run->bound.record) != 0)
		memcpy(item->record, &run->bound.record, sizeof run->bound.record);
	ring_publish(ring, step->tag);
	comm_wake_step(run->comm);
	return true;
}

bool p2p_put_soon(struct run *run, const struct plan_step *step)
{
	struct ring *ring = ring_to(run->comm, step->peer);
	int rounds = wait_inline_rounds(WAIT_STATES, run->comm->crowded);

	if (p2p_put(run, step))
		return true;
	if (ring == NULL || ring->in_vain == ring->seen + 1)
		return false;
	for (int i = 0; wait_inline_goes_on(i, rounds); i++) {
		if (p2p_put(run, step))
			return true;
		wait_spin();
	}
	ring->in_vain = ring->seen + 1;
	return false;
}

/* The item that is this piece of this message, and its number; NULL if it is not in the ring. */
static const struct ring_item *find(const struct ring *ring, const struct run *run, uint32_t tag, uint64_t *number_p)
{
	uint64_t first = ring_first(ring);
	const struct ring_item *item;
	uint32_t its_tag;

	for (uint64_t i = first; i < first + RING_ITEMS; i++) {
		item = ring_peek(ring, i, &its_tag);
		if (item == NULL)
			return NULL;
		*number_p = i;
		if (its_tag == tag && item->key[0] == run->number && !ring_freed_early(ring, i))
			return item;
	}
	return NULL;
}

static void take_long(struct run *run, struct ring *ring, const struct plan_step *step, const struct ring_item *item)
{
	bool learns = step->len >= NT_LEAST_BYTES && step->tag == 0;
	int64_t start = learns ? wait_now_ns() : 0;

	copy_host(operand_at(run, step->dst), ring_at(ring, item), step->len,
	          too_long_for_cache(run) && step->dst.buf == PLAN_RECV);
	if (learns)
		learn(run, ring, step, item, ns_since(start));
}

choir_status p2p_take(struct run *run, const struct plan_step *step, bool *done)
{
	struct ring *ring = ring_between(run->comm, step->peer, run->comm->rank);
	const struct ring_item *item;
	struct call_record theirs;
	uint64_t number;

	if (ring == NULL || !uses_rings(run))
		return CHOIR_SUCCESS;
	item = find(ring, run, step->tag, &number);
	if (item == NULL)
		return CHOIR_SUCCESS;
	map_ring(run->comm, step->peer);
	if (item->key[1] != hash_of(run)) {
		memcpy(&theirs, item->record, sizeof theirs);
		return run_mismatch(run, step->peer, &theirs);
	}
	if (is_copied(ring, number))
		ring->copied &= ~(UINT64_C(1) << number % RING_ITEMS);
	else if (!is_short(step))
		take_long(run, ring, step, item);
	else if (step->len > 0)
		memcpy(operand_at(run, step->dst), item->bytes, step->len);
	ring_free(ring, number);
	run->records_compared |= run->comm->node_size == 2;
	*done = true;
	return CHOIR_SUCCESS;
}

bool p2p_other_tag(const struct run *run, uint32_t *tag_p)
{
	const struct ring *ring = ring_between(run->comm, run->bound.pair_peer, run->comm->rank);
	const struct ring_item *item;
	uint32_t piece;

	if (ring == NULL)
		return false;
	for (uint64_t i = ring_first(ring); (item = ring_peek(ring, i, &piece)) != NULL; i++)
		if (!ring_freed_early(ring, i) && (item->key[0] & WIRE_PAIR) != 0 &&
		    tagged_tag(item->key[0]) != tagged_tag(run->number)) {
			*tag_p = tagged_tag(item->key[0]);
			return true;
		}
	return false;
}
