/* SPDX-License-Identifier: MIT */
/* Named groups: which names a rank of a comm knows, with their members. */
#ifndef API_NAMED_H
#define API_NAMED_H

#include "exec/comm.h"

/* named_forget: the comm goes: as a group, and as a parent of groups. */
void named_forget(const choir_comm *comm);

#endif
