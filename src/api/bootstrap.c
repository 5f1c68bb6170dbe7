/* SPDX-License-Identifier: MIT */
#include "api/bootstrap.h"

#include "api/links.h"
#include "api/nodes.h"
#include "api/rules_file.h"
#include "exec/layout.h"
#include "node/cache.h"
#include "node/process_id.h"

#include "base/plural.h"
#include "base/wait.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#define PROCESS_MAGIC 0x63687237u
#define MOST_PEER_NS  INT64_C(100000000)

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

/* Of this process's i-th rank. */
static struct rank_facts facts_of(const struct join *join, int i)
{
	return (struct rank_facts){ .rank = join->ranks != NULL ? join->ranks[i] : -1,
		                    .endpoint = join->endpoints != NULL ? join->endpoints[i] : -1,
		                    .device = device_key(join->devices[i]),
		                    .command_bytes = dev_command_bytes(join->devices[i]),
		                    .far_memory = dev_has_far_memory(join->devices[i]) };
}

static choir_status hash_rules(const struct join *join, uint64_t *hash_p)
{
	struct rules rules;

	TRY(rules_read(join->config->rules, &rules));
	*hash_p = rules_hash(&rules);
	rules_free(&rules);
	return CHOIR_SUCCESS;
}

choir_status bootstrap_facts(const struct join *join, struct process *out)
{
	*out = (struct process){
		.magic = PROCESS_MAGIC,
		.n_local = join->n_local,
		.id = process_id(),
		.has_transport = join->config->transport != NULL,
		.message_bytes = transport_message_bytes(join->config->transport),
		.ranks_per_node = join->config->ranks_per_node,
		.keyed = join->config->keyed != 0,
		.first = facts_of(join, 0),
		.core_cache_bytes = cache_core_bytes(cache_machine()),
	};
	find_machine(out);
	if (sched_getaffinity(0, sizeof out->cores, (cpu_set_t *)(void *)out->cores) != 0)
		memset(out->cores, 0, sizeof out->cores); /* a machine with more cores: not crowded */
	TRY(hash_rules(join, &out->rules));
	TRY(random_id(&out->context));
	return bell_mine_address(&out->bell);
}

/* *ready_p: the status of all work before, which the gather tells the others; where all facts are known the next gather
 * does. */
static choir_status take_facts(struct bootstrap *b, choir_status *ready_p)
{
	choir_status ready = *ready_p, st;
	struct process mine;

	if (b->join->processes != NULL)
		return bootstrap_know_facts(b, b->join->processes);
	*ready_p = CHOIR_SUCCESS;
	st = bootstrap_facts(b->join, &mine);
	return bootstrap_gather_facts(b, ready == CHOIR_SUCCESS ? st : ready, &mine);
}

/* The device plans copy between any two ranks; each rank and the next one stand for all.  A split takes what its parent
 * measured. */
static unsigned slowest_peer(const struct join *join)
{
	int64_t until_ns = wait_now_ns() + MOST_PEER_NS;
	unsigned most = 0;

	if (join->parents != NULL && join->parents[0]->device_bytes > 0)
		return join->parents[0]->peer_percent;
	for (int i = 0; i < join->n_local && join->n_local > 1; i++) {
		choir_device *next = join->devices[(i + 1) % join->n_local];
		unsigned percent = dev_peer_percent(join->devices[i], next, until_ns);

		most = percent > most ? percent : most;
	}
	return most;
}

static choir_status gather_processes(struct bootstrap *b, choir_status *ready_p)
{
	const struct process *mine = &b->processes[b->me];
	char theirs[BOOTSTRAP_NAME], ours[BOOTSTRAP_NAME];
	choir_device *first;

	TRY(take_facts(b, ready_p));
	b->one_process = b->n_processes == 1;
	first = b->join->devices[0];
	b->one_context = b->one_process;
	for (int i = 0; i < b->join->n_local; i++) {
		choir_device *device = b->join->devices[i];

		b->one_process &= choir_device_class(device) == CHOIR_CLASS_DIRECT;
		b->one_context &= choir_device_class(device) == CHOIR_CLASS_STAGE &&
		                  choir_device_context(device) == choir_device_context(first) &&
		                  dev_has_fp64(device) == dev_has_fp64(first) &&
		                  dev_divides_exactly(device) == dev_divides_exactly(first) &&
		                  dev_keeps_denormals(device) == dev_keeps_denormals(first);
	}
	if (b->one_context)
		b->peer_percent = slowest_peer(b->join);
	b->n = 0;
	b->core_cache_bytes = mine->core_cache_bytes;
	for (int p = 0; p < b->n_processes; p++) {
		if (b->processes[p].magic != PROCESS_MAGIC)
			return error_set(CHOIR_MISMATCH, "%s: process %d is of another version of choir", b->join->call,
			                 p);
		if (b->processes[p].ranks_per_node != mine->ranks_per_node)
			return error_set(CHOIR_MISMATCH, "%s: %s wants %d rank%s per node, %s %d", b->join->call,
			                 bootstrap_name(b, p, theirs), (int)b->processes[p].ranks_per_node,
			                 plural(b->processes[p].ranks_per_node), bootstrap_name(b, b->me, ours),
			                 (int)mine->ranks_per_node);
		if (b->processes[p].keyed != mine->keyed)
			return error_set(CHOIR_MISMATCH, "%s: %s wants %s comm, %s %s", b->join->call,
			                 bootstrap_name(b, p, theirs), b->processes[p].keyed ? "a keyed" : "an ordered",
			                 bootstrap_name(b, b->me, ours),
			                 mine->keyed ? "a keyed one" : "an ordered one");
		if (b->processes[p].rules != mine->rules)
			return error_set(CHOIR_MISMATCH,
			                 "%s: %s has other rules for algorithms than %s (config.rules, CHOIR_RULES)",
			                 b->join->call, bootstrap_name(b, p, theirs), bootstrap_name(b, b->me, ours));
		b->n += b->processes[p].n_local;
		b->core_cache_bytes = min_u64(b->core_cache_bytes, b->processes[p].core_cache_bytes);
	}
	return CHOIR_SUCCESS;
}

/* Where a rank's memory is behind a bus, that decides. */
static void take_command_bytes(struct bootstrap *b, const struct rank_facts *facts)
{
	bool far = facts->far_memory != 0;

	if (far && !b->far_memory) {
		b->far_memory = true;
		b->command_bytes = 0;
	}
	if (far == b->far_memory && facts->command_bytes > b->command_bytes)
		b->command_bytes = facts->command_bytes;
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
			take_command_bytes(b, facts);
			if (p == b->me)
				b->my_ranks[i] = rank;
		}
	return CHOIR_SUCCESS;
}

/* All have made their arrays, or fail alike. */
static choir_status gather_several(struct bootstrap *b, choir_status ready, struct rank_facts *all, int most)
{
	struct rank_facts *mine = all != NULL ? all + most * b->n_processes : NULL;

	for (int i = 0; mine != NULL && i < b->join->n_local; i++)
		mine[i] = facts_of(b->join, i);
	return bootstrap_gather(b, ready, mine, (size_t)most * sizeof *mine, all);
}

/* A failure where no process has several ranks is told with the offers. */
static choir_status gather_ranks(struct bootstrap *b, choir_status ready)
{
	struct rank_facts *all;
	int most = 0;

	for (int p = 0; p < b->n_processes; p++)
		most = b->processes[p].n_local > most ? b->processes[p].n_local : most;
	all = calloc((size_t)most * ((size_t)b->n_processes + 1), sizeof *all);
	if (all == NULL)
		ready = error_no_memory("the ranks' facts", (size_t)most * ((size_t)b->n_processes + 1) * sizeof *all);
	if (most > 1)
		ready = gather_several(b, ready, all, most);
	for (int p = 0; p < b->n_processes && most == 1 && all != NULL; p++)
		all[p] = b->processes[p].first;
	if (ready == CHOIR_SUCCESS)
		ready = read_ranks(b, all, most);
	free(all);
	return ready;
}

choir_status bootstrap_begin(struct bootstrap *b)
{
	const choir_bootstrap *boot = b->join->bootstrap;
	size_t processes = boot != NULL ? (size_t)boot->size : 1;

	b->processes = calloc(processes, sizeof *b->processes);
	b->statuses = calloc(processes, sizeof *b->statuses);
	b->texts = calloc(processes, sizeof *b->texts);
	b->offers = calloc(processes, sizeof *b->offers);
	if (b->processes == NULL || b->offers == NULL || b->statuses == NULL || b->texts == NULL)
		return error_no_memory("processes", processes * (sizeof *b->processes + sizeof *b->texts));
	b->n_processes = (int)processes;
	b->me = boot != NULL ? boot->rank : 0;
	return CHOIR_SUCCESS;
}

choir_status bootstrap_run(struct bootstrap *b, choir_status ready)
{
	size_t ranks, processes = (size_t)b->n_processes;
	unsigned char *own;
	choir_status st = ready;

	TRY(gather_processes(b, &st));
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
	st = nodes_make(b, st, own, own + processes);
	free(own);
	return st;
}

void bootstrap_end(struct bootstrap *b)
{
	nodes_drop(b);
	arena_release(b->ring_arena);
	for (int i = 0; b->messengers != NULL && i < b->join->n_local; i++)
		messenger_release(b->messengers[i]);
	if (!b->transport_used)
		links_drop_given(b->join->config->transport);
	layout_free(&b->layout);
	free(b->processes);
	free(b->offers);
	free(b->statuses);
	free(b->texts);
	free(b->process_of);
	free(b->node_of);
	free(b->endpoint_of);
	free(b->my_ranks);
	free(b->messengers);
}
