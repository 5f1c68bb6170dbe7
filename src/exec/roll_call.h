/* SPDX-License-Identifier: MIT */
/* The roll call: a run that waits long asks the ranks of other nodes which calls they have started, so that a late rank is named by all, and not the rank that
 * itself waits for it; the question carries the call's record, so that ranks that differ without a message between them notice too. */
#ifndef EXEC_ROLL_CALL_H
#define EXEC_ROLL_CALL_H

#include "exec/run.h"

choir_status roll_init(struct choir_comm *comm);
void roll_fini(struct choir_comm *comm);

/* roll_deliver: a WIRE_ASK or WIRE_HERE has come; under the pump's locks, only notes it. */
void roll_deliver(struct choir_comm *comm, const struct wire_header *header);

/* roll_ask: asks all ranks of other nodes.  roll_answer: answers who has asked.  The driver only; never wait. */
void roll_ask(struct run *run);
void roll_answer(struct choir_comm *comm);

/* roll_heard: the number of calls that a rank of another node has told to have started. */
uint64_t roll_heard(const struct choir_comm *comm, int rank);

#endif
