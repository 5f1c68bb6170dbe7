/* SPDX-License-Identifier: MIT */
#include "api/meet.h"

#include "exec/layout.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#define HELLO_MAGIC 0x63687232u

choir_status meet_gather(struct meeting *m, const void *mine, size_t bytes, void *all)
{
	const choir_bootstrap *boot = m->join->bootstrap;
	int rc;

	if (m->n_parties == 1) {
		memcpy(all, mine, bytes);
		return CHOIR_SUCCESS;
	}
	rc = boot->gather(boot->ctx, mine, bytes, all);
	if (rc == 0)
		return CHOIR_SUCCESS;
	m->all_met = false;
	return error_set(CHOIR_TRANSPORT, "%s: the bootstrap's gather of %zu bytes returned %d on party %d of %d", m->join->call, bytes, rc, m->me,
	                 m->n_parties);
}

/* Network namespaces count as machines of their own: what is cut off on the network is another node. */
static uint64_t machine_key(void)
{
	struct {
		char boot_id[64];
		uint64_t uid, net;
	} who = { .uid = getuid() };
	struct stat net = { 0 };
	FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");

	if (f != NULL) {
		if (fgets(who.boot_id, sizeof who.boot_id, f) == NULL)
			who.boot_id[0] = '\0';
		fclose(f);
	}
	(void)!stat("/proc/self/ns/net", &net);
	who.net = net.st_ino;
	return XXH64(&who, sizeof who, 0);
}

static choir_status random_id(uint64_t *out)
{
	if (getrandom(out, sizeof *out, 0) != sizeof *out)
		return error_errno(CHOIR_NO_MEMORY, "getrandom");
	return CHOIR_SUCCESS;
}

static choir_status say_hello(struct meeting *m)
{
	struct hello mine = {
		.magic = HELLO_MAGIC,
		.n_local = m->join->n_local,
		.pid = getpid(),
		.machine = machine_key(),
		.has_transport = m->join->config->transport != NULL,
		.ranks_per_node = m->join->config->ranks_per_node,
	};

	if (sched_getaffinity(0, sizeof mine.cores, (cpu_set_t *)(void *)mine.cores) != 0)
		memset(mine.cores, 0, sizeof mine.cores); /* more cores than that: not crowded */
	TRY(random_id(&mine.context));
	TRY(bell_mine_address(&mine.bell));
	TRY(meet_gather(m, &mine, sizeof mine, m->hellos));
	m->one_process = m->n_parties == 1;
	for (int i = 0; i < m->join->n_local; i++)
		m->one_process &= choir_device_class(m->join->devices[i]) == CHOIR_CLASS_DIRECT;
	m->n = 0;
	for (int p = 0; p < m->n_parties; p++) {
		if (m->hellos[p].magic != HELLO_MAGIC)
			return error_set(CHOIR_MISMATCH, "%s: party %d is of another version of choir", m->join->call, p);
		if (m->hellos[p].ranks_per_node != mine.ranks_per_node)
			return error_set(CHOIR_MISMATCH, "%s: party %d wants %d ranks per node, party %d %d", m->join->call, p,
			                 (int)m->hellos[p].ranks_per_node, m->me, (int)mine.ranks_per_node);
		m->n += m->hellos[p].n_local;
	}
	return CHOIR_SUCCESS;
}

static uint64_t device_key(choir_device *device)
{
	static const cl_device_info infos[] = { CL_DEVICE_NAME, CL_DRIVER_VERSION, CL_DEVICE_VERSION };
	cl_device_id id = choir_device_id(device);
	uint64_t key = (uint64_t)dev_reduce_where(device);

	for (size_t i = 0; i < sizeof infos / sizeof *infos; i++) {
		char text[512] = "";

		clGetDeviceInfo(id, infos[i], sizeof text - 1, text, NULL);
		key = XXH64(text, sizeof text, key);
	}
	return key;
}

static choir_status say_members(struct meeting *m)
{
	int most = 0;
	size_t bytes;
	struct member *mine, *all;
	choir_status st;

	for (int p = 0; p < m->n_parties; p++)
		most = m->hellos[p].n_local > most ? m->hellos[p].n_local : most;
	bytes = (size_t)most * sizeof *mine;
	mine = calloc((size_t)most, sizeof *mine);
	all = calloc((size_t)most * (size_t)m->n_parties, sizeof *all);
	if (mine == NULL || all == NULL) {
		free(mine);
		free(all);
		return error_no_memory("members", bytes);
	}
	for (int i = 0; i < m->join->n_local; i++)
		mine[i] = (struct member){ .rank = m->join->ranks != NULL ? m->join->ranks[i] : -1,
			                   .endpoint = m->join->endpoints != NULL ? m->join->endpoints[i] : -1,
			                   .device = device_key(m->join->devices[i]) };
	st = meet_gather(m, mine, bytes, all);
	for (int p = 0, next = 0; p < m->n_parties && st == CHOIR_SUCCESS; p++)
		for (int i = 0; i < m->hellos[p].n_local; i++) {
			const struct member *member = &all[p * most + i];
			int rank = member->rank >= 0 ? member->rank : next++;

			if (rank >= m->n) {
				st = error_set(CHOIR_MISMATCH, "%s: party %d wants rank %d of %d", m->join->call, p, rank, m->n);
				break;
			}
			m->party_of[rank] = p;
			m->endpoint_of[rank] = member->endpoint;
			m->mixed_devices |= member->device != all[0].device;
			if (p == m->me)
				m->my_ranks[i] = rank;
		}
	free(mine);
	free(all);
	return st;
}

/* Does the layout that was asked for put two ranks on one node? */
static bool same_group(const struct meeting *m, int a, int b)
{
	const struct join *join = m->join;
	int per_node = m->hellos[0].ranks_per_node;

	if (join->parent_nodes != NULL)
		return join->parent_nodes->node_of[join->members[a]] == join->parent_nodes->node_of[join->members[b]];
	return per_node == 0 || a / per_node == b / per_node;
}

/* Do more ranks run on this machine than there are cores for all of them together?  Each may be bound to one of its own. */
static bool is_crowded(const struct meeting *m)
{
	int ranks = 0, cores = 0;
	unsigned char all[sizeof m->hellos->cores] = { 0 };

	for (int p = 0; p < m->n_parties; p++) {
		if (m->hellos[p].machine != m->hellos[m->me].machine)
			continue;
		ranks += m->hellos[p].n_local;
		for (size_t i = 0; i < sizeof all; i++)
			all[i] |= m->hellos[p].cores[i];
	}
	for (size_t i = 0; i < sizeof all; i++)
		cores += __builtin_popcount(all[i]);
	return cores > 0 && ranks > cores;
}

/* own[p]: party p could not map its node's arena, so it is a node of its own. */
static choir_status place_ranks(struct meeting *m, const unsigned char *own)
{
	for (int r = 0; r < m->n; r++) {
		int p = m->party_of[r], first = 0;

		for (; first < r; first++) {
			int q = m->party_of[first];
			bool together = p == q || (!own[p] && !own[q] && m->hellos[p].machine == m->hellos[q].machine);

			if (together && same_group(m, first, r))
				break;
		}
		m->node_of[r] = first;
	}
	m->crowded = is_crowded(m);
	layout_free(&m->layout);
	TRY(layout_build(m->n, m->node_of, &m->layout));
	m->slots = slot_sizes_of(m->layout.max_node_size);
	return CHOIR_SUCCESS;
}

static int leader_of(const struct meeting *m, int node)
{
	return m->party_of[m->layout.node_ranks[m->layout.node_first[node]]];
}

static bool on_node(const struct meeting *m, int party, int node)
{
	for (int i = m->layout.node_first[node]; i < m->layout.node_first[node + 1]; i++)
		if (m->party_of[m->layout.node_ranks[i]] == party)
			return true;
	return false;
}

static void drop_arenas(struct meeting *m)
{
	for (int g = 0; m->arenas != NULL && g < m->layout.n_nodes; g++)
		arena_release(m->arenas[g]);
	free(m->arenas);
	m->arenas = NULL;
}

/* One round: leaders make the arenas, the others map them; failed[p] tells who could not. */
static choir_status share_arenas(struct meeting *m, struct arena_address *mine, struct arena_address *all, unsigned char *failed)
{
	int n_nodes = m->layout.n_nodes;
	unsigned char my_failure = 0;
	choir_status st = CHOIR_SUCCESS;

	for (int g = 0; g < n_nodes; g++)
		if (leader_of(m, g) == m->me) {
			if (st == CHOIR_SUCCESS)
				st = arena_create(m->layout.node_size[g], COMM_LANES, m->slots.lane_bytes, &m->arenas[g]);
			if (st == CHOIR_SUCCESS)
				arena_address(m->arenas[g], &mine[g]);
		}
	TRY(meet_agree(m, st));
	TRY(meet_gather(m, mine, (size_t)n_nodes * sizeof *mine, all));
	for (int g = 0; g < n_nodes; g++)
		if (m->arenas[g] == NULL && on_node(m, m->me, g))
			my_failure |= arena_open(&all[leader_of(m, g) * n_nodes + g], &m->arenas[g]) != CHOIR_SUCCESS;
	for (int p = 0; p < m->n_parties && !my_failure; p++)
		if (m->hellos[p].pid != m->hellos[m->me].pid && m->hellos[p].machine == m->hellos[m->me].machine) {
			struct bell *bell;

			if (bell_open(&m->hellos[p].bell, &bell) == CHOIR_SUCCESS)
				bell_close(bell);
			else
				my_failure = 1;
		}
	return meet_gather(m, &my_failure, 1, failed);
}

static choir_status make_arenas(struct meeting *m, unsigned char *own)
{
	unsigned char *failed = calloc((size_t)m->n_parties, 1);
	bool again = true;
	choir_status st = failed != NULL ? CHOIR_SUCCESS : error_no_memory("parties", (size_t)m->n_parties);

	for (int round = 0; st == CHOIR_SUCCESS && again && round < 3; round++) {
		size_t n_nodes;
		struct arena_address *mine, *all;

		drop_arenas(m);
		TRY(place_ranks(m, own));
		n_nodes = (size_t)m->layout.n_nodes;
		m->arenas = calloc(n_nodes, sizeof *m->arenas);
		mine = calloc(n_nodes, sizeof *mine);
		all = calloc(n_nodes * (size_t)m->n_parties, sizeof *all);
		if (m->arenas == NULL || mine == NULL || all == NULL)
			st = error_no_memory("arenas", n_nodes * sizeof *all);
		else
			st = share_arenas(m, mine, all, failed);
		free(mine);
		free(all);
		again = false;
		for (int p = 0; p < m->n_parties; p++) {
			again |= failed[p] && !own[p];
			own[p] |= failed[p];
		}
	}
	m->one_machine = true;
	for (int p = 0; p < m->n_parties; p++)
		m->one_machine &= !own[p] && m->hellos[p].machine == m->hellos[0].machine;
	free(failed);
	return st;
}

choir_status meet(struct meeting *m)
{
	const choir_bootstrap *boot = m->join->bootstrap;
	size_t parties, ranks;
	unsigned char *own;
	choir_status st;

	m->n_parties = boot != NULL ? boot->size : 1;
	m->me = boot != NULL ? boot->rank : 0;
	m->all_met = true;
	parties = (size_t)m->n_parties;
	m->hellos = calloc(parties, sizeof *m->hellos);
	if (m->hellos == NULL)
		return error_no_memory("parties", parties * sizeof *m->hellos);
	TRY(say_hello(m));
	ranks = (size_t)m->n;
	m->party_of = calloc(ranks, sizeof(int));
	m->node_of = calloc(ranks, sizeof(int));
	m->endpoint_of = calloc(ranks, sizeof(int));
	m->my_ranks = calloc((size_t)m->join->n_local, sizeof(int));
	m->pumps = calloc((size_t)m->join->n_local, sizeof *m->pumps);
	own = calloc(parties, 1);
	if (m->party_of == NULL || m->node_of == NULL || m->endpoint_of == NULL || m->my_ranks == NULL || m->pumps == NULL ||
	    own == NULL) {
		free(own);
		return error_no_memory("ranks", ranks * 4 * sizeof(int));
	}
	st = say_members(m);
	if (st == CHOIR_SUCCESS)
		st = make_arenas(m, own);
	free(own);
	return st == CHOIR_SUCCESS ? meet_links(m) : st;
}

struct verdict {
	int32_t status;
	char text[ERROR_TEXT_BYTES];
};

choir_status meet_agree(struct meeting *m, choir_status mine)
{
	struct verdict verdict = { .status = mine }, *all;
	choir_status st = mine;

	if (m->n_parties <= 1 || !m->all_met)
		return mine;
	if (mine != CHOIR_SUCCESS)
		snprintf(verdict.text, sizeof verdict.text, "%s", error_text());
	all = calloc((size_t)m->n_parties, sizeof *all);
	if (all == NULL)
		return error_no_memory("verdicts", (size_t)m->n_parties * sizeof *all);
	if (meet_gather(m, &verdict, sizeof verdict, all) != CHOIR_SUCCESS)
		st = CHOIR_TRANSPORT;
	else
		for (int p = 0; p < m->n_parties && st == CHOIR_SUCCESS; p++)
			if (all[p].status != CHOIR_SUCCESS)
				st = error_set((choir_status)all[p].status, "%s: party %d: %.400s", m->join->call, p, all[p].text);
	if (mine != CHOIR_SUCCESS)
		st = error_set(mine, "%s", verdict.text);
	free(all);
	return st;
}

void meet_end(struct meeting *m)
{
	choir_transport *given = m->join->config->transport;

	drop_arenas(m);
	arena_release(m->fifo_arena);
	for (int i = 0; m->pumps != NULL && i < m->join->n_local; i++)
		pump_release(m->pumps[i]);
	if (given != NULL && !m->transport_used)
		given->ops->destroy(given);
	layout_free(&m->layout);
	free(m->hellos);
	free(m->party_of);
	free(m->node_of);
	free(m->endpoint_of);
	free(m->my_ranks);
	free(m->pumps);
}
