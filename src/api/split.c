/* SPDX-License-Identifier: MIT */
/* Design notes.  A split is an allgather of (color, key, driver) over the parent, then the same joining as for any
 * comm, color after color in ascending order.  The parties are the calls: all ranks that one split_local call drives
 * are one party, led by the lowest of them.  The parties of a color exchange their bytes by send and recv on the
 * parent, so ranks of other colors take no part; messages of the new comm go through the parent's pumps. */
#include "api/call.h"
#include "api/join.h"
#include "api/bootstrap.h"

#include <stdlib.h>
#include <string.h>

static const char call[] = "choir_comm_split";

struct claim {
	int32_t color, key, driver;
};

/* One split_local call. */
struct split {
	int n_local;
	choir_comm *const *comms;
	struct claim *claims;  /* [parent size] */
	/* the color at hand */
	int *members;          /* [parent size] parent ranks in the order of the new comm */
	int n_members;
	int *leaders;          /* [parent size] the parties' leading parent ranks, ascending */
	int n_parties, me;
	choir_comm *leader;    /* my party's */
};

static choir_status gather_claims(struct split *split, const int *colors, const int *keys)
{
	int n = split->comms[0]->n, driver = n;
	struct claim *mine = calloc((size_t)split->n_local, sizeof *mine),
		     *all = calloc((size_t)split->n_local * (size_t)n, sizeof *all);
	choir_status st = CHOIR_SUCCESS;

	for (int i = 0; i < split->n_local; i++)
		driver = split->comms[i]->rank < driver ? split->comms[i]->rank : driver;
	if (mine == NULL || all == NULL)
		st = error_no_memory("claims of a split", (size_t)n * sizeof *all);
	if (st == CHOIR_SUCCESS)
		st = choir_group_begin();
	for (int i = 0; i < split->n_local && st == CHOIR_SUCCESS; i++) {
		mine[i] = (struct claim){ colors[i] < 0 ? -1 : colors[i], keys[i], driver };
		st = choir_allgather(split->comms[i], choir_host(&mine[i]), choir_host(&all[i * n]), sizeof *mine / 4,
		                     CHOIR_I32, NULL, NULL);
	}
	if (group_is_open()) {
		choir_status ended = choir_group_end();

		st = st == CHOIR_SUCCESS ? ended : st;
	}
	if (st == CHOIR_SUCCESS)
		memcpy(split->claims, all, (size_t)n * sizeof *all);
	free(mine);
	free(all);
	return st;
}

/* Bytes of every process of the color, over the parent: in ceil(log2 n) rounds, each of which doubles what a process
 * has (Bruck 1997).  Block i is of the process i behind mine until the end. */
static choir_status exchange_rounds(const struct split *split, unsigned char *blocks, size_t bytes)
{
	int n = split->n_parties, me = split->me;

	for (int have = 1; have < n; have *= 2) {
		int more = have < n - have ? have : n - have, before = split->leaders[(me - have + n) % n],
		    behind = split->leaders[(me + have) % n];
		size_t some = (size_t)more * bytes;

		TRY(choir_sendrecv(split->leader, choir_host(blocks), some, before,
		                   choir_host(blocks + (size_t)have * bytes), some, behind, CHOIR_U8, NULL, NULL));
	}
	return CHOIR_SUCCESS;
}

/* The bootstrap's gather of a split returns a status. */
static int exchange(void *ctx, const void *mine, size_t bytes, void *all)
{
	const struct split *split = ctx;
	int n = split->n_parties;
	unsigned char *blocks = malloc((size_t)n * bytes);
	choir_status st;

	if (blocks == NULL)
		return error_no_memory("bytes of a split", (size_t)n * bytes);
	memcpy(blocks, mine, bytes);
	st = exchange_rounds(split, blocks, bytes);
	for (int i = 0; i < n; i++)
		memcpy((unsigned char *)all + (size_t)((split->me + i) % n) * bytes, blocks + (size_t)i * bytes, bytes);
	free(blocks);
	return (int)st;
}

static void order_members(struct split *split, int n, int color)
{
	split->n_members = 0;
	for (int r = 0; r < n; r++) {
		int at = split->n_members;

		if (split->claims[r].color != color)
			continue;
		for (; at > 0 && split->claims[split->members[at - 1]].key > split->claims[r].key; at--)
			split->members[at] = split->members[at - 1];
		split->members[at] = r;
		split->n_members++;
	}
}

/* A party of a color is led by the lowest of its ranks that has the color. */
static void find_parties(struct split *split, int n, int color, int my_driver)
{
	split->n_parties = 0;
	for (int r = 0; r < n; r++) {
		bool leads = split->claims[r].color == color;

		for (int before = 0; before < r && leads; before++)
			leads = split->claims[before].color != color ||
			        split->claims[before].driver != split->claims[r].driver;
		if (!leads)
			continue;
		if (split->claims[r].driver == my_driver)
			split->me = split->n_parties;
		split->leaders[split->n_parties++] = r;
	}
	for (int i = 0; i < split->n_local; i++)
		if (split->comms[i]->rank == split->leaders[split->me])
			split->leader = split->comms[i];
}

struct locals {
	choir_device **devices;
	struct pump **pumps;
	int *ranks, *endpoints, *index;
	choir_comm **made;
	int n;
};

static void take_locals(const struct split *split, int color, struct locals *locals)
{
	locals->n = 0;
	for (int m = 0; m < split->n_members; m++)
		for (int i = 0; i < split->n_local; i++) {
			choir_comm *comm = split->comms[i];

			if (comm->rank != split->members[m] || split->claims[comm->rank].color != color)
				continue;
			locals->devices[locals->n] = comm->device;
			locals->pumps[locals->n] = comm->pump;
			locals->ranks[locals->n] = m;
			locals->endpoints[locals->n] = comm->endpoint_of[comm->rank];
			locals->index[locals->n++] = i;
		}
}

static choir_status split_color(struct split *split, int color, int my_driver, struct locals *locals,
                                choir_comm **comms_out)
{
	choir_comm *parent = split->comms[0];
	choir_comm_config config = CHOIR_COMM_CONFIG_INIT;
	choir_bootstrap bootstrap = { sizeof bootstrap, 0, 0, exchange, split };
	struct join join = { .call = call, .bootstrap = &bootstrap, .config = &config };

	order_members(split, parent->n, color);
	find_parties(split, parent->n, color, my_driver);
	take_locals(split, color, locals);
	config.deadline_ms = parent->deadline_ms;
	config.warn_ms = parent->warn_ms;
	config.rules = parent->rules.text;
	config.name = parent->name;
	config.ranks_per_node = 0;
	bootstrap.rank = split->me;
	bootstrap.size = split->n_parties;
	join.n_local = locals->n;
	join.devices = locals->devices;
	join.ranks = locals->ranks;
	join.pumps = locals->pumps;
	join.endpoints = locals->endpoints;
	join.parent_nodes = &parent->layout;
	join.members = split->members;
	TRY(join_comms(&join, locals->made));
	for (int i = 0; i < locals->n; i++)
		comms_out[locals->index[i]] = locals->made[i];
	return CHOIR_SUCCESS;
}

static choir_status split_colors(struct split *split, struct locals *locals, choir_comm **comms_out)
{
	int my_driver = split->claims[split->comms[0]->rank].driver, color = -1;

	for (;;) { /* ascending, so that all parties meet in the same order */
		int next = -1;

		for (int i = 0; i < split->n_local; i++) {
			int mine = split->claims[split->comms[i]->rank].color;

			if (mine > color && (next < 0 || mine < next))
				next = mine;
		}
		if (next < 0)
			return CHOIR_SUCCESS;
		color = next;
		memset(locals->made, 0, (size_t)split->n_local * sizeof *locals->made);
		TRY(split_color(split, color, my_driver, locals, comms_out));
	}
}

static choir_status split_comms(int n_local, choir_comm *const *comms, const int *colors, const int *keys,
                                choir_comm **comms_out)
{
	struct split split = { .n_local = n_local, .comms = comms };
	struct locals locals = { 0 };
	size_t n, mine = (size_t)n_local;
	choir_comm **out;
	choir_status st;

	TRY(call_check_comms(call, n_local, comms));
	n = (size_t)comms[0]->n;
	out = calloc(mine, sizeof *out);
	split.claims = calloc(n, sizeof *split.claims);
	split.members = calloc(n, sizeof(int));
	split.leaders = calloc(n, sizeof(int));
	locals = (struct locals){ calloc(mine, sizeof *locals.devices),
		                  calloc(mine, sizeof *locals.pumps),
		                  calloc(mine, sizeof(int)),
		                  calloc(mine, sizeof(int)),
		                  calloc(mine, sizeof(int)),
		                  calloc(mine, sizeof *locals.made),
		                  0 };
	if (out == NULL || split.claims == NULL || split.members == NULL || split.leaders == NULL ||
	    locals.devices == NULL || locals.pumps == NULL || locals.ranks == NULL || locals.endpoints == NULL ||
	    locals.index == NULL || locals.made == NULL)
		st = error_no_memory("a split", n * sizeof *split.claims);
	else
		st = gather_claims(&split, colors, keys);
	if (st == CHOIR_SUCCESS)
		st = split_colors(&split, &locals, out);
	for (size_t i = 0; i < mine && st == CHOIR_SUCCESS; i++)
		comms_out[i] = out[i];
	free(out);
	free(split.claims);
	free(split.members);
	free(split.leaders);
	free(locals.devices);
	free(locals.pumps);
	free(locals.ranks);
	free(locals.endpoints);
	free(locals.index);
	free(locals.made);
	return st;
}

choir_status choir_comm_split_local(int n_local, choir_comm *const *comms, const int *colors, const int *keys,
                                    choir_comm **comms_out)
{
	choir_status st;

	if (n_local < 1 || comms == NULL || colors == NULL || keys == NULL || comms_out == NULL)
		return error_set(CHOIR_ARGUMENT, "%s: null argument, or n_local %d", call, n_local);
	TRY(call_enter_all(call, n_local, comms));
	st = split_comms(n_local, comms, colors, keys, comms_out);
	call_leave_all(n_local, comms);
	return st;
}

choir_status choir_comm_split(choir_comm *comm, int color, int key, choir_comm **out_p)
{
	return choir_comm_split_local(1, &comm, &color, &key, out_p);
}
