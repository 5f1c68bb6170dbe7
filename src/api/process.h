/* SPDX-License-Identifier: MIT */
/* The facts of processes and ranks from which each process of a new comm computes the same layout. */
#ifndef API_PROCESS_H
#define API_PROCESS_H

#include "node/bell.h"

#include <stdint.h>

/* Facts of a rank. */
struct rank_facts {
	int32_t rank;           /* wanted; -1 = next in order */
	int32_t endpoint;       /* inherited; -1 = made here */
	uint64_t device;        /* a hash of the device's name and versions: equal devices reduce to equal bits */
	uint64_t command_bytes; /* dev_command_bytes */
	uint64_t far_memory;    /* 1: dev_has_far_memory */
};

/* Facts of a process: the first gather.  Where a process has several ranks, their facts are the second one. */
struct process {
	uint32_t magic;
	int32_t n_local;
	int64_t id;              /* node/process_id.h */
	uint64_t machine;        /* equal where processes can share memory: machine, user, network namespace */
	uint64_t host, uid, net; /* these three of it, to say which of them differs */
	uint64_t context;        /* process 0's becomes the comm's */
	int32_t has_transport;
	int32_t ranks_per_node;
	int32_t keyed;
	int32_t status;          /* a choir_status: what came before */
	uint64_t rules;          /* rules_hash: ranks with other rules would wait for each other in other algorithms */
	struct rank_facts first; /* of its ranks */
	uint64_t core_cache_bytes; /* 0 = unknown */
	uint64_t message_bytes;    /* of its transport; 0 = its own choice, or it has none */
	struct bell_address bell;
	unsigned char cores[128]; /* a cpu_set_t: where its threads may run */
};

#endif
