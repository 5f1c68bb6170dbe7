/* SPDX-License-Identifier: MIT */
/* A number for a process that no other process of the machine has: two containers may both have a process 1. */
#ifndef NODE_PROCESS_ID_H
#define NODE_PROCESS_ID_H

#include <stdbool.h>
#include <stdint.h>

/* process_id: of this process: its pid, and above it its pid namespace.
 * process_pid: the pid of a process in its own namespace, for sentences too.
 * process_is_visible: true if that pid means the same process here. */
int64_t process_id(void);
int process_pid(int64_t id);
bool process_is_visible(int64_t id);

#endif
