/* SPDX-License-Identifier: MIT */
#include "sparse/world.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

struct message {
	struct message *next;
	int from, to;
	uint32_t tag;
	uint64_t len;
	unsigned char bytes[];
};

/* One round: the plans of all ranks. */
struct play {
	struct world *world;
	struct world_rank *ranks;
	struct message *messages;
	unsigned char **slots, **scratch;
	uint32_t *at, *phase; /* next step, last phase published */
};

void world_init(struct world *world, int n, int n_nodes, choir_device *device)
{
	int *node_of, *local_rank_of, *node_size, *node_first, *node_ranks, k = 0;

	memset(world, 0, sizeof *world);
	world->numbers = calloc((size_t)(3 * n + 2 * n_nodes + 1), sizeof(int));
	node_of = world->numbers;
	local_rank_of = node_of + n;
	node_ranks = local_rank_of + n;
	node_size = node_ranks + n;
	node_first = node_size + n_nodes;
	for (int node = 0; node < n_nodes; node++) {
		node_first[node] = k;
		for (int r = node; r < n; r += n_nodes) {
			node_of[r] = node;
			local_rank_of[r] = node_size[node]++;
			node_ranks[k++] = r;
		}
	}
	node_first[n_nodes] = k;
	world->layout = (struct layout){ .n = n,
		                         .n_nodes = n_nodes,
		                         .node_of = node_of,
		                         .local_rank_of = local_rank_of,
		                         .node_size = node_size,
		                         .node_first = node_first,
		                         .node_ranks = node_ranks,
		                         .min_node_size = n / n_nodes,
		                         .max_node_size = (n + n_nodes - 1) / n_nodes };
	world->n = n;
	world->device = world->other_device = device;
	world->slot_bytes = 64 * 128; /* small: several rounds through a slot */
	while (world->slot_bytes % (64 * (uint64_t)world->layout.max_node_size) != 0)
		world->slot_bytes += 64;
}

void world_fini(struct world *world)
{
	free(world->numbers);
}

/* The bytes that a reference names, which must lie inside their buffer. */
static unsigned char *locate(struct play *play, int rank, struct plan_ref ref, uint64_t len)
{
	const struct script_turn *turn = &play->ranks[rank].turn;
	uint64_t bytes = 0;
	unsigned char *base = NULL;

	switch (ref.buf) {
	case PLAN_SEND:
		base = turn->send.ptr, bytes = turn->send.bytes;
		break;
	case PLAN_RECV:
		base = turn->recv.ptr, bytes = turn->recv.bytes;
		break;
	case PLAN_SCRATCH:
		base = play->scratch[rank], bytes = turn->plan->scratch_bytes;
		break;
	case PLAN_SLOT:
		assert_int_equal(play->world->layout.node_of[rank], play->world->layout.node_of[ref.peer]);
		base = play->slots[ref.peer], bytes = play->world->slot_bytes;
		break;
	case PLAN_PEER_SEND:
	case PLAN_PEER_RECV:
		fail_msg("a script's plans leave peers' buffers alone");
	}
	assert_true(len <= bytes && ref.off <= bytes - len);
	return base + ref.off;
}

static void post(struct play *play, int rank, const struct plan_step *step)
{
	const struct plan *plan = play->ranks[rank].turn.plan;
	struct message **last = &play->messages, *message = malloc(sizeof *message + step->len);

	*message = (struct message){ .from = rank, .to = step->peer, .tag = step->tag, .len = step->len };
	if (step->len > 0)
		memcpy(message->bytes, locate(play, rank, plan->refs[step->src_first], step->len), step->len);
	while (*last != NULL)
		last = &(*last)->next;
	*last = message;
}

static bool receive(struct play *play, int rank, const struct plan_step *step)
{
	for (struct message **m = &play->messages; *m != NULL; m = &(*m)->next) {
		struct message *found = *m;

		if (found->from != step->peer || found->to != rank || found->tag != step->tag)
			continue;
		assert_int_equal(found->len, step->len);
		if (step->len > 0)
			memcpy(locate(play, rank, step->dst, step->len), found->bytes, step->len);
		*m = found->next;
		free(found);
		return true;
	}
	return false;
}

static bool published(const struct play *play, int rank, const struct plan_step *step)
{
	const struct layout *layout = &play->world->layout;
	int node = layout->node_of[rank];

	if (step->peer != PLAN_ALL)
		return play->phase[step->peer] >= step->tag;
	for (int i = layout->node_first[node]; i < layout->node_first[node + 1]; i++)
		if (play->phase[layout->node_ranks[i]] < step->tag)
			return false;
	return true;
}

/* True if the rank's next step could be done. */
static bool advance(struct play *play, int rank)
{
	const struct plan *plan = play->ranks[rank].turn.plan;
	const struct plan_step *step = &plan->steps[play->at[rank]];

	switch (step->kind) {
	case PLAN_COPY:
		if (step->len > 0)
			memmove(locate(play, rank, step->dst, step->len),
			        locate(play, rank, plan->refs[step->src_first], step->len), step->len);
		break;
	case PLAN_REDUCE:
		fail_msg("a sparse script asks for a reduction");
		break;
	case PLAN_SEND_MSG:
		post(play, rank, step);
		break;
	case PLAN_RECV_MSG:
		if (!receive(play, rank, step))
			return false;
		break;
	case PLAN_PUBLISH:
		play->phase[rank] = step->tag;
		break;
	case PLAN_AWAIT:
		if (!published(play, rank, step))
			return false;
		break;
	}
	play->at[rank]++;
	return true;
}

static void run_plans(struct world *world, struct world_rank *ranks)
{
	size_t n = (unsigned)world->n;
	struct play play = { .world = world,
		             .ranks = ranks,
		             .slots = calloc(n, sizeof(void *)),
		             .scratch = calloc(n, sizeof(void *)),
		             .at = calloc(n, sizeof(uint32_t)),
		             .phase = calloc(n, sizeof(uint32_t)) };
	bool moved = true;

	for (int r = 0; r < world->n; r++) {
		play.slots[r] = malloc(world->slot_bytes);
		play.scratch[r] = malloc(ranks[r].turn.plan->scratch_bytes + 1);
	}
	while (moved) {
		moved = false;
		for (int r = 0; r < world->n; r++)
			while (play.at[r] < ranks[r].turn.plan->n_steps && advance(&play, r))
				moved = true;
	}
	for (int r = 0; r < world->n; r++) {
		if (play.at[r] < ranks[r].turn.plan->n_steps)
			fail_msg("rank %d of %d waits for ever at step %u of %s", r, world->n, play.at[r],
			         ranks[r].turn.plan->algorithm);
		free(play.slots[r]);
		free(play.scratch[r]);
	}
	assert_null(play.messages);
	free(play.slots);
	free(play.scratch);
	free(play.at);
	free(play.phase);
}

/* --- what a script waits for: commands that ring --- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t rung = PTHREAD_COND_INITIALIZER;
static bool has_rung;

static void ring(void *ctx)
{
	(void)ctx;
	pthread_mutex_lock(&lock);
	has_rung = true;
	pthread_cond_signal(&rung);
	pthread_mutex_unlock(&lock);
}

/* A driver need not call back for every end, so for a millisecond at the most. */
static void wait_for_ring(void)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += 1000000;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	pthread_mutex_lock(&lock);
	while (!has_rung && pthread_cond_timedwait(&rung, &lock, &until) == 0)
		;
	has_rung = false;
	pthread_mutex_unlock(&lock);
}

/* Asks one rank until it wants a plan or is over. */
static void ask(struct world_rank *rank)
{
	while (!rank->over) {
		rank->status = rank->ops->next(rank->state, &rank->turn);
		if (rank->status != CHOIR_SUCCESS || rank->turn.what == SCRIPT_DONE) {
			rank->over = true;
			rank->failure_is_local = rank->turn.failure_is_local;
			if (rank->status != CHOIR_SUCCESS)
				snprintf(rank->error, sizeof rank->error, "%s", error_text());
			return;
		}
		if (rank->turn.what == SCRIPT_PLAN)
			return;
		if (rank->turn.what == SCRIPT_CALLBACK || rank->turn.what == SCRIPT_WORK)
			rank->turn.job(rank->state);
		else
			wait_for_ring();
	}
}

void world_run(struct world *world, struct world_rank *ranks)
{
	int over = 0;

	for (int r = 0; r < world->n; r++) {
		struct script_env env = { .layout = &world->layout,
			                  .me = r,
			                  .device = r % 2 == 0 ? world->device : world->other_device,
			                  .slot_bytes = world->slot_bytes,
			                  .message_bytes = 1 << 20,
			                  .wake = ring,
			                  .choice_memory = world->memories != NULL ? &world->memories[r] : NULL,
			                  .costs = world->costs != NULL ? &world->costs[r] : NULL };

		if (world->nt != NULL)
			env.nt = world->nt[r];
		ranks[r].over = false;
		ranks[r].result = NULL;
		ranks[r].error[0] = '\0';
		assert_int_equal(sparse_create(&env, &ranks[r].call, &ranks[r].ops, &ranks[r].state), CHOIR_SUCCESS);
	}
	for (;;) {
		over = 0;
		for (int r = 0; r < world->n; r++) {
			ask(&ranks[r]);
			over += ranks[r].over;
		}
		if (over > 0)
			break;
		run_plans(world, ranks);
	}
	assert_int_equal(over, world->n); /* all take the same turns */
	for (int r = 0; r < world->n; r++) {
		ranks[r].algorithm = sparse_algorithm(ranks[r].state);
		if (ranks[r].status == CHOIR_CAPACITY)
			ranks[r].result = sparse_take_result(ranks[r].state);
		ranks[r].ops->destroy(ranks[r].state);
	}
}
