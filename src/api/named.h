/* SPDX-License-Identifier: MIT */
/* Named groups: which names a rank of a comm knows, with their members. */
#ifndef API_NAMED_H
#define API_NAMED_H

#include "exec/comm.h"

/* named_forget: the comm goes: as a group, and as a parent of groups. */
void named_forget(const choir_comm *comm);

/* named_create: choir_comm_create_group_local; call: what an error names. */
choir_status named_create(const char *call, int n_local, choir_comm *const *comms, const char *name, const int *ranks,
                          int n_ranks, const choir_comm_config *config, choir_comm **comms_out);

#endif
