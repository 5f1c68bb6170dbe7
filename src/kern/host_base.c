/* SPDX-License-Identifier: MIT */
/* The host loops for any CPU of the architecture. */
#define HOST_TWINS host_base_twins
#include "kern/host_table.h"
