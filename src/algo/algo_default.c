/* SPDX-License-Identifier: MIT */
/* The built-in rules: between nodes default_network.c; on one node default_node, else the first algorithm of the table
 * that can run.  Bytes, layout and rates that all ranks agreed on decide, so all choose the
 * same.
 *
 * Note [measured rules].  The limits for few ranks on one node are measured, and the cost model's default costs are
 * such that it says the same within 1.3 (tests/plan/test_default.c). */
#include "algo/algo.h"
#include "algo/blocks.h"
#include "algo/default_network.h"
#include "base/arithmetic.h"

#include <string.h>

/* In all ranks' inputs: one-shot reads n inputs on each rank, two-shot waits twice. */
#define ONESHOT_TOTAL_BYTES (64 * 1024)
/* For shorter calls a copy into a slot costs less than the second wait of the direct algorithms. */
#define DIRECT_BYTES (2 * 1024)
/* Among more ranks the second wait is the lesser cost earlier: Note [many ranks]. */
#define FEW_RANKS        8
#define EXSCAN_FEW_RANKS 4
/* In all ranks' inputs: from so many on, many ranks do not each read them all out of the slots. */
#define DIRECT_TOTAL_BYTES (FEW_RANKS * DIRECT_BYTES)
/* From so many bytes and ranks on pieces passed along all ranks outrun slots, where the last rank reads all inputs: a
 * scan from 2 MB on, an exscan from 2.5 (among 4 and 5 ranks from 4 and 3). */
#define PREFIX_CHAIN_BYTES (5 * 512 * 1024)
#define PREFIX_CHAIN_RANKS 3
/* The streams of an alltoall in slots have a gap where the number of ranks is odd, among three of half of their bytes:
 * longer blocks go as messages. */
#define ALLTOALL_OF_THREE_BYTES (512 * 1024)
/* Of device_least, where no rates were measured. */
#define DEVICE_BYTES (128 * 1024)
/* The same of LIST_BYTES for each buffer of a list. */
#define LIST_BYTES 1024
/* In all ranks' inputs: in slots only the root of a gather waits, but it copies all blocks.  FEW: of so many ranks. */
#define GATHER_TOTAL_BYTES     (4 * 1024)
#define GATHER_TOTAL_BYTES_FEW (8 * 1024)
#define GATHER_FEW_RANKS       4
/* For longer calls reading all inputs on both ranks costs more than writing half of the result to the peer. */
#define DIRECT_ONESHOT_BYTES (8 * 1024)

/* Note [far or on the device].  By way of the host a call of b bytes takes a read and a write: as long as 2 r + 2 b
 * bytes of the bus, r = command_bytes.  (The read and the write of a long call overlap, but then the host moves the
 * bytes of all ranks, whose rate nothing tells.)  On the device the copies of n ranks and the reduction are 2 n
 * commands, one behind another, for which the bus would carry 2 n r; and each rank copies 2 (n - 1) / n of b between
 * devices, each byte of which takes q times as long as on the bus.  So the device is ahead from
 * (n - 1) r / (1 - q (n - 1) / n) on, and never from q = n / (n - 1) on: where the driver copies by way of the host, q
 * is 2.  At least twice (n - 1) r is asked, which leaves the copies half of the bus's rate.  The last rank of a scan
 * copies (n - 1) b, n / 2 times as much.  Each buffer of a list is a command each way on the device, while by way of
 * the host short ones are gathered: a list wants r bytes a buffer too.  Only the time depends on it, never the bits. */
uint64_t algo_device_least(int ranks, bool prefix, uint64_t command_bytes, unsigned peer_percent)
{
	uint64_t n = (uint64_t)ranks, copies = (n - 1) * peer_percent * (prefix ? n : 2), all = 200 * n;

	if (command_bytes == 0)
		return DEVICE_BYTES;
	if (copies >= all)
		return UINT64_MAX;
	return (n - 1) * command_bytes * max_u64(2 * (all - copies), all) / (all - copies);
}

static uint64_t device_least(const struct algo_in *in)
{
	uint64_t command = in->far_memory ? in->command_bytes : 0;
	uint64_t list = in->lists * (command > 0 ? command : LIST_BYTES);
	bool prefix = collective_has(in->collective, TRAIT_PREFIX);

	return max_u64(list, algo_device_least(in->layout->n, prefix, command, in->peer_percent));
}

static bool gathers(const struct algo_in *in)
{
	return in->collective == COLLECTIVE_GATHER || in->collective == COLLECTIVE_GATHERV;
}

/* Note [many ranks].  In slots each block for a peer, or from one, is a copy of its own, and a one-shot call reads the
 * inputs of all ranks, while the direct algorithms wait twice whatever the number of ranks.  The limits of more than
 * two ranks are those of the cost model, where the one way becomes as fast as the other. */
static uint64_t direct_least(const struct algo_in *in)
{
	uint64_t n = (uint64_t)in->layout->n;
	bool few = n <= FEW_RANKS;

	if (collective_sends_blocks(in->collective) || gathers(in))
		return few ? min_u64(DIRECT_BYTES, DIRECT_TOTAL_BYTES / 4 / n) : 1;
	switch (in->collective) {
	case COLLECTIVE_ALLREDUCE:
	case COLLECTIVE_REDUCE:
		return few ? DIRECT_BYTES : DIRECT_TOTAL_BYTES / n;
	case COLLECTIVE_SCAN:
		return few ? DIRECT_BYTES : 3 * DIRECT_BYTES / 2;
	case COLLECTIVE_EXSCAN: /* its direct plan copies every prefix besides */
		return n <= EXSCAN_FEW_RANKS ? DIRECT_BYTES : 3 * DIRECT_BYTES;
	default:
		return few ? DIRECT_BYTES : 2 * DIRECT_BYTES;
	}
}

static bool gathers_in_slots(const struct algo_in *in)
{
	uint64_t most = in->layout->n <= GATHER_FEW_RANKS ? GATHER_TOTAL_BYTES_FEW : GATHER_TOTAL_BYTES;

	return gathers(in) && in->layout->n <= FEW_RANKS && rank_block_mean(in) * (uint64_t)in->layout->n <= most;
}

static bool chains_prefix(const struct algo_in *in)
{
	return collective_has(in->collective, TRAIT_PREFIX) && in->layout->n >= PREFIX_CHAIN_RANKS &&
	       in->bytes >= PREFIX_CHAIN_BYTES;
}

static bool has_long_gaps(const struct algo_in *in)
{
	return in->collective == COLLECTIVE_ALLTOALL && in->layout->n == 3 && in->bytes >= ALLTOALL_OF_THREE_BYTES;
}

/* The choices on one node that depend on the bytes; NULL = the table's order decides. */
static const struct algorithm *default_node(const struct algo_in *in)
{
	bool is_short = in->bytes * (uint64_t)in->layout->n <= ONESHOT_TOTAL_BYTES && in->bytes <= in->slot_bytes;
	const char *long_name = in->collective == COLLECTIVE_REDUCE ? "slots" : "twoshot";

	if (in->shared && gathers_in_slots(in))
		return algo_find(in->collective, "slots");
	if (in->shared && rank_block_mean(in) >= direct_least(in)) {
		bool alone =
		    in->collective == COLLECTIVE_ALLREDUCE && in->layout->n == 2 && in->bytes <= DIRECT_ONESHOT_BYTES;

		return algo_find(in->collective, alone ? "direct_oneshot" : "direct");
	}
	if (in->device_bytes && rank_block_mean(in) >= device_least(in))
		return algo_find(in->collective, "device");
	if (chains_prefix(in))
		return algo_find(in->collective, "chain");
	if (has_long_gaps(in))
		return algo_find(in->collective, "pairwise");
	if (in->collective == COLLECTIVE_ALLREDUCE || in->collective == COLLECTIVE_REDUCE)
		return algo_find(in->collective, is_short ? "oneshot" : long_name);
	return NULL;
}

static bool may_run(const struct algorithm *algorithm, const struct algo_in *in)
{
	bool small = (rank_block_mean(in) < direct_least(in) && strncmp(algorithm->name, "direct", 6) == 0) ||
	             (algorithm->on_device && rank_block_mean(in) < device_least(in));

	return algorithm->collective == in->collective && !small && !algo_unfit(algorithm, in);
}

const struct algorithm *algo_default(const struct algo_in *in)
{
	const struct algorithm *wanted = NULL;

	if (in->layout->n_nodes > 1)
		wanted = default_network(in);
	else if (in->layout->n > 1)
		wanted = default_node(in);
	if (wanted && may_run(wanted, in))
		return wanted;
	/* The rows are in order: one rank, direct, one node, network. */
	for (size_t i = 0; i < n_algorithms; i++)
		if (may_run(&algorithms[i], in))
			return &algorithms[i];
	return NULL;
}
