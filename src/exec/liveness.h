/* SPDX-License-Identifier: MIT */
/* The liveness query: each rank that waits says for whom, and that it is there.  On its node it writes that into its
 * control block at each slow check; ranks of other nodes are asked.  A late call follows these answers from rank to
 * rank, so the rank that stopped is named, and not one that itself waits for it. */
#ifndef EXEC_LIVENESS_H
#define EXEC_LIVENESS_H

#include "exec/run.h"

choir_status liveness_init(struct choir_comm *comm);
void liveness_fini(struct choir_comm *comm);

/* liveness_deliver: a WIRE_ASK, WIRE_ASK_GONE or WIRE_HERE has come; under the messenger's locks, only notes it. */
void liveness_deliver(struct choir_comm *comm, const struct wire_header *header, int64_t now_ns);

/* liveness_publish: this rank is there, and waits for that rank, -1: for nobody; at_work: a call of it has begun.
 * liveness_publish_for: says the same in a relative of a comm in which it waits, unless the rank waits or is at work
 * there too; any thread, while the relative is one.
 * liveness_ask: asks all ranks of other nodes; the question carries the call's record, so ranks that differ without a
 * message between them notice.  liveness_answer: answers who has asked.  The driver only; never wait. */
void liveness_publish(struct choir_comm *comm, int waits_for, bool at_work, int64_t now_ns);
void liveness_publish_for(struct choir_comm *comm, int waits_for, int64_t now_ns);
void liveness_ask(struct run *run, int64_t now_ns);
void liveness_answer(struct choir_comm *comm);

/* liveness_ask_is_due: is it time to ask for a call that has waited for ms?  A call asks after a second (a sixteenth of
 * its deadline, if that is less), again at twice the time, and last half a second (a fourth of its deadline, if that is
 * less) before its deadline.  *next_ms: when it asks next; 0 = it has not asked. */
bool liveness_ask_is_due(int64_t *next_ms, int64_t ms, int64_t deadline_ms);

/* liveness_sign: each LIVENESS_SIGN_MS, gives signs to ranks of other nodes that are waited for, see Note [signs].
 * liveness_watch: looks which ranks the transport has lost; liveness_lost: has it been lost since an earlier look?  The
 * driver only. */
enum { LIVENESS_SIGN_MS = 200 };
typedef bool (*liveness_awaited_fn)(struct choir_comm *comm, int rank, int64_t now_ns);
void liveness_sign(struct choir_comm *comm, int64_t now_ns, liveness_awaited_fn is_awaited);
void liveness_watch(struct choir_comm *comm);
bool liveness_lost(const struct choir_comm *comm, int rank);

/* liveness_calls: how many collectives the rank has begun, as far as it has told: one of my node all that it has
 * submitted, others those whose deps are done.  False if nothing was heard from it. */
bool liveness_calls(const struct choir_comm *comm, int rank, uint64_t *calls);

/* liveness_silence_ns: for how long the rank has given no sign, INT64_MAX if it never has; 0 = it answered the last
 * question. */
int64_t liveness_silence_ns(const struct choir_comm *comm, int rank, int64_t now_ns);

/* liveness_culprit: the rank that is late in the end where `first` is waited for.  A rank that has given no sign for
 * silence_ns has stopped. */
int liveness_culprit(const struct choir_comm *comm, int first, int64_t now_ns, int64_t silence_ns);

#endif
