/* SPDX-License-Identifier: MIT */
/* Comms: ordered groups of ranks.  A choir_comm is the handle of one rank and bound to that rank's device. */
#ifndef CHOIR_COMM_H
#define CHOIR_COMM_H

#include <choir/device.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct choir_comm choir_comm;
struct choir_transport;
struct choir_event;

typedef struct choir_comm_config {
	size_t struct_size; /* sizeof(choir_comm_config) */
	/* deadline of every call, from the moment its deps are complete; 0: CHOIR_DEADLINE_MS or 10 minutes */
	int64_t deadline_ms;
	/* time after which a warning in the log names a late rank; 0: CHOIR_WARN_MS or 30 s */
	int64_t warn_ms;
	/* > 0: so many consecutive ranks count as one node; 0: CHOIR_RANKS_PER_NODE or ranks on one machine do */
	int ranks_per_node;
	/* algorithm rules ("allreduce: 0-16k oneshot; 16k- twoshot"), or "@" and the path of a file of rules; copied;
	 * NULL: CHOIR_RULES or the built-in rules.  The same on all ranks, or no comm is made (MISMATCH) */
	const char *rules;
	const char *name; /* in error sentences and the log; copied; NULL: "comm" */
	/* carries messages between nodes; the create call takes ownership, also when it fails; NULL: none.  Where
	 * struct_size ends before this member, no call reads it, and the transport stays the caller's; so does one
	 * whose table of calls ends before destroy, by its own struct_size */
	struct choir_transport *transport;
	/* 1: collective calls match by choir_call.key instead of by their order (docs/keyed.md); the same on all
	 * ranks */
	int keyed;
	/* options of every dense call, as in choir_call.options, whose own come first (docs/options.md); the same on
	 * all ranks; copied; NULL: none */
	const char *options;
	/* 1: every reduction is folded from left to right in rank order, which gives the same bits on every layout, by
	 * every algorithm (docs/determinism.md); 0: as CHOIR_DETERMINISTIC says, or no.  "order" in the options comes
	 * before both.  The same on all ranks */
	int order_ranks;
} choir_comm_config;
#define CHOIR_COMM_CONFIG_INIT                                                                                         \
	{                                                                                                              \
		sizeof(choir_comm_config), 0, 0, 0, NULL, NULL, NULL, 0, NULL, 0                                       \
	}

/* Joins processes without MPI, by an allgather that the caller provides.  gather(ctx, mine, bytes, all) writes
 * size * bytes bytes to all, in rank order, and returns 0, or another value on failure.  choir_comm_create calls it a
 * few times, on the calling thread. */
typedef struct choir_bootstrap {
	size_t struct_size; /* sizeof(choir_bootstrap) */
	int rank, size;     /* of this process among the processes */
	int (*gather)(void *ctx, const void *mine, size_t bytes, void *all);
	void *ctx;
	/* of choir_comm_create_start alone, may be NULL: if that returned SUCCESS, end(ctx) is called once, behind the
	 * last gather, on the same thread, before the event is complete */
	void (*end)(void *ctx);
} choir_bootstrap;
#define CHOIR_BOOTSTRAP_INIT                                                                                           \
	{                                                                                                              \
		sizeof(choir_bootstrap), 0, 1, NULL, NULL, NULL                                                        \
	}

/* choir_comm_create_local: a comm whose n_local ranks all live in this process, with devices[i] for rank i; ranks may
 * share a device.  comms_out[i] is rank i.  Does not wait for other processes.  A rank is taken to be driven by the
 * thread that called on it last: after a thread has handed a rank over to another one, its first call on a rank that it
 * keeps takes an event and waits for that, since a blocking one may return WOULD_DEADLOCK (docs/events.md).  ARGUMENT,
 * NO_MEMORY, OPENCL. */
CHOIR_API choir_status choir_comm_create_local(int n_local, choir_device *const *devices,
                                               const choir_comm_config *config, choir_comm **comms_out);

/* choir_comm_create: a comm of the ranks of all processes of the bootstrap, n_local of them in this one, ordered by
 * process.  Collective over the processes; blocks in the bootstrap's gather.  Without a transport all processes must
 * run on one machine as one user. */
CHOIR_API choir_status choir_comm_create(const choir_bootstrap *bootstrap, int n_local, choir_device *const *devices,
                                         const choir_comm_config *config, choir_comm **comms_out);

/* choir_comm_create_start: choir_comm_create (bootstrap NULL: choir_comm_create_local) on a thread of the library's.
 * Returns at once; *event_p completes once comms_out[0 .. n_local - 1] are set, or with the failure.  Until then they
 * are NULL, gather is called on that thread, and comms_out and the bootstrap's ctx stay valid; the bootstrap itself and
 * config are copied.  There is nothing to destroy before the event is complete, nor after a failure.  ARGUMENT of
 * pointers, sizes and devices and NO_MEMORY at once, all else by the event, a bad value in config too;
 * choir_event_to_cl does not take that event. */
CHOIR_API choir_status choir_comm_create_start(const choir_bootstrap *bootstrap, int n_local,
                                               choir_device *const *devices, const choir_comm_config *config,
                                               choir_comm **comms_out, struct choir_event **event_p);

/* choir_comm_split: a comm of the ranks that gave the same color >= 0, ordered by key, then rank; *out_p is NULL for a
 * negative color.  Collective and blocking: with several ranks in one thread use choir_comm_split_local. */
CHOIR_API choir_status choir_comm_split(choir_comm *comm, int color, int key, choir_comm **out_p);

/* choir_comm_split_local: the same for n_local ranks of this process, in one thread. */
CHOIR_API choir_status choir_comm_split_local(int n_local, choir_comm *const *comms, const int *colors, const int *keys,
                                              choir_comm **comms_out);

/* choir_comm_split_config: the same as choir_comm_split; config (may be NULL) says what differs from the comm's:
 * deadline_ms, warn_ms, rules, options, name, keyed, order_ranks (1 adds it; "order=any" in options lifts it);
 * ranks_per_node and transport are the comm's (ARGUMENT). */
CHOIR_API choir_status choir_comm_split_config(choir_comm *comm, int color, int key, const choir_comm_config *config,
                                               choir_comm **out_p);

/* choir_mem_alloc: symmetric memory: every rank gets `bytes` bytes, zeroed, page aligned, that the other ranks of its
 * node can access too.  A collective moves each byte once if all ranks' buffers lie in such memory, at any offset; it
 * also works if some do not.
 * *ptr_p: for choir_host.  *mem_p (mem_p may be NULL): a cl_mem over the same bytes, not retained for the caller; NULL
 * if the device does not share memory with the host.  The driver of a device with memory of its own is told of the
 * memory (CL_MEM_USE_HOST_PTR), so that the caller's own copies between it and the device need no other memory on their
 * way where the driver can do so; a driver may take as much memory of the device for it.
 * Collective and blocking; the same size on all ranks (MISMATCH); at most 64 at a time on a comm.  After NO_MEMORY or
 * TRANSPORT no rank has its share.  With several ranks in one thread use choir_mem_alloc_local; mems may be NULL. */
CHOIR_API choir_status choir_mem_alloc(choir_comm *comm, size_t bytes, void **ptr_p, cl_mem *mem_p);
CHOIR_API choir_status choir_mem_alloc_local(int n_local, choir_comm *const *comms, size_t bytes, void **ptrs,
                                             cl_mem *mems);

/* choir_mem_free: frees the memory and its cl_mem.  Collective and blocking; no call that uses the memory may be
 * unfinished.  choir_comm_destroy frees the memory that is left. */
CHOIR_API choir_status choir_mem_free(choir_comm *comm, void *ptr);
CHOIR_API choir_status choir_mem_free_local(int n_local, choir_comm *const *comms, void *const *ptrs);

/* choir_mem_register: makes the caller's memory symmetric, without copying it.  The memory must lie in a shared mapping
 * of a file that this process can open again: in /dev/shm, a file, or a memfd where the kernel allows it.  Private
 * memory is UNSUPPORTED, on all ranks, and nothing has changed then.  Collective and blocking; the same size on all
 * ranks.  Pages of it that were never written get their memory or their place on the disk now; NO_MEMORY where there
 * is none, since a later access would end the process.  Ranks that are threads of one process can access all memory of
 * each other and need not register it.
 * The driver of a device with memory of its own is told of it, as by choir_mem_alloc.
 * choir_mem_deregister: call it before the memory is unmapped.  Collective and blocking; no call that uses the memory
 * may be unfinished. */
CHOIR_API choir_status choir_mem_register(choir_comm *comm, void *ptr, size_t bytes);
CHOIR_API choir_status choir_mem_register_local(int n_local, choir_comm *const *comms, void *const *ptrs, size_t bytes);
CHOIR_API choir_status choir_mem_deregister(choir_comm *comm, void *ptr);
CHOIR_API choir_status choir_mem_deregister_local(int n_local, choir_comm *const *comms, void *const *ptrs);

/* This rank, -1 for NULL; the number of ranks, 0 for NULL. */
CHOIR_API int choir_comm_rank(const choir_comm *comm);
CHOIR_API int choir_comm_size(const choir_comm *comm);
CHOIR_API int choir_comm_nodes(const choir_comm *comm); /* number of nodes */
/* choir_comm_node: the node of a rank.  choir_comm_node_rank: its number among the ranks of its node.  -1 if there is
 * no such rank. */
CHOIR_API int choir_comm_node(const choir_comm *comm, int rank);
CHOIR_API int choir_comm_node_rank(const choir_comm *comm, int rank);
/* choir_comm_device: the comm's device, no reference for the caller; NULL for NULL. */
CHOIR_API choir_device *choir_comm_device(const choir_comm *comm);

/* choir_comm_status: SUCCESS, or the sticky failure that made the comm unusable, on this rank or as far as the news of
 * another rank has come; its sentence is in choir_last_error.  Any thread; never blocks. */
CHOIR_API choir_status choir_comm_status(const choir_comm *comm);

/* choir_comm_abort: fails all calls in flight and later calls on this comm, on every rank, with ABORTED.  Returns at
 * once. */
CHOIR_API choir_status choir_comm_abort(choir_comm *comm);

/* choir_comm_flush: waits until all calls made on this rank so far have ended, and its messages have left; the comm
 * goes on.  Calls that other threads make meanwhile are waited for too.  Any thread; choir_comm_destroy waits for it.
 * TIMEOUT after the comm's deadline; the comm's sticky failure; how single calls ended their events tell.
 * WOULD_DEADLOCK inside a callback; ARGUMENT in a group. */
CHOIR_API choir_status choir_comm_flush(choir_comm *comm);

/* choir_comm_destroy: accepts no more calls (ABORTED), waits for calls in flight until the comm's deadline and ends the
 * rest with TIMEOUT, on every rank.  While a comm is being made of it (choir_comm_split_start) it waits for 1 s, and
 * ends the rest with ABORTED.  It waits for running callbacks; when it returns every event of the comm is
 * complete and blocking calls of other threads return.  Calls of other ranks that then wait for this rank end with
 * ABORTED.  Events and devices may be released before or after.  NULL is silent.  WOULD_DEADLOCK inside a callback. */
CHOIR_API choir_status choir_comm_destroy(choir_comm *comm);

/* choir_comm_warm: builds the kernels of (dtype, op) ahead of their first use.  Blocks for the build, but not more than
 * ten minutes. */
CHOIR_API choir_status choir_comm_warm(choir_comm *comm, choir_dtype dtype, choir_op op);

/* choir_comm_json: ranks, nodes, transport and rules of a comm as a JSON object, which choir-info and the bench print.
 * The caller frees *text_p with free(). */
CHOIR_API choir_status choir_comm_json(const choir_comm *comm, char **text_p);

#ifdef __cplusplus
}
#endif

#endif
