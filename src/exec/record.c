/* SPDX-License-Identifier: MIT */
#include "exec/record.h"

#include "base/dtype.h"
#include "base/plural.h"
#include "base/user_op.h"
#include "exec/lane.h"

#include <stdio.h>
#include <string.h>
#include <xxhash.h>

_Static_assert(N_COLLECTIVES <= UINT8_MAX && N_DTYPES <= UINT8_MAX && (int)N_OPS <= (int)RECORD_USER_OP,
               "a record's bytes hold them, and N_COLLECTIVES, which calls of one device have");
_Static_assert(sizeof(struct call_record) == ARENA_RECORD_BYTES && sizeof(struct call_record) <= RING_RECORD_BYTES,
               "lanes and ring items hold a record");

/* "12", or "12 'gradients'" of a call that has a name; "12 with tag 7" of a send. */
static const char *describe_number(uint64_t key, const char *name, char *text, size_t bytes)
{
	bool pair = (key & WIRE_PAIR) != 0;
	unsigned long long number = pair ? (uint32_t)key : key;
	char tag[24] = "";

	if (pair && tagged_tag(key) != 0)
		snprintf(tag, sizeof tag, " with tag %u", (unsigned)tagged_tag(key));
	if (name[0] != '\0')
		snprintf(text, bytes, "%llu '%s'%s", number, name, tag);
	else
		snprintf(text, bytes, "%llu%s", number, tag);
	return text;
}

/* ", sum", or "" of a collective that takes no operator. */
static const char *describe_op(const struct call_record *record, char text[USER_OP_CODE_BYTES + 2])
{
	char code[USER_OP_CODE_BYTES];
	const char *name = record->op != RECORD_USER_OP ? choir_op_name(record->op)
	                                                : user_op_code_name((choir_op)(record->hash >> 32), code);

	text[0] = '\0';
	if (record->collective >= N_COLLECTIVES || collective_has((enum collective)record->collective, TRAIT_REDUCES))
		snprintf(text, USER_OP_CODE_BYTES + 2, ", %s", name);
	return text;
}

void record_set_algorithm(struct call_record *record, const char *name)
{
	memcpy(record->algorithm, name, strnlen(name, sizeof record->algorithm - 1));
}

void record_set_op(struct call_record *record, choir_op op)
{
	choir_op code = user_op_code(op);

	record->op = (uint8_t)(user_op_is(code) ? RECORD_USER_OP : op);
	if (user_op_is(code))
		record->hash = ((record->hash ^ record->hash >> 32) & UINT32_MAX) | (uint64_t)code << 32;
}

const char *record_describe(const struct call_record *record, uint64_t key, const char *name, char *text, size_t bytes)
{
	const char *function =
	    record->collective < N_COLLECTIVES ? collective_name((enum collective)record->collective) : "?";
	const char *order = record->flags & RECORD_ORDER_RANKS ? ", order=ranks" : "";
	char number[80], op_text[USER_OP_CODE_BYTES + 2];
	const char *op = describe_op(record, op_text);

	describe_number(key, name, number, sizeof number);
	if (record->flags & RECORD_ON_DEVICE)
		snprintf(text, bytes, "%.24s #%s (%llu x %s)", record->algorithm, number,
		         (unsigned long long)record->count, choir_dtype_name(record->dtype));
	else if (record->collective == COLLECTIVE_BARRIER)
		snprintf(text, bytes, "%s #%s", function, number);
	else if (key & WIRE_PAIR)
		snprintf(text, bytes, "send/recv #%s (%llu x %s)", number, (unsigned long long)record->count,
		         choir_dtype_name(record->dtype));
	else if (record->flags & RECORD_OF_LIST)
		snprintf(text, bytes, "%s of %d tensor%s #%s (list %08x: %llu x %s%s, %.24s%s)", function,
		         (int)record->n_tensors, plural(record->n_tensors), number, (unsigned)record->hash,
		         (unsigned long long)record->count, choir_dtype_name(record->dtype), op, record->algorithm,
		         order);
	else if (record->collective < N_COLLECTIVES &&
	         collective_has((enum collective)record->collective, TRAIT_ROOTED))
		snprintf(text, bytes, "%s #%s (%llu x %s%s, root %d, %.24s%s)", function, number,
		         (unsigned long long)record->count, choir_dtype_name(record->dtype), op, (int)record->root,
		         record->algorithm, order);
	else
		snprintf(text, bytes, "%s #%s (%llu x %s%s, %.24s%s)", function, number,
		         (unsigned long long)record->count, choir_dtype_name(record->dtype), op, record->algorithm,
		         order);
	return text;
}

uint64_t record_hash(const struct call_record *record)
{
	return XXH3_64bits(record, sizeof *record);
}

const char *run_call_text(const struct run *run, char *text, size_t bytes)
{
	struct call_record record = run->bound.record;

	if (run->bound.my_count != 0)
		record.count = run->bound.my_count;
	return record_describe(&record, run->number, run_caller_name(run), text, bytes);
}

choir_status record_mismatch(const struct choir_comm *comm, uint64_t key, const char *name,
                             const struct call_record *mine, int peer, const struct call_record *theirs)
{
	char mine_text[RUN_TEXT_BYTES], their_text[RUN_TEXT_BYTES];

	return error_set(CHOIR_MISMATCH, "%s: calls differ: rank %d calls %s, rank %d calls %s", comm->name, comm->rank,
	                 record_describe(mine, key, name, mine_text, sizeof mine_text), peer,
	                 record_describe(theirs, key, "", their_text, sizeof their_text));
}

choir_status run_mismatch(const struct run *run, int peer, const struct call_record *theirs)
{
	return record_mismatch(run->comm, run->number, run_caller_name(run), &run->bound.record, peer, theirs);
}

choir_status run_compare(struct run *run, int local_rank)
{
	struct call_record theirs, alike;

	memcpy(&theirs, comm_lane(run->comm, local_rank, run->lane)->record, sizeof theirs);
	alike = theirs;
	alike.hash = run->bound.record.hash;
	if (run->bound.become_script == NULL || memcmp(&alike, &run->bound.record, sizeof alike) != 0)
		return run_mismatch(run, comm_rank_at(run->comm, local_rank), &theirs);
	run->counts_differ = true;
	return CHOIR_SUCCESS;
}

static choir_status check_node(struct run *run)
{
	struct choir_comm *comm = run->comm;

	for (int local_rank = 0; local_rank < comm->node_size; local_rank++) {
		struct lane_view view = lane_look(run, local_rank, 0);

		if (view.is_here && !view.same_call)
			TRY(run_compare(run, local_rank));
	}
	return CHOIR_SUCCESS;
}

choir_status run_check_ended(struct run *run)
{
	if (run->bound.pair || run->bound.single_rank || run->records_compared || run->owes_flag)
		return CHOIR_SUCCESS;
	atomic_thread_fence(memory_order_seq_cst); /* mine is published: of two ranks at least one sees the other's */
	return check_node(run);
}

choir_status run_check_records(struct run *run)
{
	struct call_record theirs;
	int src;

	if (run->state != RUN_PEER_BUFFERS && run->state != RUN_MAP && run->state != RUN_STEPS &&
	    run->state != RUN_PREVIOUS_PLAN)
		return CHOIR_SUCCESS;
	if (!run->bound.pair)
		TRY(check_node(run));
	if (run->bound.pair_sends) /* a message of the peer's with that number is for my recv */
		return CHOIR_SUCCESS;
	if (inbox_find_mismatch(&run->comm->inbox, run->number, run->bound.pair ? run->bound.pair_peer : -1,
	                        &run->bound.record, &theirs, &src))
		return run_mismatch(run, src, &theirs);
	return CHOIR_SUCCESS;
}
