/* SPDX-License-Identifier: MIT */
/* How many commands a short collective costs where only commands reach the buffers: one read on each rank that gives
 * bytes and one write on each that gets some, and nothing else; and no question about a buffer that was asked before.
 * The commands are counted here: this program's own functions come before the loader's. */
#include "dev/dev.h"
#include "gpu/crossings.h"
#include "world/flight.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { READS, WRITES, OTHERS, MAPS, QUESTIONS, N_COUNTS };
static _Atomic int counted[N_COUNTS];
static atomic_bool counts;

/* The loader's function of that name, in fn. */
static void next_of(const char *name, int count, void *fn)
{
	void *symbol = dlsym(RTLD_NEXT, name);

	if (symbol == NULL)
		abort();
	if (atomic_load(&counts))
		atomic_fetch_add(&counted[count], 1);
	memcpy(fn, &symbol, sizeof symbol);
}

CL_API_ENTRY cl_int CL_API_CALL clEnqueueReadBuffer(cl_command_queue queue, cl_mem mem, cl_bool blocking, size_t off,
                                                    size_t bytes, void *to, cl_uint n, const cl_event *events,
                                                    cl_event *event_p)
{
	cl_int(CL_API_CALL * fn)(cl_command_queue, cl_mem, cl_bool, size_t, size_t, void *, cl_uint, const cl_event *,
	                         cl_event *);

	next_of("clEnqueueReadBuffer", READS, &fn);
	return fn(queue, mem, blocking, off, bytes, to, n, events, event_p);
}

CL_API_ENTRY cl_int CL_API_CALL clEnqueueWriteBuffer(cl_command_queue queue, cl_mem mem, cl_bool blocking, size_t off,
                                                     size_t bytes, const void *from, cl_uint n, const cl_event *events,
                                                     cl_event *event_p)
{
	cl_int(CL_API_CALL * fn)(cl_command_queue, cl_mem, cl_bool, size_t, size_t, const void *, cl_uint,
	                         const cl_event *, cl_event *);

	next_of("clEnqueueWriteBuffer", WRITES, &fn);
	return fn(queue, mem, blocking, off, bytes, from, n, events, event_p);
}

CL_API_ENTRY cl_int CL_API_CALL clEnqueueCopyBuffer(cl_command_queue queue, cl_mem from, cl_mem to, size_t from_off,
                                                    size_t to_off, size_t bytes, cl_uint n, const cl_event *events,
                                                    cl_event *event_p)
{
	cl_int(CL_API_CALL * fn)(cl_command_queue, cl_mem, cl_mem, size_t, size_t, size_t, cl_uint, const cl_event *,
	                         cl_event *);

	next_of("clEnqueueCopyBuffer", OTHERS, &fn);
	return fn(queue, from, to, from_off, to_off, bytes, n, events, event_p);
}

CL_API_ENTRY cl_int CL_API_CALL clEnqueueMarkerWithWaitList(cl_command_queue queue, cl_uint n, const cl_event *events,
                                                            cl_event *event_p)
{
	cl_int(CL_API_CALL * fn)(cl_command_queue, cl_uint, const cl_event *, cl_event *);

	next_of("clEnqueueMarkerWithWaitList", OTHERS, &fn);
	return fn(queue, n, events, event_p);
}

CL_API_ENTRY void *CL_API_CALL clEnqueueMapBuffer(cl_command_queue queue, cl_mem mem, cl_bool blocking,
                                                  cl_map_flags flags, size_t off, size_t bytes, cl_uint n,
                                                  const cl_event *events, cl_event *event_p, cl_int *rc_p)
{
	void *(CL_API_CALL * fn)(cl_command_queue, cl_mem, cl_bool, cl_map_flags, size_t, size_t, cl_uint,
	                         const cl_event *, cl_event *, cl_int *);

	next_of("clEnqueueMapBuffer", MAPS, &fn);
	return fn(queue, mem, blocking, flags, off, bytes, n, events, event_p, rc_p);
}

CL_API_ENTRY cl_int CL_API_CALL clGetMemObjectInfo(cl_mem mem, cl_mem_info what, size_t room, void *out,
                                                   size_t *bytes_p)
{
	cl_int(CL_API_CALL * fn)(cl_mem, cl_mem_info, size_t, void *, size_t *);

	next_of("clGetMemObjectInfo", QUESTIONS, &fn);
	return fn(mem, what, room, out, bytes_p);
}

/* --- the calls --- */

enum { MOST_RANKS = 3, ROUNDS = 4, MOST_TRIES = 50 };

struct trial {
	struct dense_call call;
	struct dense_flight flights[MOST_RANKS];
	int tries;
	uint64_t pageable; /* bytes of the calls that were counted */
};

static void make(struct world *world, int rank, choir_comm *comm, void *arg)
{
	struct trial *t = arg;

	(void)comm;
	flight_make(&t->flights[rank], world, rank, &t->call);
}

static void call(struct world *world, int rank, choir_comm *comm, void *arg)
{
	struct trial *t = arg;

	OK(flight_call(&t->flights[rank], comm, NULL, NULL));
}

static void compare(struct world *world, int rank, choir_comm *comm, void *arg)
{
	struct trial *t = arg;

	(void)comm;
	flight_compare(&t->flights[rank], world);
	flight_free(&t->flights[rank]);
}

/* The ranks whose buffers hold anything; in place a root's own part stays where it is. */
static int ranks_with(const struct trial *t, bool sends)
{
	int n = 0;

	for (int r = 0; r < t->call.n; r++) {
		const struct dense_flight *f = &t->flights[r];

		n += (sends ? f->layout.send_count : f->layout.recv_count) > 0;
	}
	if (t->call.what == &collectives[BROADCAST])
		n = sends ? 1 : t->call.n;
	if (!sends && t->flights[0].in_place && t->call.what->rooted && t->call.what != &collectives[REDUCE] &&
	    t->call.what->kind != SPREAD_GATHER)
		n--;
	return n;
}

/* Where blocks are uneven some are empty, or have gaps between them. */
static bool has_gaps(const struct trial *t)
{
	return t->call.what->uneven && !t->call.what->reduces;
}

/* The library's host memory of class stage is pinned, but of the slots, through which gaps go, from copies of 16 KB on
 * only (device_memory_pin_slots). */
static bool is_pinned(const struct trial *t)
{
	return t->pageable == 0 || has_gaps(t) || choir_device_class(world_device()) != CHOIR_CLASS_STAGE;
}

static bool is_right(const struct trial *t)
{
	int reads = (ROUNDS - 1) * ranks_with(t, true), writes = (ROUNDS - 1) * ranks_with(t, false);

	if (has_gaps(t))
		return counted[READS] <= reads && counted[OTHERS] == 0;
	return counted[READS] == reads && counted[WRITES] == writes && counted[OTHERS] == 0;
}

/* Class map maps what has gaps.  A call that finds another thread at work goes another way, which makes memory of its
 * own and does not remember the call. */
static bool is_quiet(const struct trial *t)
{
	bool maps = has_gaps(t) && choir_device_class(world_device()) == CHOIR_CLASS_MAP;

	return counted[QUESTIONS] == 0 && counted[MAPS] <= (maps ? (ROUNDS - 1) * t->call.n : 0);
}

/* Bytes that crossed the model GPU's bus from or to pageable memory; 0 of other devices, which do not tell. */
static uint64_t pageable_bytes(void)
{
	struct crossings crossed;

	return crossings_get(choir_device_id(world_device()), &crossed) ? crossed.pageable_up + crossed.pageable_down
	                                                                : 0;
}

static void count_once(struct world *world, struct trial *t)
{
	for (int i = 0; i < N_COUNTS; i++)
		atomic_store(&counted[i], 0);
	t->pageable = pageable_bytes();
	atomic_store(&counts, true);
	for (int round = 1; round < ROUNDS; round++)
		world_threads(world, call, t);
	atomic_store(&counts, false);
	t->pageable = pageable_bytes() - t->pageable;
}

static void count(struct world *world, struct trial *t)
{
	char text[FLIGHT_TEXT_BYTES];
	bool right, quiet = false;

	world_threads(world, make, t);
	world_threads(world, call, t); /* the first call makes the library's memory */
	do {
		count_once(world, t);
		right = is_right(t);
		quiet = is_quiet(t);
	} while (right && !quiet && ++t->tries < MOST_TRIES);
	flight_text(&t->flights[0], text);
	if (!is_pinned(t))
		world_fail(world, 0, "%s: %llu bytes went from or to pageable memory", text,
		           (unsigned long long)t->pageable);
	if (!right || !quiet)
		world_fail(world, 0, "%s: %d calls made %d reads, %d writes, %d maps, %d others, and %d questions",
		           text, ROUNDS - 1, counted[READS], counted[WRITES], counted[MAPS], counted[OTHERS],
		           counted[QUESTIONS]);
	if (t->flights[0].in_place) /* it sums up what it wrote */
		for (int r = 0; r < t->call.n; r++)
			flight_free(&t->flights[r]);
	else
		world_threads(world, compare, t);
}

/* Which buffers of class map are short is measured. */
static bool is_short(const struct trial *t)
{
	return choir_device_class(world_device()) != CHOIR_CLASS_MAP ||
	       t->call.count * (size_t)t->call.n * sizeof(float) <= dev_short_map_bytes(world_device());
}

static void all_calls(const char *class)
{
	static struct trial t;
	static const size_t counts_of[] = { 1, 37, 1024, 4096 };

	setenv("CHOIR_CLASS", class, 1);
	for (int n = 2; n <= MOST_RANKS; n++) {
		struct world world;

		world_begin(&world, n, NULL);
		for (int what = 0; what < N_MOVING_COLLECTIVES; what++)
			for (size_t k = 0; k < 8 && what != ALLTOALLV; k++) {
				t.call =
				    (struct dense_call){ .what = &collectives[what],
					                 .dtype = CHOIR_F32,
					                 .op = CHOIR_OP_SUM,
					                 .count =
					                     counts_of[k / 2] / (what == ALLTOALL ? (size_t)n : 1) + 1,
					                 .n = n,
					                 .root = n - 1,
					                 .in_place = k % 2,
					                 .device = true };
				t.tries = 0;
				if (is_short(&t))
					count(&world, &t);
			}
		world_end(&world);
	}
	world_device_drop();
}

static void test_stage(void **state)
{
	(void)state;
	all_calls("stage");
}

static void test_map(void **state)
{
	(void)state;
	all_calls("map");
}

/* --- lists --- */

enum { TENSORS = 5, LIST_COUNT = 300 };

struct list {
	cl_mem mems[MOST_RANKS][TENSORS];
	size_t n; /* tensors: few go by a command each, more by a kernel that gathers them */
};

static void make_list(struct world *world, int rank, choir_comm *comm, void *arg)
{
	struct list *l = arg;
	float ones[LIST_COUNT];

	(void)world;
	for (int i = 0; i < LIST_COUNT; i++)
		ones[i] = 1;
	for (int i = 0; i < TENSORS; i++)
		l->mems[rank][i] = clCreateBuffer(choir_device_context(choir_comm_device(comm)), CL_MEM_COPY_HOST_PTR,
		                                  sizeof ones, ones, NULL);
}

static void call_list(struct world *world, int rank, choir_comm *comm, void *arg)
{
	struct list *l = arg;
	choir_tensor tensors[TENSORS];

	for (int i = 0; i < TENSORS; i++)
		tensors[i] = (choir_tensor){ choir_mem(l->mems[rank][i], 0), choir_mem(l->mems[rank][i], 0), LIST_COUNT,
			                     CHOIR_F32 };
	OK(choir_allreduce_multi(comm, tensors, l->n, CHOIR_OP_SUM, NULL, NULL));
}

static void free_list(struct world *world, int rank, choir_comm *comm, void *arg)
{
	struct list *l = arg;

	(void)world;
	(void)comm;
	for (int i = 0; i < TENSORS; i++)
		clReleaseMemObject(l->mems[rank][i]);
}

/* A call that finds another thread at work is not remembered. */
static void ask_nothing(struct world *world, struct list *l)
{
	int tries = 0;

	world_threads(world, make_list, l);
	do {
		world_threads(world, call_list, l);
		atomic_store(&counted[QUESTIONS], 0);
		atomic_store(&counts, true);
		world_threads(world, call_list, l);
		atomic_store(&counts, false);
	} while (counted[QUESTIONS] > 0 && ++tries < MOST_TRIES);
	if (counted[QUESTIONS] > 0)
		world_fail(world, 0, "a list of %zu that was called before made %d questions", l->n,
		           counted[QUESTIONS]);
	world_threads(world, free_list, l);
}

static void test_lists(void **state)
{
	static const char *const classes[] = { "stage", "map" };
	struct list l;

	(void)state;
	for (size_t c = 0; c < 2; c++) {
		setenv("CHOIR_CLASS", classes[c], 1);
		for (l.n = 2; l.n <= TENSORS; l.n += TENSORS - 2) {
			struct world world;

			world_begin(&world, 2, NULL);
			ask_nothing(&world, &l);
			world_end(&world);
		}
		world_device_drop();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_stage), cmocka_unit_test(test_map),
		                            cmocka_unit_test(test_lists) };

	return cmocka_run_group_tests_name("commands", tests, NULL, NULL);
}
