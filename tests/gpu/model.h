/* SPDX-License-Identifier: MIT */
/* The model GPU: an OpenCL layer that makes one or more GPUs out of a CPU device.
 *
 * Design notes.
 *
 * Queues, events and devices are objects of the model; the driver below never sees them.  Contexts, programs, kernels
 * and cl_mems keep the driver's handles, and a table says what the model knows of each.  A cl_mem's storage is memory
 * of the model's ("device memory"), which the driver below uses in place (CL_MEM_USE_HOST_PTR), so bytes are moved by
 * memcpy and only kernels are commands below.
 *
 * A command waits in its queue until the queue is flushed, the commands before it in the queue have ended and its wait
 * list is complete.  Then it belongs to one of three engines of its device: up (host to device), down, compute.  An
 * engine is a thread; it takes the ready commands one at a time in an order that the seed draws, moves the bytes at the
 * end of the modelled time and ends the command.  Modelled time is kept apart from the clock, so that a late thread
 * does not slow the engine down.  A GPU's copies need no core: up and down go ahead of all other threads where the
 * process may ask for that, and where a call blocks for a copy that a resting engine could begin, its thread does the
 * engine's work and looks at the clock meanwhile, as drivers do.
 *
 * A buffer's home is the device of the first command that touches it, or that it was migrated to last.  A copy by
 * another device than the home of either buffer crosses the link between them: its bytes have the rate "peer_gbps" and
 * are counted apart.  What a kernel reads of another device's memory takes the kernel's own time.
 *
 * model_lock guards all of it.  It is not held while bytes move, kernels run or the driver below is called back. */
#ifndef GPU_MODEL_H
#define GPU_MODEL_H

#include "gpu/crossings.h"

#include <CL/cl_layer.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* From GPU_MODEL="name=value,..."; docs/architecture.md, "The model GPU", says what each means. */
struct options {
	/* of an engine that is given none of its own; after options_read each has them */
	double latency_us, gbps;
	double up_us, down_us, compute_us, up_gbps, down_gbps;
	double pinned, pageable, device_gbps, peer_gbps, items_per_us, jitter_us, late_us;
	double seed, devices, polls, unflushed_ms, groups, group_items, kernel_items, stats, moves, hash, trace;
	char report[256]; /* a file; empty: stderr */
};
extern struct options options;
void options_read(void);

extern const struct _cl_icd_dispatch *below;
extern pthread_mutex_t model_lock;

int64_t now_ns(void);
uint64_t draw(void); /* the next number of the seed; under the lock */
bool draw_one_in(unsigned n);

/* Reports.  report: a sentence; the process ends with status 70.  refuse: a call that is not modelled. */
void report(const char *kind, const char *format, ...) __attribute__((format(printf, 2, 3)));
void refuse(const char *call);

/* "trace=1": a command that has ended, under the lock; all of them, at the end of the process. */
struct command;
void trace_add(const struct command *command);
void trace_print(void);

/* Counts that "stats=1" prints at the end. */
struct stats {
	uint64_t commands, up_bytes, down_bytes, device_bytes, up_ns, down_ns;
	struct crossings crossings;
	double most_polls; /* of a command while no other ended, less one in 10 us */
};
extern struct stats stats;

/* A map from handles to what the model knows of them. */
struct table {
	struct table_entry *buckets[1024];
};
void *table_find(const struct table *table, const void *key);
void table_add(struct table *table, const void *key, void *value);
void table_remove(struct table *table, const void *key);

/* What is known to be over: seen[slot] = the last command of the queue with that slot. */
enum { CLOCK_SLOTS = 256 };
struct clock {
	uint64_t seen[CLOCK_SLOTS];
};
void clock_join(struct clock *into, const struct clock *from);
extern struct clock host_clock; /* what the host has seen to be over */
int clock_slot_take(uint64_t *index_p);
void clock_slot_give(int slot, uint64_t index);

enum engine_kind { ENGINE_UP, ENGINE_DOWN, ENGINE_COMPUTE, ENGINES, ENGINE_NONE = ENGINES };

struct engine {
	struct device *device;
	enum engine_kind kind;
	pthread_cond_t work;
	struct command *ready; /* linked by next_ready */
	bool busy;             /* a command is being carried out */
	int64_t free_ns;       /* modelled: when its last command ended */
};

struct device {
	uint64_t magic;
	cl_device_id below;
	cl_platform_id platform;
	unsigned number;
	bool started;
	struct engine engines[ENGINES];
};
struct device *device_of(cl_device_id id); /* NULL: none of ours */
/* The most items of a group; one that the kernel is compiled for is only the device's affair. */
size_t device_kernel_items(const struct device *device, cl_kernel kernel);
void device_start(struct device *device);

struct context {
	cl_context handle;
	unsigned refs, n;
	struct device *devices[16];
	cl_command_queue below[16]; /* one a device, for kernels */
};
struct context *context_of(cl_context handle);
bool context_has(const struct context *context, const struct device *device);
cl_command_queue context_queue(struct context *context, const struct device *device);
/* context_devices_below: ids of ours as the driver's, without doubles: their number. */
cl_uint devices_below(cl_uint n, const cl_device_id *ids, cl_device_id *out);

/* Bytes that a map made visible at host. */
struct mapping {
	struct mapping *next;
	size_t from, to;
	bool writes;
	bool done;    /* its map command has ended */
	bool leaving; /* its unmap is enqueued */
};

struct access;
struct memory {
	cl_mem handle;         /* NULL: shared virtual memory, whose pointer is view */
	cl_uint usm;           /* CL_MEM_TYPE_..._INTEL; 0: no unified shared memory */
	struct memory *parent; /* of a sub-buffer */
	size_t origin, bytes;
	struct context *context;
	cl_mem_flags flags;
	void *host_ptr;
	bool pinned;
	unsigned refs, uses; /* the caller's; of commands, maps and sub-buffers */
	/* what follows: of a buffer that is no sub-buffer */
	unsigned char *device, *view;
	size_t room; /* of either */
	struct mapping *mappings;
	struct access *accesses;
	const struct device *home; /* NULL: no command has touched it */
	struct memory *next;       /* all that have a view */
};
struct memory *memory_of(cl_mem handle);
struct memory *memory_create(struct context *context, cl_mem_flags flags, size_t bytes, void *host_ptr);
bool memory_show(struct memory *root);
struct memory *memory_root(struct memory *memory, size_t *off);
struct memory *memory_viewed_at(const void *ptr); /* whose view holds ptr, or NULL */
void memory_use(struct memory *memory);
bool memory_unuse(struct memory *memory); /* true: memory_destroy it, without the lock */
void memory_destroy(struct memory *memory);
void memory_scramble(struct memory *root, size_t from, size_t to);

/* Where bytes are: in a buffer's device memory, or at a host address. */
struct place {
	struct memory *root;
	size_t off;
	unsigned char *host;
};

/* Bytes that a command touches: of a buffer's device memory, or of the host's (root NULL; addresses). */
struct touch {
	struct memory *root;
	uintptr_t from, to;
	bool writes;
};

struct rect {
	size_t region[3], to_row, to_slice, from_row, from_slice;
};

struct launch;
enum command_kind { DO_NOTHING, DO_MOVE, DO_RECT, DO_FILL, DO_MAP, DO_UNMAP, DO_KERNEL };

struct event;
struct queue;
struct command {
	enum command_kind kind;
	enum engine_kind engine;
	const char *what; /* the call's name */
	struct queue *queue;
	struct event *event;
	struct event **deps;
	cl_uint n_deps;
	struct place to, from;
	size_t bytes;
	struct rect rect;
	unsigned char pattern[128];
	size_t pattern_bytes;
	struct mapping *mapping;
	bool discards; /* DO_MAP: CL_MAP_WRITE_INVALIDATE_REGION */
	struct launch *launch;
	uint64_t items;
	struct touch *touches;
	unsigned n_touches, room_touches;
	uint64_t index; /* in the queue's slot */
	bool flushed, started;
	int64_t enqueued_ns, ready_ns, start_ns;
	uint64_t sample; /* of the host's bytes at the start */
	struct command *next, *next_ready;
};

struct queue {
	uint64_t magic;
	unsigned refs, uses;
	struct context *context;
	struct device *device;
	cl_command_queue_properties properties;
	int slot;
	uint64_t index;
	struct clock clock; /* of the last command that started */
	struct command *head, *tail;
	struct event *last; /* of the last command, retained */
	int64_t free_ns;
	struct queue *next;
};
struct queue *queue_of(cl_command_queue handle);
extern struct queue *queues;
void queue_flush(struct queue *queue);
void queue_unuse(struct queue *queue);

struct callback {
	struct callback *next;
	struct event *event;
	void(CL_CALLBACK *fn)(cl_event, cl_int, void *);
	void *arg;
};
struct event {
	uint64_t magic;
	unsigned refs, users; /* all references; the program's among them */
	struct context *context;
	struct queue *queue; /* NULL: a user event */
	cl_command_type type;
	cl_int status; /* what the host sees */
	bool ended;    /* what the device sees */
	cl_int result;
	int64_t end_ns;
	cl_ulong times[4];
	struct clock clock;
	struct callback *callbacks;
	uint64_t polls, polls_ends; /* since another event ended; how many had then */
	bool reported_polls, reported_unflushed;
	struct event *next_late;
	int64_t show_ns;
};
extern struct ends {
	uint64_t n;
	int64_t last_ns;
} ends; /* that the host has seen */
struct event *event_of(cl_event handle);
struct event *event_create(struct context *context, struct queue *queue, cl_command_type type);
void event_retain(struct event *event);
void event_unref(struct event *event);
void event_end(struct event *event, cl_int result, int64_t end_ns); /* the device's side; the host sees it late */
void event_show(struct event *event);                               /* the host sees the end */
cl_int event_wait(struct event *event);                             /* releases the lock meanwhile */
void blocking_call(const char *call);                               /* reports it in a callback */
bool callback_enter(void);                                          /* this thread is in a callback until */
void callback_leave(bool outer);                                    /* with what callback_enter returned */
void events_start(void);

/* command_begin: a command with its wait list checked, or an error; without the lock.  command_submit: puts it into
 * its queue, and waits if it blocks.  The command is the model's from then on. */
cl_int command_begin(cl_command_queue queue, cl_uint n, const cl_event *list, const char *what, struct command **out_p);
void command_drop(struct command *command);
cl_int command_submit(struct command *command, cl_command_type type, cl_bool blocking, cl_event *event_p);
void command_touch(struct command *command, struct memory *root, uintptr_t from, uintptr_t to, bool writes);

/* The order of commands.  order_start: the command starts now: joins its clock and compares what it touches with what
 * others touched.  order_freed: memory goes away, the host's where root is NULL: is it in use? */
void order_start(struct command *command);
void order_freed(const char *what, struct memory *root, uintptr_t from, uintptr_t to);
void order_forget(struct memory *root);

/* schedule: commands that may start go to their engines; whenever something changed, under the lock. */
void schedule(void);
void engine_start(struct engine *engine);
/* engine_rest: the thread is about to wait for that event, and will do the engine's work for it: the engine's own need
 * not wake up (NULL: no such event).  engine_help: does that work, if the engine rests and has nothing else ready;
 * false: it did not, the engine will.  Both under the lock, and not released in between. */
void engine_rest(const struct event *event);
bool engine_help(const struct event *event);

/* clEnqueueSVMMemcpy, and clEnqueueMemcpyINTEL. */
cl_int CL_API_CALL svm_copy(cl_command_queue queue, cl_bool blocking, void *to, const void *from, size_t bytes,
                            cl_uint n, const cl_event *list, cl_event *event_p);

/* The bytes of a command, moved. */
cl_int command_move(struct command *command);
double command_ns(const struct command *command);
void command_count_crossing(const struct command *command);
uint64_t command_sample(const struct command *command);

/* Kernels. */
cl_int CL_API_CALL kernel_set_pointer(cl_kernel handle, cl_uint i, const void *ptr);
cl_int launch_run(struct launch *launch, cl_command_queue below_queue);
void launch_free(struct launch *launch);

/* What each file puts into the layer's table. */
void device_install(struct _cl_icd_dispatch *mine);
void context_install(struct _cl_icd_dispatch *mine);
void program_install(struct _cl_icd_dispatch *mine);
void memory_install(struct _cl_icd_dispatch *mine);
void svm_install(struct _cl_icd_dispatch *mine);
void *usm_function(const char *name);   /* of cl_intel_unified_shared_memory; NULL: no such one */
void *stats_function(const char *name); /* the model's own: gpu/crossings.h */
void queue_install(struct _cl_icd_dispatch *mine);
void event_install(struct _cl_icd_dispatch *mine);
void command_install(struct _cl_icd_dispatch *mine);
void copies_install(struct _cl_icd_dispatch *mine);
void maps_install(struct _cl_icd_dispatch *mine);
void kernel_install(struct _cl_icd_dispatch *mine);
void refused_install(struct _cl_icd_dispatch *mine);

/* answer: what a clGet...Info call gives. */
cl_int answer(const void *value, size_t bytes, size_t room, void *out, size_t *bytes_p);

#endif
