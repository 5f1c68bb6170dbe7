/* SPDX-License-Identifier: MIT */
#include "api/bootstrap.h"

#include "exec/layout.h"
#include "node/cache.h"

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

#define PROCESS_MAGIC 0x63687233u

/* What all processes come to with the same number of bytes. */
static choir_status gather(struct bootstrap *b, const void *mine, size_t bytes, void *all)
{
	const choir_bootstrap *boot = b->join->bootstrap;
	int rc;

	if (b->n_processes == 1) {
		memcpy(all, mine, bytes);
		return CHOIR_SUCCESS;
	}
	rc = boot->gather(boot->ctx, mine, bytes, all);
	if (rc == 0)
		return CHOIR_SUCCESS;
	b->over = true;
	if (b->join->members != NULL) /* of a split: it has said why */
		return error_prefix((choir_status)rc, "%s", b->join->call);
	return error_set(CHOIR_TRANSPORT, "%s: the bootstrap's gather of %zu bytes returned %d on process %d of %d",
	                 b->join->call, bytes, rc, b->me, b->n_processes);
}

/* Some process failed: all tell why.  Mine, or that of the first one. */
static choir_status gather_failures(struct bootstrap *b, choir_status mine)
{
	char text[ERROR_TEXT_BYTES], (*texts)[ERROR_TEXT_BYTES] = b->texts;
	int first = 0;

	snprintf(text, sizeof text, "%s", mine != CHOIR_SUCCESS ? error_text() : "");
	while (b->statuses[first] == CHOIR_SUCCESS)
		first++;
	TRY(gather(b, text, sizeof text, texts));
	b->over = true;
	if (mine != CHOIR_SUCCESS)
		return error_set(mine, "%s", text);
	return error_set((choir_status)b->statuses[first], "%s: process %d: %.400s", b->join->call, first,
	                 texts[first]);
}

choir_status bootstrap_agree(struct bootstrap *b, choir_status mine)
{
	int32_t status = mine;

	if (b->n_processes <= 1 || b->over)
		return mine;
	TRY(gather(b, &status, sizeof status, b->statuses));
	for (int p = 0; p < b->n_processes; p++)
		if (b->statuses[p] != CHOIR_SUCCESS)
			return gather_failures(b, mine);
	return CHOIR_SUCCESS;
}

choir_status bootstrap_gather(struct bootstrap *b, choir_status ready, const void *mine, size_t bytes, void *all)
{
	TRY(bootstrap_agree(b, ready));
	return gather(b, mine, bytes, all);
}

/* A network namespace counts as a machine of its own: its network is apart. */
static void find_machine(struct process *mine)
{
	char boot_id[64] = "";
	struct stat net = { 0 };
	FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");

	if (f != NULL) {
		if (fgets(boot_id, sizeof boot_id, f) == NULL)
			boot_id[0] = '\0';
		fclose(f);
	}
	(void)!stat("/proc/self/ns/net", &net);
	mine->host = XXH64(boot_id, sizeof boot_id, 0);
	mine->uid = getuid();
	mine->net = net.st_ino;
	mine->machine = XXH64(&mine->host, 3 * sizeof mine->host, 0);
}

static choir_status random_id(uint64_t *out)
{
	if (getrandom(out, sizeof *out, 0) != sizeof *out)
		return error_errno(CHOIR_NO_MEMORY, "getrandom");
	return CHOIR_SUCCESS;
}

static choir_status gather_processes(struct bootstrap *b, choir_status ready)
{
	struct process mine = {
		.magic = PROCESS_MAGIC,
		.n_local = b->join->n_local,
		.pid = getpid(),
		.has_transport = b->join->config->transport != NULL,
		.ranks_per_node = b->join->config->ranks_per_node,
		.keyed = b->join->config->keyed != 0,
	};
	choir_device *first;

	find_machine(&mine);
	if (sched_getaffinity(0, sizeof mine.cores, (cpu_set_t *)(void *)mine.cores) != 0)
		memset(mine.cores, 0, sizeof mine.cores); /* a machine with more cores: not crowded */
	if (ready == CHOIR_SUCCESS)
		ready = random_id(&mine.context);
	if (ready == CHOIR_SUCCESS)
		ready = bell_mine_address(&mine.bell);
	TRY(bootstrap_gather(b, ready, &mine, sizeof mine, b->processes));
	b->one_process = b->n_processes == 1;
	first = b->join->devices[0];
	b->one_context = b->one_process;
	for (int i = 0; i < b->join->n_local; i++) {
		choir_device *device = b->join->devices[i];

		b->one_process &= choir_device_class(device) == CHOIR_CLASS_DIRECT;
		b->one_context &= choir_device_class(device) == CHOIR_CLASS_STAGE &&
		                  choir_device_context(device) == choir_device_context(first) &&
		                  dev_has_fp64(device) == dev_has_fp64(first) &&
		                  dev_divides_exactly(device) == dev_divides_exactly(first);
	}
	b->n = 0;
	for (int p = 0; p < b->n_processes; p++) {
		if (b->processes[p].magic != PROCESS_MAGIC)
			return error_set(CHOIR_MISMATCH, "%s: process %d is of another version of choir", b->join->call,
			                 p);
		if (b->processes[p].ranks_per_node != mine.ranks_per_node)
			return error_set(CHOIR_MISMATCH, "%s: process %d wants %d ranks per node, process %d %d",
			                 b->join->call, p, (int)b->processes[p].ranks_per_node, b->me,
			                 (int)mine.ranks_per_node);
		if (b->processes[p].keyed != mine.keyed)
			return error_set(CHOIR_MISMATCH, "%s: process %d wants %s comm, process %d %s",
			                 b->join->call, p, b->processes[p].keyed ? "a keyed" : "an ordered", b->me,
			                 mine.keyed ? "a keyed one" : "an ordered one");
		b->n += b->processes[p].n_local;
	}
	return CHOIR_SUCCESS;
}

static uint64_t device_key(choir_device *device)
{
	static const cl_device_info infos[] = { CL_DEVICE_NAME, CL_DRIVER_VERSION, CL_DEVICE_VERSION };
	cl_device_id id = choir_device_id(device);
	uint64_t key = (uint64_t)dev_reduce_where(device);

	for (size_t i = 0; !dev_is_host(device) && i < sizeof infos / sizeof *infos; i++) {
		char text[512] = "";

		clGetDeviceInfo(id, infos[i], sizeof text - 1, text, NULL);
		key = XXH64(text, sizeof text, key);
	}
	return key;
}

/* Each process has sent the facts of `most` ranks. */
static choir_status read_ranks(struct bootstrap *b, const struct rank_facts *all, int most)
{
	for (int p = 0, next = 0; p < b->n_processes; p++)
		for (int i = 0; i < b->processes[p].n_local; i++) {
			const struct rank_facts *facts = &all[p * most + i];
			int rank = facts->rank >= 0 ? facts->rank : next++;

			if (rank >= b->n)
				return error_set(CHOIR_MISMATCH, "%s: process %d wants rank %d of %d", b->join->call, p,
				                 rank, b->n);
			b->process_of[rank] = p;
			b->endpoint_of[rank] = facts->endpoint;
			b->mixed_devices |= facts->device != all[0].device;
			b->far_memory |= facts->far_memory != 0;
			if (p == b->me)
				b->my_ranks[i] = rank;
		}
	return CHOIR_SUCCESS;
}

static choir_status gather_ranks(struct bootstrap *b, choir_status ready)
{
	struct rank_facts *mine, *all;
	int most = 0;

	for (int p = 0; p < b->n_processes; p++)
		most = b->processes[p].n_local > most ? b->processes[p].n_local : most;
	all = calloc((size_t)most * ((size_t)b->n_processes + 1), sizeof *all);
	mine = all != NULL ? all + most * b->n_processes : NULL;
	if (all == NULL)
		ready = error_no_memory("the ranks' facts", (size_t)most * ((size_t)b->n_processes + 1) * sizeof *all);
	for (int i = 0; mine != NULL && i < b->join->n_local; i++)
		mine[i] = (struct rank_facts){ .rank = b->join->ranks != NULL ? b->join->ranks[i] : -1,
			                       .endpoint = b->join->endpoints != NULL ? b->join->endpoints[i] : -1,
			                       .device = device_key(b->join->devices[i]),
			                       .far_memory = dev_has_far_memory(b->join->devices[i]) };
	ready = bootstrap_gather(b, ready, mine, (size_t)most * sizeof *mine, all);
	if (ready == CHOIR_SUCCESS)
		ready = read_ranks(b, all, most);
	free(all);
	return ready;
}

/* True if the caller's layout (ranks_per_node, or a split of a comm) puts both ranks on one node. */
static bool same_group(const struct bootstrap *b, int first, int second)
{
	const struct join *join = b->join;
	int per_node = b->processes[0].ranks_per_node;

	if (join->parent_nodes != NULL)
		return join->parent_nodes->node_of[join->members[first]] ==
		       join->parent_nodes->node_of[join->members[second]];
	return per_node == 0 || first / per_node == second / per_node;
}

/* The cores that the processes of this machine may use together; returns how many ranks run there. */
static int cores_here(const struct bootstrap *b, unsigned char cores[sizeof b->processes->cores])
{
	int ranks = 0;

	memset(cores, 0, sizeof b->processes->cores);
	for (int p = 0; p < b->n_processes; p++) {
		if (b->processes[p].machine != b->processes[b->me].machine)
			continue;
		ranks += b->processes[p].n_local;
		for (size_t i = 0; i < sizeof b->processes->cores; i++)
			cores[i] |= b->processes[p].cores[i];
	}
	return ranks;
}

static void look_at_cores(struct bootstrap *b)
{
	unsigned char cores[sizeof b->processes->cores];
	int ranks = cores_here(b, cores), n = 0;

	for (size_t i = 0; i < sizeof cores; i++)
		n += __builtin_popcount(cores[i]);
	b->crowded = n > 0 && ranks > n;
	b->far_cores = !cache_is_shared(cores, sizeof cores);
}

/* own[p]: process p could not map its node's arena, so it is a node of its own. */
static choir_status place_ranks(struct bootstrap *b, const unsigned char *own)
{
	for (int r = 0; r < b->n; r++) {
		int p = b->process_of[r], first = 0;

		for (; first < r; first++) {
			int q = b->process_of[first];
			bool together =
			    p == q || (!own[p] && !own[q] && b->processes[p].machine == b->processes[q].machine);

			if (together && same_group(b, first, r))
				break;
		}
		b->node_of[r] = first;
	}
	look_at_cores(b);
	layout_free(&b->layout);
	TRY(layout_build(b->n, b->node_of, &b->layout));
	b->slots = slot_sizes_of(b->layout.max_node_size, b->far_memory);
	return CHOIR_SUCCESS;
}

static int leader_of(const struct bootstrap *b, int node)
{
	return b->process_of[b->layout.node_ranks[b->layout.node_first[node]]];
}

static bool on_node(const struct bootstrap *b, int process, int node)
{
	for (int i = b->layout.node_first[node]; i < b->layout.node_first[node + 1]; i++)
		if (b->process_of[b->layout.node_ranks[i]] == process)
			return true;
	return false;
}

static void drop_arenas(struct bootstrap *b)
{
	for (int g = 0; b->arenas != NULL && g < b->layout.n_nodes; g++)
		arena_release(b->arenas[g]);
	free(b->arenas);
	b->arenas = NULL;
}

/* One round: the nodes' leaders create the arenas, the other processes map them; failed[p] = 1 where process p could
 * not. */
static choir_status share_arenas(struct bootstrap *b, choir_status ready, struct arena_address *mine,
                                 struct arena_address *all, unsigned char *failed)
{
	int n_nodes = b->layout.n_nodes;
	unsigned char my_failure = 0;

	for (int g = 0; g < n_nodes && ready == CHOIR_SUCCESS; g++)
		if (leader_of(b, g) == b->me) {
			ready = arena_create_growing(b->layout.node_size[g], COMM_LANES, b->slots.lane_bytes,
			                             &b->arenas[g]);
			if (ready == CHOIR_SUCCESS)
				arena_address(b->arenas[g], &mine[g]);
		}
	TRY(bootstrap_gather(b, ready, mine, (size_t)n_nodes * sizeof *mine, all));
	for (int g = 0; g < n_nodes; g++)
		if (b->arenas[g] == NULL && on_node(b, b->me, g))
			my_failure |= arena_open(&all[leader_of(b, g) * n_nodes + g], &b->arenas[g]) != CHOIR_SUCCESS;
	for (int p = 0; p < b->n_processes && !my_failure; p++)
		if (b->processes[p].pid != b->processes[b->me].pid &&
		    b->processes[p].machine == b->processes[b->me].machine) {
			struct bell *bell;

			if (bell_open(&b->processes[p].bell, &bell) == CHOIR_SUCCESS)
				bell_close(bell);
			else
				my_failure = 1;
		}
	return bootstrap_gather(b, CHOIR_SUCCESS, &my_failure, 1, failed);
}

/* Looks for processes of one machine that share no memory, and says why; own[p]: p could not map its node's arena. */
static void explain_apart(struct bootstrap *b, const unsigned char *own)
{
	for (int p = 1; p < b->n_processes; p++)
		for (int q = 0; q < p; q++) {
			const struct process *one = &b->processes[q], *other = &b->processes[p];
			const char *why = one->uid != other->uid   ? "run as different users"
					  : one->net != other->net ? "are in different network namespaces"
					  : own[p] || own[q] ? "cannot open each other's shared memory by /proc/PID/fd "
							       "(user or pid namespaces of containers, or hidepid)"
							     : NULL;

			if (one->host != other->host || why == NULL)
				continue;
			snprintf(b->apart, sizeof b->apart, "processes %d and %d of one machine %s", q, p, why);
			return;
		}
}

const char *bootstrap_apart(const struct bootstrap *b, const char *before, char *text, size_t bytes)
{
	snprintf(text, bytes, "%s%s", b->apart[0] != '\0' ? before : "", b->apart);
	return text;
}

/* Once more where a process could not map the arena of its node.  failed: [n_processes]. */
static choir_status make_round(struct bootstrap *b, const unsigned char *own, unsigned char *failed)
{
	choir_status st = place_ranks(b, own);
	size_t n_nodes = (size_t)b->layout.n_nodes;
	struct arena_address *mine = calloc(n_nodes, sizeof *mine),
			     *all = calloc(n_nodes * (size_t)b->n_processes, sizeof *all);

	b->arenas = calloc(n_nodes, sizeof *b->arenas);
	if (st == CHOIR_SUCCESS && (b->arenas == NULL || mine == NULL || all == NULL))
		st = error_no_memory("arenas", n_nodes * (size_t)b->n_processes * sizeof *all);
	st = share_arenas(b, st, mine, all, failed);
	free(mine);
	free(all);
	return st;
}

/* own, failed: [n_processes], zero. */
static choir_status make_arenas(struct bootstrap *b, unsigned char *own, unsigned char *failed)
{
	bool again = true;

	for (int round = 0; again && round < 3; round++) {
		drop_arenas(b);
		TRY(make_round(b, own, failed));
		again = false;
		for (int p = 0; p < b->n_processes; p++) {
			again |= failed[p] && !own[p];
			own[p] |= failed[p];
		}
	}
	if (b->join->parent_nodes == NULL)
		explain_apart(b, own);
	b->one_machine = true;
	for (int p = 0; p < b->n_processes; p++)
		b->one_machine &= !own[p] && b->processes[p].machine == b->processes[0].machine;
	return CHOIR_SUCCESS;
}

choir_status bootstrap_begin(struct bootstrap *b)
{
	const choir_bootstrap *boot = b->join->bootstrap;
	size_t processes = boot != NULL ? (size_t)boot->size : 1;

	b->processes = calloc(processes, sizeof *b->processes);
	b->statuses = calloc(processes, sizeof *b->statuses);
	b->texts = calloc(processes, sizeof *b->texts);
	if (b->processes == NULL || b->statuses == NULL || b->texts == NULL)
		return error_no_memory("processes", processes * (sizeof *b->processes + sizeof *b->texts));
	b->n_processes = (int)processes;
	b->me = boot != NULL ? boot->rank : 0;
	return CHOIR_SUCCESS;
}

choir_status bootstrap_run(struct bootstrap *b, choir_status ready)
{
	size_t ranks, processes = (size_t)b->n_processes;
	unsigned char *own;
	choir_status st = CHOIR_SUCCESS;

	TRY(gather_processes(b, ready));
	ranks = (size_t)b->n;
	b->process_of = calloc(ranks, sizeof(int));
	b->node_of = calloc(ranks, sizeof(int));
	b->endpoint_of = calloc(ranks, sizeof(int));
	b->my_ranks = calloc((size_t)b->join->n_local, sizeof(int));
	b->messengers = calloc((size_t)b->join->n_local, sizeof *b->messengers);
	own = calloc(2 * processes, 1);
	if (b->process_of == NULL || b->node_of == NULL || b->endpoint_of == NULL || b->my_ranks == NULL ||
	    b->messengers == NULL || own == NULL)
		st = error_no_memory("ranks", ranks * 4 * sizeof(int));
	st = gather_ranks(b, st);
	if (st == CHOIR_SUCCESS)
		st = make_arenas(b, own, own + processes);
	free(own);
	return st;
}

void bootstrap_end(struct bootstrap *b)
{
	choir_transport *given = b->join->config->transport;

	drop_arenas(b);
	arena_release(b->ring_arena);
	for (int i = 0; b->messengers != NULL && i < b->join->n_local; i++)
		messenger_release(b->messengers[i]);
	if (given != NULL && !b->transport_used)
		given->ops->destroy(given);
	layout_free(&b->layout);
	free(b->processes);
	free(b->statuses);
	free(b->texts);
	free(b->process_of);
	free(b->node_of);
	free(b->endpoint_of);
	free(b->my_ranks);
	free(b->messengers);
}
