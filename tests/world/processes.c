/* SPDX-License-Identifier: MIT */
#include "world/processes.h"

#include "world/endings.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum { MOST_LOCAL = 4, END_MS = 100000 };

struct process {
	process_fn *fn;
	int what;
};

static int run_process(const struct rank *me, void *ctx)
{
	struct process *process = ctx;

	process->fn(me, process->what);
	world_device_drop();
	return 0;
}

void processes_run(int n, int what, process_fn *fn, int killed)
{
	struct process process = { fn, what };
	char why[RANKS_WHY_BYTES];
	struct ranks ranks;

	ranks_fork(&ranks, n, n, run_process, &process);
	ranks_join(&ranks, END_MS);
	if (!ranks_are_good(&ranks, killed, why))
		fail_msg("%d processes, %d: %s", n, what, why);
}

void processes_create(const struct rank *me, int n_local, int per_node, int64_t deadline_ms, choir_comm **comms)
{
	choir_bootstrap boot = rank_bootstrap(me);
	choir_comm_config config = CHOIR_COMM_CONFIG_INIT;
	choir_device *devices[MOST_LOCAL];

	for (int i = 0; i < n_local; i++)
		devices[i] = world_device();
	config.ranks_per_node = per_node;
	config.deadline_ms = deadline_ms;
	MUST(choir_comm_create(&boot, n_local, devices, &config, comms) == CHOIR_SUCCESS);
}

bool processes_all(struct ending *ending, bool yes)
{
	const struct rank *me = ending->ctx;
	bool every = true, told[RANKS_MOST];

	meeting_gather(me->meeting, me->rank, &yes, sizeof yes, told);
	for (int p = 0; p < me->n; p++)
		every &= told[p];
	return every;
}
