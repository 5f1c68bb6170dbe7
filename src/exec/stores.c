/* SPDX-License-Identifier: MIT */
#include "exec/stores.h"

#include "exec/progress.h"
#include "exec/run.h"

enum { FIRST_CYCLE = 8, LONGEST_CYCLE = 512, TRIALS = 3, WINDOW = 8, FIRST_WINDOW = 6 };

/* The other way must be that much faster; longer than that times the usual is a change. */
static const float worth = 0.9f, changed = 1.5f;

/* What a plan writes for peers: into slots as a collective of that kind does, or into their buffers. */
static int kind_of(const struct run *run)
{
	static const unsigned char kinds[N_COLLECTIVES] = {
		[COLLECTIVE_REDUCE_SCATTER] = 1, [COLLECTIVE_REDUCE_SCATTERV] = 1, [COLLECTIVE_ALLGATHER] = 2, [COLLECTIVE_ALLGATHERV] = 2,
		[COLLECTIVE_BROADCAST] = 2,      [COLLECTIVE_ALLTOALL] = 3,        [COLLECTIVE_ALLTOALLV] = 3,
	};

	if (run->plan->peers)
		return STORES_KINDS - 1;
	return run->script == NULL && (size_t)run->bound.record.collective < N_COLLECTIVES ? kinds[run->bound.record.collective] : 2;
}

static uint64_t bytes_of(const struct run *run)
{
	uint64_t most = 0;

	if (run->script == NULL)
		return run->bound.in.bytes;
	for (uint32_t i = 0; i < run->plan->n_steps; i++)
		most = run->plan->steps[i].len > most ? run->plan->steps[i].len : most;
	return most;
}

int stores_size(uint64_t bytes, int n_sizes)
{
	int size = 0;

	for (uint64_t most = 2 * STORES_BYTES; bytes >= most && size < n_sizes - 1; most *= 2)
		size++;
	return size;
}

static void begin_window(struct stores_entry *entry)
{
	entry->least[0] = entry->least[1] = 0.0f;
	entry->looked = 0;
}

static void begin_trial(struct stores_entry *entry)
{
	entry->tries = true;
	entry->left = TRIALS;
}

static void end_trial(struct stores_entry *entry)
{
	float mine = entry->least[entry->past], other = entry->least[!entry->past];
	bool better = other > 0.0f && other < worth * mine;

	entry->cycle = better || entry->cycle == 0 ? FIRST_CYCLE : entry->cycle < LONGEST_CYCLE ? 2 * entry->cycle : LONGEST_CYCLE;
	entry->past = entry->past != better;
	entry->usual = entry->least[entry->past];
	entry->tries = false;
	entry->left = entry->cycle;
	begin_window(entry);
}

static bool is_change(const struct stores_entry *entry)
{
	return entry->usual > 0.0f && entry->least[entry->past] > changed * entry->usual;
}

bool stores_learn(struct stores_entry *entry, bool past, uint64_t bytes, int64_t ns)
{
	float time = (float)ns / (float)bytes, *least = &entry->least[past];

	if (past != (entry->past != entry->tries))
		return !past;
	*least = *least == 0.0f || time < *least ? time : *least;
	if (entry->left > 0)
		entry->left--;
	if (entry->tries) {
		if (entry->left == 0)
			end_trial(entry);
	} else if (++entry->looked >= (entry->usual > 0.0f ? WINDOW : FIRST_WINDOW)) {
		if (is_change(entry) || entry->left == 0)
			begin_trial(entry);
		else
			begin_window(entry);
	}
	return entry->past != entry->tries;
}

struct stores_way stores_way_of(struct choir_comm *comm)
{
	if (comm->node_size == 1)
		return (struct stores_way){ .past = NULL };
	return (struct stores_way){ .past = &comm_control(comm, 0)->past, .entries = comm->place == 0 ? comm->engine.stores.entries : NULL };
}

bool stores_is_past(const struct stores_way *way, int entry)
{
	return way->past == NULL || (atomic_load_explicit(way->past, memory_order_relaxed) >> entry & 1) != 0;
}

void stores_took(const struct stores_way *way, int entry, bool past, uint64_t bytes, int64_t ns)
{
	if (way->past != NULL && way->entries != NULL && stores_learn(&way->entries[entry], past, bytes, ns) != stores_is_past(way, entry))
		atomic_fetch_xor_explicit(way->past, UINT64_C(1) << entry, memory_order_relaxed);
}

void stores_begin(struct run *run)
{
	struct choir_comm *comm = run->comm;
	struct stores_way way;
	uint64_t bytes;

	run->past = false;
	run->stores_entry = -1;
	if (comm->node_size == 1 || run->bound.pair || run->in_line)
		return;
	bytes = bytes_of(run);
	if (bytes < STORES_BYTES)
		return;
	run->stores_entry = kind_of(run) * STORES_SIZES + stores_size(bytes, STORES_SIZES);
	way = stores_way_of(comm);
	run->past = stores_is_past(&way, run->stores_entry);
	run->stores_bytes = bytes;
	if (comm->place == 0)
		run->stores_ns = progress_now_ns();
}

void stores_end(struct run *run)
{
	struct stores_way way;

	if (run->stores_entry < 0 || run->comm->place != 0)
		return;
	way = stores_way_of(run->comm);
	stores_took(&way, run->stores_entry, run->past, run->stores_bytes, progress_now_ns() - run->stores_ns);
}
