/* SPDX-License-Identifier: MIT */
/* The options of dense calls: "key=value, key=value" of the call, and behind them those of the comm.  docs/options.md
 * says what each means. */
#ifndef API_OPTIONS_H
#define API_OPTIONS_H

#include "api/call.h"

/* How an algorithm synchronises: by phases in shared memory, by messages, or by both in turn. */
enum option_way { WAY_ANY, WAY_PHASES, WAY_MESSAGES, WAY_BOTH };

struct dense_options {
	const struct algorithm *algorithm; /* NULL: the rules choose */
	enum option_way way;
	const char *way_key;   /* the key that said so, for sentences */
	bool way_of_comm;      /* the comm says so: it holds for the collectives that can go that way */
	uint8_t order;         /* of rings: a ring_order */
	bool order_of_comm;    /* the comm says so: it holds for rings */
	uint64_t chunk_bytes;  /* 0: the library's */
	uint64_t bucket_bytes; /* of a list's buckets; 0: the library's */
	int64_t max_broadcast; /* group size x bytes; -1: not said */
	bool atomic;           /* RECV is written once all of the call has succeeded */
	bool staged;           /* plans access the caller's buffers by copies only */
};

/* options_read: ARGUMENT, naming the nearest key or the values that are wanted; deprecated spellings warn in the
 * log. */
choir_status options_read(const char *call, const choir_comm *comm, const choir_call *given, enum collective collective,
                          struct dense_options *out);

/* options_apply: what the options say of the input of the builders. */
void options_apply(const struct dense_options *options, struct algo_in *in);

/* options_hash: a record's hash with the options that must agree on all ranks; without any it is the hash itself. */
uint64_t options_hash(uint64_t hash, const struct algo_in *in);

/* options_said: a number for those that must agree and that no record names. */
uint64_t options_said(const struct dense_options *options);

/* options_topology: the value that says this order. */
const char *options_topology(uint8_t order);

/* In options_choose.c.  options_choose: the algorithm; NULL: the rules have none.  ARGUMENT: the call's own options
 * contradict the layout. */
choir_status options_choose(const char *call, const choir_comm *comm, const struct dense_options *options,
                            const struct algo_in *in, const struct algorithm **out_p);

/* options_order: must the call fold in rank order ("order=ranks", "order=any"; else as comm->order_ranks says)?
 * ARGUMENT. */
choir_status options_order(const char *call, const choir_comm *comm, const choir_call *given, bool *ranks_p);

/* options_of_comm: checks the text of a comm's options; *order_ranks is what its "order" says, unchanged without one.
 * ARGUMENT. */
choir_status options_of_comm(const char *call, const char *text, int *order_ranks);

/* In options_text.c.  options_find: the last value of a key, of OPTIONS_VALUE_BYTES.  options_none_dense: ARGUMENT if
 * one of the options is for dense collectives only. */
enum { OPTIONS_VALUE_BYTES = 64 };
choir_status options_find(const char *call, const char *text, const char *key, char *value, bool *found);
choir_status options_none_dense(const char *call, const char *text);

#endif
