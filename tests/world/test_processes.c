/* SPDX-License-Identifier: MIT */
/* choir_comm_create: processes of one machine, forked before anything of OpenCL is touched, that meet through shared
 * memory of their own. */
#include "exec/comm.h"
#include "node/arena.h"
#include "sparse/share.h"
#include "world/endings.h"
#include "world/gate.h"
#include "world/memory.h"

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { MOST = 4, ROOM = 1 << 20 };

/* What the processes meet through. */
struct table {
	pthread_barrier_t barrier;
	int n;
	unsigned char bytes[MOST][ROOM];
};

struct seat {
	struct table *table;
	int rank;
};

static int gather(void *ctx, const void *mine, size_t bytes, void *all)
{
	struct seat *seat = ctx;

	if (bytes > ROOM)
		return 1;
	memcpy(seat->table->bytes[seat->rank], mine, bytes);
	pthread_barrier_wait(&seat->table->barrier);
	for (int p = 0; p < seat->table->n; p++)
		memcpy((unsigned char *)all + (size_t)p * bytes, seat->table->bytes[p], bytes);
	pthread_barrier_wait(&seat->table->barrier);
	return 0;
}

#define MUST(cond)                                                                                                     \
	do {                                                                                                           \
		if (!(cond)) {                                                                                         \
			fprintf(stderr, "%s:%d: process %d: %s (%s)\n", __FILE__, __LINE__, seat->rank, #cond,         \
			        choir_last_error());                                                                   \
			_exit(1);                                                                                      \
		}                                                                                                      \
	} while (0)

typedef void (*process_fn)(struct seat *seat, int what); /* mostly: so many ranks a node */

static void create(struct seat *seat, int n_local, int per_node, int64_t deadline_ms, choir_comm **comms)
{
	choir_bootstrap boot = { sizeof boot, seat->rank, seat->table->n, gather, seat };
	choir_comm_config config = CHOIR_COMM_CONFIG_INIT;
	choir_device *devices[4];

	for (int i = 0; i < n_local; i++)
		devices[i] = world_device();
	config.ranks_per_node = per_node;
	config.deadline_ms = deadline_ms;
	MUST(choir_comm_create(&boot, n_local, devices, &config, comms) == CHOIR_SUCCESS);
}

/* Two ranks a process, by events; a split across the processes. */
static void work(struct seat *seat, int per_node)
{
	choir_comm *comms[2], *children[2];
	int n = 2 * seat->table->n, colors[2] = { 0, 1 }, keys[2] = { -seat->rank, 0 };
	struct sum sums[2][20];

	create(seat, 2, per_node, 20000, comms);
	MUST(choir_comm_size(comms[0]) == n && choir_comm_rank(comms[1]) == 2 * seat->rank + 1);
	MUST(choir_comm_nodes(comms[0]) == (per_node == 0 ? 1 : n / per_node));
	for (int k = 0; k < 20; k++)
		for (int i = 0; i < 2; i++)
			MUST(sum_start(&sums[i][k], comms[i], (size_t)k * 5000 + 1, (float)k, NULL, true) ==
			     CHOIR_SUCCESS);
	MUST(choir_comm_split_local(2, comms, colors, keys, children) == CHOIR_SUCCESS);
	for (int k = 19; k >= 0; k--)
		for (int i = 0; i < 2; i++) {
			MUST(choir_event_wait(sums[i][k].event, -1) == CHOIR_SUCCESS && sum_is(&sums[i][k], n));
			sum_free(&sums[i][k]);
		}
	MUST(choir_comm_size(children[1]) == seat->table->n &&
	     choir_comm_rank(children[0]) == seat->table->n - 1 - seat->rank);
	MUST(sum_works(children[0], 1000) && sum_works(children[1], 100000));
	for (int i = 0; i < 2; i++) {
		MUST(choir_comm_destroy(comms[i]) == CHOIR_SUCCESS);
		MUST(choir_comm_destroy(children[i]) == CHOIR_SUCCESS);
	}
}

/* Rank 0's process is killed: the others, who wait for it, say so, long before the deadline. */
static void killed(struct seat *seat, int per_node)
{
	choir_comm *comm;
	struct sum sum;

	create(seat, 1, per_node, 30000, &comm);
	MUST(sum_works(comm, 1000));
	pthread_barrier_wait(&seat->table->barrier); /* all have their result: what is read late is no death */
	if (seat->rank == 0)
		raise(SIGKILL);
	MUST(sum_start(&sum, comm, 1000, 1, NULL, false) == CHOIR_PEER_DEAD);
	MUST(says(choir_last_error(), "rank 0 is dead|allreduce"));
	MUST(choir_barrier(comm, NULL, NULL) == CHOIR_PEER_DEAD);
	choir_comm_destroy(comm);
}

static choir_status sum_in(choir_comm *comm, float *in, float *out, size_t count, choir_event **event_p)
{
	for (size_t i = 0; i < count; i++)
		in[i] = (float)(choir_comm_rank(comm) + 1);
	return choir_allreduce(comm, choir_host(in), choir_host(out), count, CHOIR_F32, CHOIR_OP_SUM, NULL, event_p);
}

/* Symmetric memory, at an offset of its own in each process; one gives memory of its own instead; then rank 0's process
 * is killed, and the memory still stands. */
static void killed_symmetric(struct seat *seat, int per_node)
{
	enum { COUNT = 3001 };
	int n = seat->table->n;
	static float plain[COUNT];
	choir_event *event;
	choir_comm *comm;
	float *share;

	create(seat, 1, per_node, 30000, &comm);
	MUST(choir_mem_alloc(comm, 8 * COUNT * sizeof *share, (void **)&share, NULL) == CHOIR_SUCCESS);
	for (int odd = -1; odd < n; odd++) {
		float *in = seat->rank == odd ? plain : share + 3 * seat->rank + 1,
		      *out = share + 4 * COUNT - seat->rank;

		MUST(sum_in(comm, in, out, COUNT, &event) == CHOIR_SUCCESS &&
		     choir_event_wait(event, -1) == CHOIR_SUCCESS);
		MUST(out[0] == (float)(n * (n + 1) / 2) && out[COUNT - 1] == out[0]);
		MUST((strncmp(choir_event_algorithm(event), "direct", 6) == 0) == (odd < 0));
		choir_event_release(event);
	}
	pthread_barrier_wait(&seat->table->barrier);
	if (seat->rank == 0)
		raise(SIGKILL);
	MUST(sum_in(comm, share, share + COUNT, COUNT, NULL) == CHOIR_PEER_DEAD &&
	     says(choir_last_error(), "rank 0 is dead|allreduce"));
	MUST(choir_mem_free(comm, share) == CHOIR_PEER_DEAD);
	memset(share, 1, 8 * COUNT * sizeof *share);
	choir_comm_destroy(comm);
}

static bool all_seats(struct ending *ending, bool yes)
{
	struct seat *seat = ending->ctx;
	struct table *table = seat->table;
	bool every = true;

	table->bytes[seat->rank][0] = yes;
	pthread_barrier_wait(&table->barrier);
	for (int p = 0; p < table->n; p++)
		every &= table->bytes[p][0] != 0;
	pthread_barrier_wait(&table->barrier);
	return every;
}

/* Rank 0's process is killed while the others are in a call that was made again and again. */
static void killed_inside(struct seat *seat, int kind)
{
	struct ending e = { .kind = (enum ending_kind)kind, .who = 0, .all = all_seats, .ctx = seat };
	const char *wrong;

	create(seat, 1, 0, 30000, &e.comm);
	MUST(ending_begin(&e));
	pthread_barrier_wait(&seat->table->barrier);
	if (seat->rank == 0) {
		MUST(ending_wait_inside(&e));
		raise(SIGKILL);
	}
	wrong = ending_check(&e, CHOIR_PEER_DEAD, "rank 0 is dead", 0, 10000);
	if (wrong != NULL)
		fprintf(stderr, "%s\n", wrong);
	MUST(wrong == NULL);
	ending_free(&e);
	MUST(choir_comm_destroy(e.comm) == CHOIR_SUCCESS);
}

/* What a call that is made again and again has its buffers in is registered again, under another number. */
static void registered_again(struct seat *seat, int per_node)
{
	struct ending e = { .kind = ENDS_SHARED_SUM, .all = all_seats, .ctx = seat };
	size_t bytes = 2 * ENDING_ROOM * sizeof *e.in;
	int32_t *memory[] = { memory_map_shared(bytes), memory_map_shared(bytes) };
	int n = seat->table->n;

	create(seat, 1, per_node, 20000, &e.comm);
	for (int i = 0; i < 2; i++)
		MUST(memory[i] != NULL && choir_mem_register(e.comm, memory[i], bytes) == CHOIR_SUCCESS);
	e.in = memory[0];
	MUST(ending_begin(&e));
	for (int i = 0; i < 2; i++)
		MUST(choir_mem_deregister(e.comm, memory[i]) == CHOIR_SUCCESS);
	for (int i = 1; i >= 0; i--)
		MUST(choir_mem_register(e.comm, memory[i], bytes) == CHOIR_SUCCESS);
	for (int i = 0; i < ENDING_COUNT; i++)
		e.in[i] = seat->rank + 7 * i;
	MUST(ending_call(&e) == CHOIR_SUCCESS);
	for (int i = 0; i < ENDING_COUNT; i++)
		MUST(e.out[i] == n * (n - 1) / 2 + 7 * n * i);
	MUST(choir_comm_destroy(e.comm) == CHOIR_SUCCESS);
}

/* A process that ends after its last call is no failure, though its peers have not read all of it. */
static void leaves_early(struct seat *seat, int per_node)
{
	choir_comm *comm;

	create(seat, 1, per_node, 20000, &comm);
	for (int i = 0; i < 50; i++)
		MUST(sum_works(comm, 20000));
	if (seat->rank == 0)
		MUST(choir_broadcast(comm, choir_host(&(int){ 7 }), choir_host(&(int){ 0 }), 1, CHOIR_I32, 0, NULL,
		                     NULL) == CHOIR_SUCCESS);
	if (seat->rank != 0) {
		int got = 0;

		MUST(choir_broadcast(comm, choir_none(), choir_host(&got), 1, CHOIR_I32, 0, NULL, NULL) ==
		         CHOIR_SUCCESS &&
		     got == 7);
	}
	MUST(choir_comm_destroy(comm) == CHOIR_SUCCESS);
}

/* What rank 0 has lent is opened when that process has ended, or after a while if it does not end. */
static struct {
	int64_t pid; /* 0: as soon as asked for */
	int while_ms;
} late;

choir_status __real_share_open(const struct share_address *address, struct share_view **out_p);
choir_status __wrap_share_open(const struct share_address *address, struct share_view **out_p);

choir_status __wrap_share_open(const struct share_address *address, struct share_view **out_p)
{
	if (address->pid == late.pid) {
		struct pollfd process = { .fd = peer_watch_open(late.pid), .events = POLLIN };

		poll(&process, 1, late.while_ms);
		peer_watch_close(process.fd);
	}
	return __real_share_open(address, out_p);
}

static choir_status die(void *ctx, size_t ind_count, choir_dtype ind_dtype, size_t val_count, choir_dtype val_dtype,
                        choir_buffer *ind, choir_buffer *val)
{
	(void)ctx, (void)ind_count, (void)ind_dtype, (void)val_count, (void)val_dtype, (void)ind, (void)val;
	raise(SIGKILL);
	return CHOIR_SUCCESS;
}

static choir_status sum_sparse(choir_comm *comm, const char *options, choir_sparse_alloc_fn alloc, int32_t *ind,
                               float *val)
{
	choir_sparse_attr attr = CHOIR_SPARSE_ATTR_INIT;
	choir_call call = CHOIR_CALL_INIT;
	int32_t my_ind[] = { 5, 1 + choir_comm_rank(comm) };
	float my_val[] = { 1, 2 };
	size_t n_ind = 8, n_val = 8;

	attr.alloc_fn = alloc;
	call.options = options;
	return choir_sparse_allreduce(comm, choir_host(my_ind), 2, choir_host(my_val), 2,
	                              alloc == NULL ? choir_host(ind) : choir_none(), &n_ind,
	                              alloc == NULL ? choir_host(val) : choir_none(), &n_val, CHOIR_I32, CHOIR_F32,
	                              CHOIR_OP_SUM, &attr, &call, NULL);
}

static const char *const shared_ways[] = { "algorithm=allgather", "algorithm=split" };

/* Rank 0 is killed when it has told the others where its pairs are, and they have not looked yet. */
static void killed_sparse(struct seat *seat, int way)
{
	int32_t ind[8];
	float val[8];
	choir_comm *comm;
	int64_t *pid = (int64_t *)seat->table->bytes[0];

	create(seat, 1, 0, 30000, &comm);
	if (seat->rank == 0)
		*pid = getpid();
	pthread_barrier_wait(&seat->table->barrier);
	if (seat->rank != 0) {
		late.pid = *pid;
		late.while_ms = 20000;
	}
	MUST(sum_sparse(comm, shared_ways[way], seat->rank == 0 ? die : NULL, ind, val) == CHOIR_PEER_DEAD);
	MUST(says(choir_last_error(), "rank 0 is dead|sparse_allreduce"));
	MUST(choir_barrier(comm, NULL, NULL) == CHOIR_PEER_DEAD);
	choir_comm_destroy(comm);
}

/* Rank 0 ends after its last call: what the others have not read yet stays until they have. */
static void leaves_early_sparse(struct seat *seat, int way)
{
	int32_t ind[8];
	float val[8];
	choir_comm *comm;
	int64_t *pid = (int64_t *)seat->table->bytes[0];

	create(seat, 1, 0, 30000, &comm);
	if (seat->rank == 0)
		*pid = getpid();
	pthread_barrier_wait(&seat->table->barrier);
	if (seat->rank != 0) {
		late.pid = *pid;
		late.while_ms = 200;
	}
	MUST(sum_sparse(comm, shared_ways[way], NULL, ind, val) == CHOIR_SUCCESS);
	MUST(ind[0] == 1 && val[0] == 2 && ind[seat->table->n] == 5 && val[seat->table->n] == (float)seat->table->n);
	MUST(choir_comm_destroy(comm) == CHOIR_SUCCESS);
}

static void wait_for_rank_0(struct seat *seat, choir_comm *comm, choir_status wanted, const char *words)
{
	struct sum sum;
	choir_status st = sum_start(&sum, comm, 1000, 1, NULL, false);

	if (st != wanted || !says(choir_last_error(), words))
		fprintf(stderr, "process %d: %s: %s\n", seat->rank, choir_status_name(st), choir_last_error());
	MUST(st == wanted && says(choir_last_error(), words));
	choir_comm_destroy(comm);
}

/* Rank 0 destroys its comm while the others wait for it. */
static void destroys(struct seat *seat, int per_node)
{
	choir_comm *comm;

	create(seat, 1, per_node, 20000, &comm);
	MUST(sum_works(comm, 1000));
	pthread_barrier_wait(&seat->table->barrier);
	if (seat->rank == 0)
		MUST(choir_comm_destroy(comm) == CHOIR_SUCCESS);
	else
		wait_for_rank_0(seat, comm, CHOIR_ABORTED, "rank 0, which destroyed its comm after allreduce #0");
}

/* Rank 0's process ends in good order, but for its comm. */
static void ends(struct seat *seat, int per_node)
{
	choir_comm *comm;

	create(seat, 1, per_node, 20000, &comm);
	MUST(sum_works(comm, 1000));
	pthread_barrier_wait(&seat->table->barrier);
	if (seat->rank == 0)
		exit(0);
	wait_for_rank_0(seat, comm, CHOIR_PEER_DEAD, "rank 0");
}

/* A comm is destroyed while another one, which has the same transport, sends a message that cannot leave yet. */
static void destroys_beside_send(struct seat *seat, int unused)
{
	enum { BYTES = 64 << 20 };
	choir_comm *parent, *child;
	choir_event *event;
	char *bytes = calloc(BYTES, 1);

	(void)unused;
	create(seat, 1, 1, 4000, &parent);
	MUST(bytes != NULL && choir_comm_split(parent, 0, 0, &child) == CHOIR_SUCCESS);
	if (seat->rank == 0) {
		MUST(choir_send(parent, choir_host(bytes), BYTES, CHOIR_U8, 1, NULL, &event) == CHOIR_SUCCESS);
		while (!pump_busy(parent->pump)) /* the send is under way */
			sched_yield();
		MUST(choir_comm_destroy(child) == CHOIR_SUCCESS);
		pthread_barrier_wait(&seat->table->barrier);
		MUST(choir_event_wait(event, -1) == CHOIR_SUCCESS);
		choir_event_release(event);
	} else {
		pthread_barrier_wait(&seat->table->barrier);
		MUST(choir_comm_status(child) == CHOIR_SUCCESS);
		MUST(choir_recv(parent, choir_host(bytes), BYTES, CHOIR_U8, 0, NULL, NULL) == CHOIR_SUCCESS);
		MUST(choir_comm_destroy(child) == CHOIR_SUCCESS);
	}
	MUST(choir_comm_destroy(parent) == CHOIR_SUCCESS);
	free(bytes);
}

static void run_processes(int n, int what, process_fn fn, int who_is_killed)
{
	struct table *table = mmap(NULL, sizeof *table, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pthread_barrierattr_t attr;
	pid_t children[MOST];

	pthread_barrierattr_init(&attr);
	pthread_barrierattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_barrier_init(&table->barrier, &attr, (unsigned)n);
	table->n = n;
	for (int p = 0; p < n; p++) {
		children[p] = fork();
		assert_true(children[p] >= 0);
		if (children[p] == 0) {
			struct seat seat = { table, p };

			fn(&seat, what);
			world_device_drop();
			_exit(0);
		}
	}
	for (int p = 0; p < n; p++) {
		int status;

		assert_int_equal(waitpid(children[p], &status, 0), children[p]);
		if (p == who_is_killed)
			assert_true(WIFSIGNALED(status));
		else
			assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	}
	munmap(table, sizeof *table);
}

static void test_work(void **state)
{
	(void)state;
	for (int per_node = 0; per_node <= 2; per_node++)
		for (int n = 1; n <= 3; n++)
			run_processes(n, per_node, work, -1);
}

static void test_killed(void **state)
{
	(void)state;
	run_processes(2, 0, killed, 0);
	run_processes(3, 0, killed, 0);
	run_processes(2, 0, killed_symmetric, 0);
	run_processes(3, 0, killed_symmetric, 0);
}

static void test_killed_inside(void **state)
{
	(void)state;
	for (int kind = 0; kind < ENDING_KINDS; kind++)
		run_processes(kind == ENDS_ALLTOALLV || kind == ENDS_SENDRECV ? 3 : 2, kind, killed_inside, 0);
	run_processes(2, ENDS_SENDRECV, killed_inside, 0);
}

static void test_registered_again(void **state)
{
	(void)state;
	run_processes(2, 0, registered_again, -1);
	run_processes(3, 0, registered_again, -1);
}

static void test_leaves_early(void **state)
{
	(void)state;
	run_processes(3, 0, leaves_early, -1);
	run_processes(3, 1, leaves_early, -1);
}

static void test_sparse_ends(void **state)
{
	(void)state;
	for (int way = 0; way < 2; way++)
		for (int n = 2; n <= 3; n++) {
			run_processes(n, way, killed_sparse, 0);
			run_processes(n, way, leaves_early_sparse, -1);
		}
}

static void test_goes(void **state)
{
	(void)state;
	for (int per_node = 0; per_node <= 1; per_node++) {
		run_processes(2, per_node, destroys, -1);
		run_processes(3, per_node, destroys, -1);
		run_processes(3, per_node, ends, -1);
	}
}

static void test_destroys_beside_send(void **state)
{
	(void)state;
	run_processes(2, 1, destroys_beside_send, -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_work),          cmocka_unit_test(test_killed),
		cmocka_unit_test(test_killed_inside), cmocka_unit_test(test_registered_again),
		cmocka_unit_test(test_leaves_early),  cmocka_unit_test(test_sparse_ends),
		cmocka_unit_test(test_goes),          cmocka_unit_test(test_destroys_beside_send)
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
