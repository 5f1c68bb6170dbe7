/* SPDX-License-Identifier: MIT */
/* Descriptors for peers that may not open this process's by /proc/PID/fd: those in other user or pid namespaces. */
#ifndef NODE_PORTER_H
#define NODE_PORTER_H

#include <choir/types.h>
#include <stdint.h>

/* The address at which a peer asks this process; zero: the process hands out nothing. */
struct porter_address {
	uint64_t name;   /* of its socket */
	uint64_t secret; /* which a request must have */
};

enum porter_what {
	PORTER_MEMORY, /* a struct shared_head is at its beginning; first: its nonce */
	PORTER_FILE,   /* first, second: device and inode */
	PORTER_SELF,   /* a pidfd of the process; fd is ignored */
};

/* porter_start: from here on a thread of this process answers porter_fetch of its peers; once a process, and once more
 * after a fork.  NO_MEMORY, and TRANSPORT where the machine forbids it: the process has no porter then. */
choir_status porter_start(struct porter_address *out);

/* porter_learn: how process (process_id.h) can be asked; NO_MEMORY.
 * porter_fetch: a descriptor of that process, to be closed by the caller; waits 10 s at most.  -1 and errno: ESRCH
 * where the process is unknown, ECONNREFUSED where it has ended, EACCES where it refuses, ETIMEDOUT. */
choir_status porter_learn(int64_t process, const struct porter_address *address);
int porter_fetch(int64_t process, enum porter_what what, int fd, uint64_t first, uint64_t second);

#endif
