/* SPDX-License-Identifier: MIT */
/* The form of a call: what the arguments of a public function mean.  One constant row a function, beside its
 * definition. */
#ifndef API_FORM_H
#define API_FORM_H

#include "api/call.h"
#include "exec/prepared.h"

/* How many times `count` elements a buffer holds; of AT_ROOT once, on the root alone.  A buffer of NONE is not looked
 * at. */
enum blocks { BLOCKS_NONE, BLOCKS_ONE, BLOCKS_ALL, BLOCKS_AT_ROOT };

struct call_form {
	const char *name;             /* "choir_allreduce" */
	enum collective collective;
	enum blocks send, recv;
	bool reduces;                 /* takes an operator */
	bool rooted;                  /* takes a root or a peer */
	/* in place: the shorter buffer is this rank's block of the longer one; else both begin together */
	bool holds_mine;
	/* Checks all that can be checked, chooses and plans; nothing is sent, enqueued or changed. */
	choir_status (*prepare)(choir_comm *comm, const struct call_key *key, const choir_call *call,
	                        struct prepared **out_p);
};

#endif
