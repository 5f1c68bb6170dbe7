/* SPDX-License-Identifier: MIT */
/* Call records (net/wire.h) as sentences, and their comparison.
 *
 * Note [compared records].  Ranks that call differently are found before a byte is combined, and nobody waits for a
 * rank that never comes.  Each comparison finds what those before it cannot:
 *
 *   a collective, on a node      each look at a peer's flag compares the hashes beside it (lane_seen_alike,
 *                                steps_reached); a step that has seen all ranks sets run->records_compared;
 *                                where none has, all are compared at the end (run_check_ended)
 *   a collective, between nodes  each message's header, when its step takes it (steps.c), or when it comes and the call
 *                                of its number has another record (inbox_expect, inbox_put)
 *   send and recv; near messages the header or the ring's item that the step takes (steps.c, p2p.c)
 *   a call that waits for long   the slow check looks at all of these again (run_check_records) */
#ifndef EXEC_RECORD_H
#define EXEC_RECORD_H

#include "exec/run.h"

enum { RUN_TEXT_BYTES = 192 };

/* record_set_algorithm: its name; cut off if it is too long.
 * record_set_op: of a record that is filled but for its operator; one of the caller's takes half of the hash. */
void record_set_algorithm(struct call_record *record, const char *name);
void record_set_op(struct call_record *record, choir_op op);

/* record_hash: the hash that ranks compare first. */
uint64_t record_hash(const struct call_record *record);

/* record_describe: "allreduce #12 'gradients' (1024 x f32, sum, oneshot)"; name: the caller's of the call, "" = none.
 * run_call_text: of a run. */
const char *record_describe(const struct call_record *record, uint64_t key, const char *name, char *text, size_t bytes);
const char *run_call_text(const struct run *run, char *text, size_t bytes);

/* record_mismatch: MISMATCH, naming both ranks and both calls.  run_mismatch: of a run. */
choir_status record_mismatch(const struct choir_comm *comm, uint64_t key, const char *name,
                             const struct call_record *mine, int peer, const struct call_record *theirs);
choir_status run_mismatch(const struct run *run, int peer, const struct call_record *theirs);

/* run_compare: run_mismatch with that rank of the node; but SUCCESS, and run->counts_differ is set, where the records
 * differ in `hash` alone and the call can become a script. */
choir_status run_compare(struct run *run, int local_rank);

/* run_check_ended: the last comparison, for calls that wait for nobody or not for everybody.  Of two ranks that
 * differ, the one that says later what it calls finds the other's record. */
choir_status run_check_ended(struct run *run);

/* run_check_records: compares with what peers say they are calling, beyond what steps look at.  Slow path. */
choir_status run_check_records(struct run *run);

#endif
