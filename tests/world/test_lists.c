/* SPDX-License-Identifier: MIT */
/* Lists of tensors in reduce_scatter, allgather, broadcast and reduce: mixed types and lengths, in host memory, in
 * cl_mems, in SVM and USM, apart and in place, with every byte around the tensors unchanged. */
#include "exec/comm.h"
#include "quick.h"
#include "world/gate.h"
#include "world/memory.h"
#include "world/methods.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum form { REDUCE_SCATTER, ALLGATHER, BROADCAST, REDUCE, N_FORMS };
enum { TENSORS = 23, GAP = 64, LONGEST = 1500, MOST_RANKS = 3 };
enum how { BLOCKING, WITH_EVENT, KEPT, N_HOWS };

struct shape {
	enum form form;
	enum memory_kind kind;
	bool on_device, in_place;
	const char *options;
	const char *algorithm; /* that must have run; NULL = any */
	enum how how;
	int root;
};

/* A rank's list: all tensors of a side lie in one memory. */
struct set {
	const struct shape *shape;
	int rank, n;
	struct memory send, recv;
	choir_tensor tensors[TENSORS];
	size_t send_at[TENSORS], recv_at[TENSORS];
};

static const choir_dtype types[] = { CHOIR_I32, CHOIR_F64, CHOIR_I32, CHOIR_I64 };

static size_t count_of(int i)
{
	static const size_t counts[] = { 3, 0, 1, 17, 250, LONGEST, 64, 9 };

	return counts[i % 8];
}

static size_t holds(const struct set *set, bool send)
{
	const struct shape *s = set->shape;
	bool is_root = set->rank == s->root;

	switch (s->form) {
	case REDUCE_SCATTER:
		return send ? (size_t)set->n : 1;
	case ALLGATHER:
		return send ? 1 : (size_t)set->n;
	case BROADCAST:
		return send ? is_root : 1;
	default:
		return send ? 1 : is_root;
	}
}

static int64_t value_of(int rank, int tensor, size_t element)
{
	return (int64_t)rank * 7 + tensor * 13 + (int64_t)element * 3;
}

static void put(unsigned char *at, choir_dtype dtype, size_t i, int64_t value)
{
	if (dtype == CHOIR_I32)
		((int32_t *)(void *)at)[i] = (int32_t)value;
	else if (dtype == CHOIR_I64)
		((int64_t *)(void *)at)[i] = value;
	else
		((double *)(void *)at)[i] = (double)value;
}

/* Element e of what this rank is to get of a tensor. */
static int64_t wanted_of(const struct set *set, int t, size_t e)
{
	size_t count = set->tensors[t].count;
	int64_t sum = 0;

	switch (set->shape->form) {
	case ALLGATHER:
		return value_of((int)(e / count), t, e % count);
	case BROADCAST:
		return value_of(set->shape->root, t, e);
	case REDUCE_SCATTER:
		e += (size_t)set->rank * count; /* fall through */
	default:
		for (int r = 0; r < set->n; r++)
			sum += value_of(r, t, e);
		return sum;
	}
}

/* Where the tensors of a side are: count elements so many times as the longer side holds. */
static size_t lay_out(struct set *set, size_t *at)
{
	bool blocks = set->shape->form == REDUCE_SCATTER || set->shape->form == ALLGATHER;
	size_t end = GAP;

	for (int t = 0; t < TENSORS; t++) {
		at[t] = end;
		end += count_of(t) * choir_dtype_bytes(types[t % 4]) * (blocks ? (size_t)set->n : 1) + GAP;
		end = (end + 7) / 8 * 8;
	}
	return end;
}

static bool make(struct set *set, choir_device *device)
{
	const struct shape *s = set->shape;
	size_t bytes = lay_out(set, set->send_at);
	struct memory *recv = s->in_place ? &set->send : &set->recv;

	memcpy(set->recv_at, set->send_at, sizeof set->recv_at);
	if (!memory_make(&set->send, device, s->on_device, bytes, 8) ||
	    !memory_make(&set->recv, device, s->on_device, bytes, 16))
		return false;
	for (int t = 0; t < TENSORS; t++) {
		choir_tensor *tensor = &set->tensors[t];
		size_t block = count_of(t) * choir_dtype_bytes(types[t % 4]) * (size_t)set->rank;

		*tensor = (choir_tensor){ set->send.buffer, recv->buffer, count_of(t), types[t % 4] };
		if (s->in_place && s->form == REDUCE_SCATTER)
			set->recv_at[t] += block;
		if (s->in_place && s->form == ALLGATHER)
			set->send_at[t] += block;
		tensor->send.offset_bytes += set->send_at[t];
		tensor->recv.offset_bytes += set->recv_at[t];
		if (holds(set, true) == 0)
			tensor->send = choir_none();
		if (holds(set, false) == 0 && t % 2 == 0)
			tensor->recv = choir_none();
		if (s->form == BROADCAST && s->in_place && set->rank == s->root && t % 2 == 0)
			tensor->recv = choir_none();
	}
	return true;
}

static void fill(struct set *set)
{
	memset(memory_payload(&set->send), SENTINEL, set->send.bytes);
	memset(memory_payload(&set->recv), SENTINEL, set->recv.bytes);
	for (int t = 0; t < TENSORS; t++)
		for (size_t e = 0; e < count_of(t) * holds(set, true); e++)
			put(memory_payload(&set->send) + set->send_at[t], types[t % 4], e, value_of(set->rank, t, e));
	memory_push(&set->send);
	memory_push(&set->recv);
}

/* What the memory of the results must be after the call; in place a reduce_scatter leaves the other blocks open. */
static bool is_right(struct set *set)
{
	struct memory *recv = set->shape->in_place ? &set->send : &set->recv;
	unsigned char *wanted = malloc(recv->bytes);
	bool open = set->shape->in_place && set->shape->form == REDUCE_SCATTER, right = wanted != NULL;

	if (wanted == NULL)
		return false;
	memcpy(wanted, memory_payload(recv), recv->bytes);
	for (int t = 0; t < TENSORS; t++)
		for (size_t e = 0; e < count_of(t) * holds(set, false); e++)
			put(wanted + set->recv_at[t], types[t % 4], e, wanted_of(set, t, e));
	memory_pull(&set->send);
	memory_pull(&set->recv);
	for (int t = 0; t < TENSORS && open; t++) {
		size_t bytes = count_of(t) * choir_dtype_bytes(types[t % 4]);

		right &= memcmp(wanted + set->recv_at[t], memory_payload(recv) + set->recv_at[t], bytes) == 0;
	}
	if (!open)
		right = memcmp(wanted, memory_payload(recv), recv->bytes) == 0;
	free(wanted);
	return right && memory_sentinels_stand(&set->send) && memory_sentinels_stand(&set->recv);
}

static choir_status call_of(struct set *set, choir_comm *comm, const choir_call *call, choir_event **event_p)
{
	choir_tensor *list = set->tensors;

	switch (set->shape->form) {
	case REDUCE_SCATTER:
		return choir_reduce_scatter_multi(comm, list, TENSORS, CHOIR_OP_SUM, call, event_p);
	case ALLGATHER:
		return choir_allgather_multi(comm, list, TENSORS, call, event_p);
	case BROADCAST:
		return choir_broadcast_multi(comm, list, TENSORS, set->shape->root, call, event_p);
	default:
		return choir_reduce_multi(comm, list, TENSORS, CHOIR_OP_SUM, set->shape->root, call, event_p);
	}
}

static choir_status keep(struct set *set, choir_comm *comm, const choir_call *call, choir_request **request_p)
{
	choir_tensor *list = set->tensors;
	int root = set->shape->root;

	switch (set->shape->form) {
	case REDUCE_SCATTER:
		return choir_reduce_scatter_multi_init(comm, list, TENSORS, CHOIR_OP_SUM, call, request_p);
	case ALLGATHER:
		return choir_allgather_multi_init(comm, list, TENSORS, call, request_p);
	case BROADCAST:
		return choir_broadcast_multi_init(comm, list, TENSORS, root, call, request_p);
	default:
		return choir_reduce_multi_init(comm, list, TENSORS, CHOIR_OP_SUM, root, call, request_p);
	}
}

/* The memory is the device's own, whatever the driver does with pointers. */
static bool is_far(const struct shape *shape)
{
	return shape->on_device && (shape->kind == MEMORY_MEM || shape->kind == MEMORY_USM_DEVICE);
}

/* Twice: the second time the list is known. */
static void run_shape(struct world *world, int rank, choir_comm *comm, const struct shape *shape)
{
	struct set set = { .shape = shape, .rank = rank, .n = world->n };
	choir_call call = CHOIR_CALL_INIT;
	choir_request *request = NULL;

	call.options = shape->options;
	if (!make(&set, world->device)) {
		world_fail(world, rank, "no memory");
		return;
	}
	if (shape->how == KEPT)
		OK(keep(&set, comm, &call, &request));
	for (int round = 0; round < 2; round++) {
		choir_event *event = NULL;

		fill(&set);
		if (shape->how == KEPT)
			OK(choir_start(request, NULL, NULL));
		else
			OK(call_of(&set, comm, &call, shape->how == WITH_EVENT ? &event : NULL));
		if (event != NULL)
			OK(choir_event_wait(event, -1));
		if (event != NULL && shape->algorithm != NULL &&
		    strcmp(choir_event_algorithm(event), shape->algorithm) != 0)
			world_fail(world, rank, "form %d by %s", (int)shape->form, choir_event_algorithm(event));
		choir_event_release(event);
		if (!is_right(&set))
			world_fail(world, rank, "form %d, device %d, %s, in place %d, '%s', how %d, round %d: wrong",
			           (int)shape->form, shape->on_device, memory_kind_names[shape->kind], shape->in_place,
			           shape->options != NULL ? shape->options : "", (int)shape->how, round);
	}
	choir_request_free(request);
	memory_free(&set.send);
	memory_free(&set.recv);
}

/* kind: of pointers, and nothing else; NULL: host memory and cl_mems. */
static void all_shapes(struct world *world, int rank, choir_comm *comm, void *kind)
{
	enum { PLAIN, BUCKETS, SLOTS, DEVICE, N_OPTIONS };
	static const char *const options[] = { NULL, "bucket_bytes=8000", "algorithm=slots", "algorithm=device" };

	for (int i = 0; i < N_FORMS * 2 * 2 * (N_OPTIONS + N_METHODS); i++) {
		int option = i / N_FORMS / 4;
		const struct method *method = option < N_OPTIONS ? NULL : &methods[option - N_OPTIONS];

		struct shape s = { .form = (enum form)(i % N_FORMS),
			           .kind = kind != NULL ? *(const enum memory_kind *)kind : MEMORY_MEM,
			           .on_device = i / N_FORMS % 2 == 1,
			           .in_place = i / N_FORMS / 2 % 2 == 1,
			           .options = method != NULL ? method->option : options[option],
			           .how = (enum how)(i * 7 / 5 % N_HOWS),
			           .root = i / 3 % world->n };

		if (method != NULL && s.form > ALLGATHER)
			continue;
		if (method != NULL && world->n > 1)
			s.algorithm = s.form == REDUCE_SCATTER ? method->scatter : method->gather;
		if (option == DEVICE && is_far(&s))
			s.algorithm = "device";
		/* Slots and devices are of one node with several ranks. */
		if ((option == SLOTS || option == DEVICE) && (choir_comm_nodes(comm) > 1 || world->n == 1))
			continue;
		if (option == DEVICE && comm->device_bytes == 0)
			continue;
		if (kind != NULL && !s.on_device)
			continue;
		run_shape(world, rank, comm, &s);
	}
}

/* A list of one type is one collective among those of the comm, and is executed as one. */
static void one_collective(struct world *world, int rank, choir_comm *comm, void *unused)
{
	static int32_t send[MOST_RANKS][6 * MOST_RANKS], recv[MOST_RANKS][6 * MOST_RANKS];
	struct shape shape = { .root = 0 };
	struct set set = { .shape = &shape, .rank = rank, .n = world->n };

	(void)unused;
	for (int t = 0; t < TENSORS; t++)
		set.tensors[t] = (choir_tensor){ choir_none(), choir_none(), 0, CHOIR_I32 };
	for (size_t t = 0; t < 3; t++)
		set.tensors[t] = (choir_tensor){ choir_host(&send[rank][2 * MOST_RANKS * t]),
			                         choir_host(&recv[rank][2 * MOST_RANKS * t]), t % 2 + 1, CHOIR_I32 };
	for (int form = 0; form < N_FORMS; form++) {
		uint64_t before = comm->submission.next_seq;

		shape.form = (enum form)form;
		OK(call_of(&set, comm, NULL, NULL));
		if (comm->submission.next_seq != before + 1)
			world_fail(world, rank, "a list of form %d was several collectives", form);
	}
}

static void test_shapes(void **state)
{
	static const int sizes[] = { 1, 2, 3, 5, 8 };

	(void)state;
	for (size_t i = quick_wanted() ? 1 : 0; i < (quick_wanted() ? 3 : sizeof sizes / sizeof *sizes); i++)
		line_up_layouts(sizes[i], all_shapes);
	line_up_run(4, 2, 60000, all_shapes, NULL);
	line_up_layouts(MOST_RANKS, one_collective);
}

static void test_pointers(void **state)
{
	(void)state;
	line_up_pointers(all_shapes);
}

static void refused(struct world *world, int rank, choir_comm *comm, void *unused)
{
	int32_t a[8] = { 0 }, b[8] = { 0 }, c[8] = { 0 };
	size_t n = (size_t)world->n;
	choir_tensor two[] = { { choir_host(a), choir_host(b), 2, CHOIR_I32 },
		               { choir_host(c), choir_host(&c[2 * rank]), 2, CHOIR_I32 } };
	choir_tensor lies = { choir_host(a), choir_host(&a[1]), 2, CHOIR_I32 },
		     bad = { choir_host(a), choir_host(b), 2, 99 },
		     far = { choir_host(a), choir_host(b), SIZE_MAX / 4 / n, CHOIR_I32 },
		     same[] = { { choir_host(a), choir_host(b), 2, CHOIR_I32 },
		                { choir_host(a), choir_host(c), 2, CHOIR_I32 } };

	(void)unused;
	SAYS(choir_reduce_scatter_multi(comm, two, 2, CHOIR_OP_SUM, NULL, NULL), CHOIR_ARGUMENT,
	     "choir_reduce_scatter_multi|tensors[1] is in place and tensors[0] is not");
	SAYS(choir_reduce_scatter_multi(comm, &lies, 1, CHOIR_OP_SUM, NULL, NULL), CHOIR_ARGUMENT,
	     "tensors[0] overlap, but not in place");
	SAYS(choir_allgather_multi(comm, &bad, 1, NULL, NULL), CHOIR_ARGUMENT, "tensors[0]|no data type has number 99");
	SAYS(choir_allgather_multi(comm, &far, 1, NULL, NULL), CHOIR_ARGUMENT, "tensors[0]|2^63");
	SAYS(choir_allgather_multi(comm, NULL, 1, NULL, NULL), CHOIR_ARGUMENT, "choir_allgather_multi|null tensors");
	SAYS(choir_reduce_multi(comm, same, 2, CHOIR_OP_SUM, 0, NULL, NULL), CHOIR_ARGUMENT,
	     "tensors[0] and tensors[1] overlap");
	SAYS(choir_broadcast_multi(comm, two, 1, 7, NULL, NULL), CHOIR_ARGUMENT, "there is no rank 7 in a comm of 2");
	SAYS(choir_reduce_multi(comm, two, 1, 99, 0, NULL, NULL), CHOIR_ARGUMENT, "choir_reduce_multi");
	OK(choir_allgather_multi(comm, NULL, 0, NULL, NULL)); /* all ranks make an empty call */
	CHECK(sum_works(comm, 8));
}

static void test_refused(void **state)
{
	(void)state;
	line_up_layouts(2, refused);
}

/* Lists, and roots of lists, that differ. */
static void differ(struct world *world, int rank, choir_comm *comm, void *by_root)
{
	int32_t a[8] = { 0 }, b[8] = { 0 };
	choir_tensor tensor = { choir_host(a), choir_host(b), by_root == NULL ? 2 + (size_t)rank : 2, CHOIR_I32 };
	choir_status st = choir_broadcast_multi(comm, &tensor, 1, by_root == NULL ? 0 : rank, NULL, NULL);

	if (st == CHOIR_SUCCESS) /* a rank that waits for nobody */
		st = choir_barrier(comm, NULL, NULL);
	IS(st, CHOIR_MISMATCH);
	CHECK(says(choir_last_error(), "broadcast of 1 tensor #"));
	line_up();
}

static void test_differ(void **state)
{
	(void)state;
	line_up_run(2, 0, 30000, differ, NULL);
	line_up_run(2, 1, 30000, differ, NULL);
	line_up_run(2, 0, 30000, differ, &(int){ 1 });
	line_up_run(2, 1, 30000, differ, &(int){ 1 });
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_shapes), cmocka_unit_test(test_pointers),
		                            cmocka_unit_test(test_refused), cmocka_unit_test(test_differ) };
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	world_device_drop();
	return failed;
}
