/* SPDX-License-Identifier: MIT */
/* Design notes.  A comm takes three gathers: facts of processes and ranks, addresses of the nodes' arenas, and
 * whether each process could map its own.  A split takes the second only: its claims have the facts, and processes that
 * are one node of the parent can map each other's memory.  Where a process has several ranks, their facts are a gather
 * more, and the addresses, if it leads several nodes.  A process that could not map its arena becomes a node of its
 * own, and the last two gathers are repeated.  Every process computes the same layout from the same bytes.  A process
 * that failed before a gather says so in it, and at the end all processes agree that all have their comms. */
#include "api/join.h"

#include "api/bootstrap.h"
#include "api/call.h"
#include "api/comm_life.h"
#include "api/links.h"
#include "api/options.h"
#include "base/config.h"
#include "base/log.h"

#include <stdlib.h>
#include <string.h>

choir_status join_options(const char *call, bool otherwise, choir_comm_config *config)
{
	if (config->order_ranks != 0 && config->order_ranks != 1)
		return error_set(CHOIR_ARGUMENT, "%s: config->order_ranks is %d: 0 or 1 is wanted", call,
		                 config->order_ranks);
	config->order_ranks |= otherwise;
	return config->options != NULL ? options_of_comm(call, config->options, &config->order_ranks) : CHOIR_SUCCESS;
}

choir_status join_config(const char *call, const choir_comm_config *given, choir_comm_config *out)
{
	choir_comm_config config = CHOIR_COMM_CONFIG_INIT;
	int64_t ranks_per_node, order_ranks;

	config_warn_unknown();
	if (given != NULL) {
		TRY(call_read_struct(call, "config", "CHOIR_COMM_CONFIG_INIT", given, &config, sizeof config));
		config.struct_size = sizeof config;
	}
	log_start();
	if (config.deadline_ms < 0 || config.warn_ms < 0 || config.ranks_per_node < 0)
		return error_set(CHOIR_ARGUMENT, "%s: negative value in config", call);
	if (config.deadline_ms == 0)
		TRY(config_int("CHOIR_DEADLINE_MS", 1, INT64_MAX / 2000000, 600000, &config.deadline_ms));
	if (config.warn_ms == 0)
		TRY(config_int("CHOIR_WARN_MS", 1, INT64_MAX / 2000000, 30000, &config.warn_ms));
	TRY(config_int("CHOIR_RANKS_PER_NODE", 0, 1 << 20, config.ranks_per_node, &ranks_per_node));
	if (config.ranks_per_node == 0)
		config.ranks_per_node = (int)ranks_per_node;
	TRY(config_int("CHOIR_DETERMINISTIC", 0, 1, 0, &order_ranks));
	TRY(join_options(call, order_ranks != 0, &config));
	if (config.rules == NULL)
		config.rules = config_text("CHOIR_RULES");
	*out = config;
	return CHOIR_SUCCESS;
}

static choir_status make_comms(struct bootstrap *b, choir_comm **comms)
{
	for (int i = 0; i < b->join->n_local; i++) {
		comms[i] = calloc(1, sizeof *comms[i]);
		if (comms[i] == NULL)
			return error_no_memory("a comm", sizeof *comms[i]);
		atomic_init(&comms[i]->uses.refs, 1);
		TRY(comm_fill(b, i, comms[i]));
	}
	return comm_make_family(b->join->n_local, comms);
}

choir_status join_comms(const struct join *join, choir_comm **comms_out)
{
	struct bootstrap bootstrap = { .join = join };
	choir_comm **comms = calloc((size_t)join->n_local, sizeof *comms);
	choir_status st, mine;

	st = bootstrap_begin(&bootstrap);
	mine = join->ready;
	if (st == CHOIR_SUCCESS && comms == NULL && mine == CHOIR_SUCCESS)
		mine = error_no_memory("comms", (size_t)join->n_local * sizeof *comms);
	if (st == CHOIR_SUCCESS)
		st = bootstrap_run(&bootstrap, mine);
	if (st == CHOIR_SUCCESS && bootstrap.apart[0] != '\0' && bootstrap.me == 0)
		log_text(LOG_WARNING, "%s: %s, so their messages take the transport", join->call, bootstrap.apart);
	if (st == CHOIR_SUCCESS)
		st = links_create(&bootstrap);
	if (st == CHOIR_SUCCESS)
		st = make_comms(&bootstrap, comms);
	mine = st;
	st = bootstrap_agree(&bootstrap, mine); /* all processes have their comms, or none keeps one */
	if (st == CHOIR_SUCCESS)
		memcpy(comms_out, comms, (size_t)join->n_local * sizeof *comms);
	else if (mine == CHOIR_SUCCESS && bootstrap.unheard) { /* those who heard all keep theirs */
		comm_discard_told(st, (size_t)join->n_local, comms);
		memset(comms, 0, (size_t)join->n_local * sizeof *comms);
	}
	for (int i = 0; comms != NULL && i < join->n_local && st != CHOIR_SUCCESS; i++)
		comm_discard(comms[i]);
	bootstrap_end(&bootstrap);
	free(comms);
	return st;
}
