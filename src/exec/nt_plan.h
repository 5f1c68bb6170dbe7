/* SPDX-License-Identifier: MIT */
/* Do plans write what peers read, into slots and into peers' buffers, by non-temporal (nt) stores?  The first rank of a
 * node times its plans and chooses for all (base/nt.h). */
#ifndef EXEC_NT_PLAN_H
#define EXEC_NT_PLAN_H

#include "base/nt.h"
#include "node/arena.h"

/* The bits of arena_control.nt: one for each kind and size of plan, then those of scripts, which time whole calls. */
enum { NT_REDUCED, NT_SCATTERED, NT_COPIED, NT_PAIRS, NT_PEERS, NT_KINDS }; /* kinds of plans */
enum { NT_SIZES = 12, NT_PLANS = NT_KINDS * NT_SIZES, NT_SCRIPTS = 4, NT_ENTRIES = 64, NT_P2P_SIZES = 6 };
_Static_assert(NT_PLANS + NT_SCRIPTS <= NT_ENTRIES && NT_ENTRIES <= 64 && NT_P2P_SIZES <= 64, "a bit for each entry");

struct nt_entries {                                          /* driver only; zero to begin with */
	struct nt_entry node[NT_ENTRIES];                    /* the first rank's of a node */
	struct nt_entry p2p[ARENA_RING_RANKS][NT_P2P_SIZES]; /* of each sender of the node: p2p.c */
};

struct run;
struct choir_comm;

/* nt_of_comm: the choice that the node's ranks share. */
struct nt_choice nt_of_comm(struct choir_comm *comm);

/* nt_plan_begin: chooses for the plan that the run starts now.  nt_plan_end: that plan is done. */
void nt_plan_begin(struct run *run);
void nt_plan_end(struct run *run);

#endif
