/* SPDX-License-Identifier: MIT */
/* The gathers of a join: each process sends bytes to all, and all processes learn whether all go on. */
#include "api/bootstrap.h"

#include <stdio.h>
#include <string.h>

const char *bootstrap_name(const struct bootstrap *b, int p, char text[BOOTSTRAP_NAME])
{
	int rank = b->processes[p].first.rank;
	bool of_split = b->join->members != NULL && rank >= 0;

	snprintf(text, BOOTSTRAP_NAME, "%s %d", of_split ? "rank" : "process", of_split ? b->join->members[rank] : p);
	return text;
}

/* A gather that returns 0 and writes nothing, as a foreign runtime's that was interrupted, must not pass: the byte of
 * this process that it has to overwrite. */
static void spoil(const struct bootstrap *b, const void *mine, size_t bytes, void *all)
{
	if (bytes > 0)
		((unsigned char *)all)[(size_t)b->me * bytes] = (unsigned char)~*(const unsigned char *)mine;
}

static bool gave_mine_back(const struct bootstrap *b, const void *mine, size_t bytes, const void *all)
{
	return memcmp((const unsigned char *)all + (size_t)b->me * bytes, mine, bytes) == 0;
}

choir_status bootstrap_gather_ready(struct bootstrap *b, const void *mine, size_t bytes, void *all)
{
	const choir_bootstrap *boot = b->join->bootstrap;
	char before[ERROR_TEXT_BYTES], why[ERROR_TEXT_BYTES];
	int rc;

	if (b->n_processes == 1) {
		memcpy(all, mine, bytes);
		return CHOIR_SUCCESS;
	}
	snprintf(before, sizeof before, "%s", error_text());
	spoil(b, mine, bytes, all);
	rc = boot->gather(boot->ctx, mine, bytes, all);
	if (rc == 0 && gave_mine_back(b, mine, bytes, all))
		return CHOIR_SUCCESS;
	b->over = true;
	if (rc == 0)
		return error_set(CHOIR_TRANSPORT,
		                 "%s: the bootstrap's gather of %zu bytes returned 0 on process %d of %d, and did not "
		                 "give back this process's own bytes",
		                 b->join->call, bytes, b->me, b->n_processes);
	if (b->join->members != NULL) /* of a split: it has said why */
		return error_prefix((choir_status)rc, "%s", b->join->call);
	snprintf(why, sizeof why, "%s", error_text()); /* a gather of ours, over MPI, says it */
	if (strcmp(why, before) == 0)
		why[0] = '\0';
	return error_set(CHOIR_TRANSPORT, "%s: the bootstrap's gather of %zu bytes returned %d on process %d of %d%s%s",
	                 b->join->call, bytes, rc, b->me, b->n_processes, why[0] != '\0' ? ": " : "", why);
}

/* Some process failed: all tell why.  Mine, or that of the first one. */
static choir_status gather_failures(struct bootstrap *b, choir_status mine)
{
	char text[ERROR_TEXT_BYTES], name[BOOTSTRAP_NAME], (*texts)[ERROR_TEXT_BYTES] = b->texts;
	int first = 0;

	snprintf(text, sizeof text, "%s", mine != CHOIR_SUCCESS ? error_text() : "");
	while (b->statuses[first] == CHOIR_SUCCESS)
		first++;
	TRY(bootstrap_gather_ready(b, text, sizeof text, texts));
	b->over = true;
	if (mine != CHOIR_SUCCESS)
		return error_set(mine, "%s", text);
	return error_set((choir_status)b->statuses[first], "%s: %s: %.400s", b->join->call,
	                 bootstrap_name(b, first, name), texts[first]);
}

/* From the statuses of all. */
static choir_status judge(struct bootstrap *b, choir_status mine)
{
	for (int p = 0; p < b->n_processes; p++)
		if (b->statuses[p] != CHOIR_SUCCESS)
			return gather_failures(b, mine);
	return CHOIR_SUCCESS;
}

choir_status bootstrap_agree(struct bootstrap *b, choir_status mine)
{
	int32_t status = mine;

	if (b->n_processes <= 1 || b->over)
		return mine;
	b->unheard = true;
	TRY(bootstrap_gather_ready(b, &status, sizeof status, b->statuses));
	b->unheard = false;
	return judge(b, mine);
}

choir_status bootstrap_gather(struct bootstrap *b, choir_status ready, const void *mine, size_t bytes, void *all)
{
	TRY(bootstrap_agree(b, ready));
	return bootstrap_gather_ready(b, mine, bytes, all);
}

static choir_status judge_facts(struct bootstrap *b, choir_status ready)
{
	if (b->n_processes == 1)
		return ready;
	for (int p = 0; p < b->n_processes; p++)
		b->statuses[p] = b->processes[p].status;
	return judge(b, ready);
}

choir_status bootstrap_gather_facts(struct bootstrap *b, choir_status ready, struct process *mine)
{
	mine->status = ready;
	TRY(bootstrap_gather_ready(b, mine, sizeof *mine, b->processes));
	return judge_facts(b, ready);
}

choir_status bootstrap_know_facts(struct bootstrap *b, const struct process *all)
{
	memcpy(b->processes, all, (size_t)b->n_processes * sizeof *all);
	return judge_facts(b, (choir_status)all[b->me].status);
}

choir_status bootstrap_gather_offers(struct bootstrap *b, choir_status ready, struct node_offer *mine)
{
	if (b->over)
		return ready;
	mine->status = ready;
	TRY(bootstrap_gather_ready(b, mine, sizeof *mine, b->offers));
	if (b->n_processes == 1)
		return ready;
	for (int p = 0; p < b->n_processes; p++)
		b->statuses[p] = b->offers[p].status;
	return judge(b, ready);
}
