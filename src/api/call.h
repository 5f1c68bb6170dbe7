/* SPDX-License-Identifier: MIT */
/* The part that all calls share: they check their comm and their choir_call, then start their run, alone or in a
 * group. */
#ifndef API_CALL_H
#define API_CALL_H

#include "exec/call_key.h"
#include "exec/run.h"
#include "kern/reduce.h"

#include <choir/choir.h>

/* call_check_comm: not null, of this process, not failed. */
choir_status call_check_comm(const char *call, choir_comm *comm);

/* call_enter: comm_enter for a call that takes the comm; ARGUMENT for a null comm, one of another process, and one that
 * has been destroyed. call_enter_all, call_leave_all: the same for n comms, all or none. */
choir_status call_enter(const char *call, choir_comm *comm);
choir_status call_enter_all(const char *call, int n, choir_comm *const *comms);
void call_leave_all(int n, choir_comm *const *comms);

/* call_check_outside: not in a callback or a group.
 * call_check_comms: n local handles of one comm, each once, outside callbacks and groups: where one thread calls for
 * several ranks. */
choir_status call_check_outside(const char *call);
choir_status call_check_comms(const char *call, int n, choir_comm *const *comms);

/* call_named: returns st; the sentence of a failure is given the name that the caller gave the call, unless it holds
 * it. */
choir_status call_named(choir_status st, const choir_call *given);

/* call_check_struct: is the structure there, with a struct_size that a version up to this library's can have?  what:
 * "config"; init: the macro to use, in the sentence of a wrong size.
 * call_read_struct: for a structure of any version: its members replace those of `out`, which the caller has filled
 * with the defaults. */
choir_status call_check_struct(const char *call, const char *what, const char *init, const void *given, size_t known);
choir_status call_read_struct(const char *call, const char *what, const char *init, const void *given, void *out,
                              size_t known);

/* call_part_of: of a call that another one makes, whose name stands in its errors.  It goes as it can,
 * whatever way the comm's options ask of the program's calls. */
static inline choir_call call_part_of(const char *call)
{
	choir_call part = CHOIR_CALL_INIT;

	part.name = call;
	part.options = "algorithm=auto, link=auto, topology=auto, result=auto";
	return part;
}

/* Of the messages that a split exchanges on its parent: they match no call of the program's. */
enum { CALL_SPLIT_TAG = INT32_MAX };

/* call_takes: the members of choir_call that only some calls take, and the call with that key does. */
enum call_takes { CALL_TAKES_FACTOR = 1, CALL_TAKES_TAG = 2, CALL_TAKES_SPLIT_TAG = 4 };
static inline unsigned call_takes(const struct call_key *key)
{
	enum collective collective = key->form->collective;

	if (collective_has(collective, TRAIT_PAIR))
		return key->form->of_split ? CALL_TAKES_TAG | CALL_TAKES_SPLIT_TAG : CALL_TAKES_TAG;
	return collective_has(collective, TRAIT_REDUCES) && key->op == CHOIR_OP_PREMUL_SUM ? CALL_TAKES_FACTOR : 0;
}

/* call_read: the caller's choir_call (NULL = defaults) checked and completed.  takes: of enum call_takes. */
choir_status call_read(const char *call, const choir_call *given, unsigned takes, choir_call *out);

/* call_builds_begin: this thread, which prepares the call, waits for kernels to be built until the call's deadline from
 * now on, the comm's if it has none.
 * call_builds_end: after that, always.  Returns st; the sentence of a TIMEOUT is given the comm and the rank. */
void call_builds_begin(const choir_comm *comm, const choir_call *call);
choir_status call_builds_end(const choir_comm *comm, choir_status st);

/* call_takes_no_options: ARGUMENT if the caller gave some. */
choir_status call_takes_no_options(const char *call, const choir_call *read);

/* call_start: hands a run over: waits for it if event_p is NULL (outside a group), else gives the event.  Takes the
 * run, also on failure.  filled: how filling the run went; a failure is returned, and the run discarded. */
choir_status call_start(const char *call, struct run *run, choir_status filled, choir_event **event_p);

/* call_start_all: the same for n filled runs that share their event (run_share_event), at least one. */
choir_status call_start_all(const char *call, struct run *const *runs, size_t n, choir_event **event_p);

/* call_finish: waits for the event of a blocking call with that number, and releases it.  name: the caller's of the
 * call; NULL or "": none. */
choir_status call_finish(const char *call, const char *name, struct choir_comm *comm, choir_event *event, bool pair,
                         uint64_t seq);

/* call_note_user: this thread is the last one that used the comm. */
void call_note_user(choir_comm *comm);

/* call_blocks: does a call block: without an event and outside groups?  call_may_block: may one here and now?
 * call_may_start: a collective may, or it does not block. */
bool call_blocks(choir_event **event_p);
choir_status call_may_block(const char *call, choir_comm *comm, bool pair);
/* call_may_block_behind: after so many collectives that the caller is about to start before it. */
choir_status call_may_block_behind(const char *call, choir_comm *comm, bool pair, uint64_t before);
choir_status call_may_start(const char *call, choir_comm *comm, choir_event **event_p);

/* group_add: gives the runs of a call to the group that is open on this thread.
 * group_close: choir_group_end, or, where st is a failure of one of its calls, choir_group_cancel; the failure. */
void group_add(struct run *const *runs, size_t n, bool waits);
choir_status group_close(choir_status st);

#endif
