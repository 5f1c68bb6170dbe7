/* SPDX-License-Identifier: MIT */
/* Comms: ordered groups of ranks.  A handle is one rank's, bound to that rank's device. */
#ifndef CHOIR_COMM_H
#define CHOIR_COMM_H

#include <choir/device.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct choir_comm choir_comm;
struct choir_transport;

typedef struct choir_comm_config {
	size_t struct_size;  /* sizeof(choir_comm_config) */
	/* of every call, from the moment its deps are complete; 0 = CHOIR_DEADLINE_MS or 10 minutes */
	int64_t deadline_ms;
	int64_t warn_ms;     /* a late peer is named in the log after this; 0 = CHOIR_WARN_MS or 30 s */
	/* > 0: consecutive ranks of that number count as one node, whatever the machine says; 0 = ask the machine */
	int ranks_per_node;
	const char *rules;   /* algorithm rules ("allreduce: 0-16k oneshot; 16k- twoshot") or "@" and the path of a file
	                        of them,   NULL = CHOIR_RULES or the defaults; copied */
	const char *name;    /* for messages; NULL = "comm"; copied */
	/* joins the nodes; the create call takes it over, whatever its outcome; NULL = none */
	struct choir_transport *transport;
} choir_comm_config;
#define CHOIR_COMM_CONFIG_INIT { sizeof(choir_comm_config), 0, 0, 0, NULL, NULL, NULL }

/* How processes meet without MPI: an allgather of the caller's.  gather(ctx, mine, bytes, all) writes size * bytes
 * bytes to all, in rank order, and returns 0, or anything else on failure.  Called a few times during create and split,
 * from the calling thread. */
typedef struct choir_bootstrap {
	size_t struct_size; /* sizeof(choir_bootstrap) */
	int rank, size;     /* this process's among the processes that meet */
	int (*gather)(void *ctx, const void *mine, size_t bytes, void *all);
	void *ctx;
} choir_bootstrap;

/* choir_comm_create_local: n_local ranks of this process, one device each (a device may serve several): they are all
 * there is. comms_out[i] is rank i.  Does not block on peers.  ARGUMENT, NO_MEMORY, OPENCL. */
CHOIR_API choir_status choir_comm_create_local(int n_local, choir_device *const *devices,
                                               const choir_comm_config *config, choir_comm **comms_out);

/* choir_comm_create: the ranks of all processes of the bootstrap, n_local of this one, ordered by process.  Collective
 * over the processes; blocks in the bootstrap's gather.  Without a transport all processes must share one machine and
 * user. */
CHOIR_API choir_status choir_comm_create(const choir_bootstrap *bootstrap, int n_local, choir_device *const *devices,
                                         const choir_comm_config *config, choir_comm **comms_out);

/* choir_comm_split: a comm of the ranks that gave the same color >= 0, ordered by key, then rank; a negative color gets
 * *out_p NULL.  Collective and blocking: with several ranks in one thread use choir_comm_split_local. */
CHOIR_API choir_status choir_comm_split(choir_comm *comm, int color, int key, choir_comm **out_p);

/* choir_comm_split_local: the same for n_local ranks of this process driven by one thread. */
CHOIR_API choir_status choir_comm_split_local(int n_local, choir_comm *const *comms, const int *colors, const int *keys,
                                              choir_comm **comms_out);

/* choir_mem_alloc: symmetric memory: every rank gets `bytes` bytes, zeroed, page aligned, that the other ranks of its
 * node reach too.  Collectives whose buffers lie in such memory (anywhere in it) on all ranks move each byte once;
 * where a rank gives other memory the call works as ever.  *ptr_p: use with choir_host.  *mem_p (mem_p may be NULL): a
 * cl_mem over the same bytes, not retained for the caller, or NULL where the device is none that the host shares memory
 * with.  Collective and blocking; the same size on all ranks (MISMATCH).  At most 64 at a time on a comm.  NO_MEMORY,
 * TRANSPORT: on all ranks, none keeps its share.  With several ranks in one thread use choir_mem_alloc_local; mems may
 * be NULL. */
CHOIR_API choir_status choir_mem_alloc(choir_comm *comm, size_t bytes, void **ptr_p, cl_mem *mem_p);
CHOIR_API choir_status choir_mem_alloc_local(int n_local, choir_comm *const *comms, size_t bytes, void **ptrs,
                                             cl_mem *mems);

/* choir_mem_free: gives it and its cl_mem back.  Collective and blocking: no call that uses it may be unfinished.  What
 * is not freed goes with the comm: its last use is choir_comm_destroy. */
CHOIR_API choir_status choir_mem_free(choir_comm *comm, void *ptr);
CHOIR_API choir_status choir_mem_free_local(int n_local, choir_comm *const *comms, void *const *ptrs);

/* choir_mem_register: makes memory that the caller has symmetric, without copying it: it must lie in a shared mapping
 * of a file that this process can open again (/dev/shm, a file, a memfd where the kernel lets its mapping be opened).
 * Private memory is UNSUPPORTED, on all ranks; nothing has changed then.  The same size on all ranks.  Ranks that are
 * threads of one process need no registering: they reach all memory of each other's.  Collective and blocking, like
 * alloc.
 * choir_mem_deregister: before the memory is unmapped; collective and blocking; no call that uses it may be
 * unfinished. */
CHOIR_API choir_status choir_mem_register(choir_comm *comm, void *ptr, size_t bytes);
CHOIR_API choir_status choir_mem_register_local(int n_local, choir_comm *const *comms, void *const *ptrs, size_t bytes);
CHOIR_API choir_status choir_mem_deregister(choir_comm *comm, void *ptr);
CHOIR_API choir_status choir_mem_deregister_local(int n_local, choir_comm *const *comms, void *const *ptrs);

CHOIR_API int choir_comm_rank(const choir_comm *comm);
CHOIR_API int choir_comm_size(const choir_comm *comm);
CHOIR_API int choir_comm_nodes(const choir_comm *comm);               /* number of nodes */
/* the node of a rank, -1 if there is no such rank */
CHOIR_API int choir_comm_node(const choir_comm *comm, int rank);
CHOIR_API int choir_comm_node_rank(const choir_comm *comm, int rank); /* its place on its node */
CHOIR_API choir_device *choir_comm_device(const choir_comm *comm);

/* choir_comm_status: SUCCESS, or the failure that made the comm unusable (sticky; its sentence in choir_last_error). */
CHOIR_API choir_status choir_comm_status(const choir_comm *comm);

/* choir_comm_abort: fails what is in flight on this comm, here and on every rank, and returns at once. */
CHOIR_API choir_status choir_comm_abort(choir_comm *comm);

/* choir_comm_destroy: accepts no more calls (ABORTED), drains until the deadline, then ends what is left with TIMEOUT,
 * on every rank.  When it returns every event of the comm is complete, and calls of other threads return; callbacks
 * that are running are waited for.  Ranks that wait for this one from then on learn of it (ABORTED).  NULL is silent.
 * Events and devices may outlive it or not. */
CHOIR_API choir_status choir_comm_destroy(choir_comm *comm);

/* choir_comm_warm: builds the kernels of (dtype, op) ahead of their first use.  Blocks for the build. */
CHOIR_API choir_status choir_comm_warm(choir_comm *comm, choir_dtype dtype, choir_op op);

/* choir_comm_json: what choir-info and the bench print of a comm: ranks, nodes, transport, rules.  Freed with
 * free(). */
CHOIR_API choir_status choir_comm_json(const choir_comm *comm, char **text_p);

#ifdef __cplusplus
}
#endif

#endif
