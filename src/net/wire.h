/* SPDX-License-Identifier: MIT */
/* The header of every message, and the call record, by which ranks compare their calls in the arena and over the
 * network. */
#ifndef NET_WIRE_H
#define NET_WIRE_H

#include <choir/types.h>

/* The parameters of a call on which all ranks agree.  No padding: compared by memcmp and sent as it is; all ranks have
 * one byte order. */
struct call_record {
	uint8_t collective;
	uint8_t dtype;
	uint8_t op;
	uint8_t flags;
	union {
		int32_t root;
		int32_t n_tensors; /* RECORD_OF_LIST */
	};
	uint64_t count;
	uint64_t hash;      /* of other parameters that must agree: counts of a v-collective, rules, attributes */
	char algorithm[24]; /* name, zero padded */
};
/* flags: part of a call on a list of n_tensors tensors; a call on one device without other ranks, of that "algorithm";
 * a reduction that is folded in rank order */
enum { RECORD_OF_LIST = 1, RECORD_ON_DEVICE = 2, RECORD_ORDER_RANKS = 4 };
enum { RECORD_USER_OP = 255 }; /* op: one of the caller's, whose code is the upper half of `hash` */
_Static_assert(sizeof(struct call_record) == 48, "fits the record of an arena lane");

enum wire_kind {
	WIRE_DATA = 1,
	WIRE_FAIL = 2,     /* the comm failed; payload: the sentence; key: the status */
	WIRE_ASK = 3,      /* liveness query of a rank that waits; key and record: its call; WIRE_HERE answers */
	WIRE_HERE = 4,     /* key: how many calls the sender has started; tag: the rank it waits for + 1, 0: none */
	WIRE_KEY = 6,      /* key: of a keyed call; tag: enum wire_key */
	WIRE_GONE = 5,     /* the sender makes no more calls; payload: struct wire_gone */
	WIRE_ASK_GONE = 7, /* has rank `tag` gone?  A receiver that was told so passes that rank's WIRE_GONE on */
};

enum wire_key {
	WIRE_KEY_SAID,    /* to rank 0: all ranks of a node have made the call */
	WIRE_KEY_ORDERED, /* record.count: its place in the order, from 1 on */
	WIRE_KEY_ASKED,   /* has the receiver made the call?  record.count: the place of the sender's last begun call */
	WIRE_KEY_MADE,    /* the sender has */
	WIRE_KEY_BEGUN,   /* it has, and was told that the key is next */
};

/* The calls that a rank has made when it destroys its comm or its process ends.  The header's record is that of its
 * last collective, if known; its key the status of a failure of another comm that came after that one, SUCCESS if there
 * is none.  Its sentence is the end of the payload. */
struct wire_gone {
	uint64_t calls;          /* collectives */
	uint64_t sent, received; /* send and recv calls with the rank that gets this message */
	uint32_t ended;          /* 1: its process has ended */
	uint32_t has_record;     /* 1: the header's record is valid */
	/* tags other than 0 between the two; behind it a wire_tagged of each, or of none if there are more than
	 * WIRE_TAGS */
	uint64_t n_tags;
	uint64_t n_pairs; /* behind those, of all ranks, for a receiver that passes it on; WIRE_NO_PAIRS: it cannot */
};
#define WIRE_NO_PAIRS UINT64_MAX

/* sent and received are of the rank that has gone, with the rank that gets the message; of pairs with that rank. */
struct wire_tagged {
	uint32_t tag;
	int32_t rank;
	uint64_t sent, received;
};
enum { WIRE_TAGS = 256 };

struct wire_header {
	uint32_t magic; /* WIRE_MAGIC: version and byte order */
	uint32_t kind;
	uint64_t comm;    /* context id */
	uint64_t key;     /* the call's sequence number; for send and recv see exec/tagged.h */
	int32_t src, dst; /* comm ranks */
	uint32_t tag;
	uint32_t bytes_check; /* low 32 bits of the payload's length, to detect a truncated message */
	struct call_record record;
};
#define WIRE_MAGIC 0x63687231u
#define WIRE_PAIR  (1ull << 63)
_Static_assert(sizeof(struct wire_header) == 88, "no padding");

/* The offset of the payload in a packet: a multiple of a cache line. */
#define WIRE_PREFIX_BYTES 128

#endif
