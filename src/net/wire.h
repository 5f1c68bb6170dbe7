/* SPDX-License-Identifier: MIT */
/* What stands before every message's bytes, and the call record that the arena and the network both compare. */
#ifndef NET_WIRE_H
#define NET_WIRE_H

#include <choir/types.h>

/* What a call is, in the form in which ranks compare it.  No padding: compared by memcmp, sent as is (all ranks have
 * one byte order). */
struct call_record {
	uint8_t collective;
	uint8_t dtype;
	uint8_t op;
	uint8_t flags;
	int32_t root;
	uint64_t count;
	uint64_t hash;      /* of what else must agree: counts of a v-collective, sparse attributes, rules */
	char algorithm[24]; /* name, zero padded */
};
/* flags: part of a call on a list of `root` tensors; a call on one device, without other ranks, of that "algorithm" */
enum { RECORD_OF_LIST = 1, RECORD_ON_DEVICE = 2 };
_Static_assert(sizeof(struct call_record) == 48, "fits the arena's flag line");

enum wire_kind {
	WIRE_DATA = 1,
	WIRE_FAIL = 2, /* payload: the sentence; key = status */
	WIRE_ASK = 3,  /* key and record: a call that the sender waits in; answered by */
	WIRE_HERE = 4, /* key = number of calls that the sender has started */
	WIRE_GONE = 5, /* payload: struct wire_gone; the sender makes no more calls */
};

/* What a rank has done when it destroys its comm, or its process ends.  The header's record is that of its last
 * collective, if known. */
struct wire_gone {
	uint64_t calls;          /* collectives */
	uint64_t sent, received; /* send and recv calls between the sender and the receiver of this */
	uint32_t ended;          /* its process has ended */
	uint32_t has_record;
};

struct wire_header {
	uint32_t magic; /* WIRE_MAGIC: version and byte order */
	uint32_t kind;
	uint64_t comm;    /* context id */
	uint64_t key;     /* the call: sequence number, or for send / recv the pair's own count with WIRE_PAIR set */
	int32_t src, dst; /* comm ranks */
	uint32_t tag;
	uint32_t bytes_check; /* low 32 bits of the payload's length: a torn message is an error */
	struct call_record record;
};
#define WIRE_MAGIC 0x63687231u
#define WIRE_PAIR  (1ull << 63)
_Static_assert(sizeof(struct wire_header) == 88, "no padding");

/* The payload begins here, at a cache line. */
#define WIRE_PREFIX_BYTES 128

#endif
