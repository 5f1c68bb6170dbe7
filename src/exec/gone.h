/* SPDX-License-Identifier: MIT */
/* Ranks that make no more calls, since they destroyed their comm or their process ended, tell the others, so that
 * nobody waits for them in vain. */
#ifndef EXEC_GONE_H
#define EXEC_GONE_H

#include "exec/run.h"

/* The last message of a rank that makes no more calls; in comm.gone. */
struct gone {
	struct gone *next;
	int rank;
	struct wire_gone told;
	struct call_record last; /* its last collective, where told.has_record says so */
	choir_status cause;      /* another of its comms had failed so; SUCCESS = none had */
	const char *cause_text;  /* behind the tags */
	size_t n_tags;           /* in `tags`; the pairs of told.n_pairs are behind them */
	struct wire_tagged tags[];
};

void gone_fini(struct choir_comm *comm);

/* gone_tags: how many tags a farewell tells: of a pair with more than WIRE_TAGS none.  gone_pairs: of how many pairs.
 */
static inline size_t gone_tags(const struct wire_gone *told)
{
	return told->n_tags <= WIRE_TAGS ? told->n_tags : 0;
}
static inline size_t gone_pairs(const struct wire_gone *told)
{
	return told->n_pairs != WIRE_NO_PAIRS ? told->n_pairs : 0;
}

/* gone_deliver: a WIRE_GONE has come; under the messenger's locks, only notes it. */
void gone_deliver(struct choir_comm *comm, struct message *message);

/* gone_find: that rank's last message; NULL: none has come. */
const struct gone *gone_find(const struct choir_comm *comm, int rank);

/* gone_failure: the status of a call that waits for that rank in vain; text: "which destroyed its comm after allreduce
 * #7 (...); another of its comms had failed: ...". */
choir_status gone_failure(const struct gone *gone, char *text, size_t bytes);

/* gone_find_dead: the first rank that is wanted whose process was seen dead, if the engine has been driven since; -1:
 * none.  gone_is_dead: is that rank such a one?  The driver only.
 * gone_dead_error: PEER_DEAD of a call that such a rank does not take part in, with a sentence that has the rank's last
 * call, as far as its node's arena has it.  what: "dead" or "dead or cut off". */
int gone_find_dead(const struct choir_comm *comm, bool (*is_wanted)(void *ctx, int rank), void *ctx);
bool gone_is_dead(const struct choir_comm *comm, int rank);
choir_status gone_dead_error(const struct run *run, int rank, const char *what);

/* gone_lacks: has that rank gone without making its part of the run's call?
 * gone_error: the status of such a call, with its sentence as last error.
 * gone_refuse: that of the first rank that lacks it; SUCCESS: none does, as far as this rank was told. */
bool gone_lacks(const struct gone *gone, const struct run *run);
choir_status gone_error(const struct gone *gone, const struct run *run);
choir_status gone_refuse(const struct run *run);

/* --- gone_say.c --- */

/* gone_ask: after a long wait for that rank: asks two of the ranks that it would have told, others in each turn,
 * whether it has gone.  gone_pass_on: answers that to a rank that has asked.  The driver only; never wait. */
void gone_ask(struct choir_comm *comm, int rank, unsigned turn);
void gone_pass_on(struct choir_comm *comm, int rank, int to);

/* gone_say: tells other ranks that this one makes no more calls.  Never waits; messages that the transport does not
 * take at once leave later, as all messages do. */
void gone_say(struct choir_comm *comm, bool process_ends);

#endif
