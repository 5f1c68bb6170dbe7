/* SPDX-License-Identifier: MIT */
/* The caller's handle of a top-k state. */
#ifndef API_TOPK_STATE_H
#define API_TOPK_STATE_H

#include "exec/comm.h"
#include "topk/state.h"

struct choir_topk_state {
	struct topk_state *state;
	choir_comm *comm; /* a reference */
};

/* topk_check_state: ARGUMENT naming the call if there is none. */
choir_status topk_check_state(const char *call, const choir_topk_state *state);

#endif
