/* SPDX-License-Identifier: MIT */
/* An operator of the caller's own that is not commutative in every form of a call: lists, padded and uneven blocks,
 * persistent and keyed calls, sequences; by every algorithm, those that reorder refuse it; on devices that share a
 * context. */
#include "world/affine.h"
#include "world/devices.h"
#include "world/op_forms.h"

#include "algo/algo.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static choir_op ops[N_AFFINE_FORMS];

/* --- calls --- */

struct how {
	enum affine_form form;
	bool on_device;
};

/* By one algorithm: refused if it reorders, or if it does not fit at all. */
static void check_by(struct world *world, int rank, choir_comm *comm, struct op_set *set, choir_op op,
                     const struct algorithm *algorithm)
{
	bool reorders = world->n > 1 && algorithm != NULL && algorithm->fold_order == PLAN_ORDER_ANY;
	const char *name = algorithm != NULL ? algorithm->name : "the rules'";
	choir_call call = CHOIR_CALL_INIT;
	char options[64];
	struct op_asked asked = op_asked_of(set, comm, op, &call);
	choir_status st;

	if (algorithm != NULL) {
		snprintf(options, sizeof options, "algorithm=%s", algorithm->name);
		call.options = options;
	}
	op_set_fill(set);
	st = set->form->call(&asked);
	if (reorders) {
		world_is(world, rank, st, CHOIR_ARGUMENT, name);
		CHECK(strstr(choir_last_error(), "does not fold in rank order, which an operator that is not "
		                                 "commutative asks for"));
	} else if (st != CHOIR_UNSUPPORTED || algorithm == NULL) {
		world_is(world, rank, st, CHOIR_SUCCESS, name);
		if (!op_set_is_right(set))
			world_fail(world, rank, "%s by %s: a wrong result", set->form->name, name);
	}
}

static void by_all(struct world *world, int rank, choir_comm *comm, void *how_p)
{
	const struct how *how = how_p;

	for (int f = 0; f < N_OP_FORMS; f++) {
		struct op_set set;

		op_set_make(&set, world, rank, &op_forms[f], how->on_device);
		for (size_t i = 0; i < n_algorithms; i++)
			if (algorithms[i].collective == op_forms[f].collective)
				check_by(world, rank, comm, &set, ops[how->form], &algorithms[i]);
		check_by(world, rank, comm, &set, ops[how->form], NULL);
		op_set_free(&set);
	}
}

/* Each form as a request, started alone; then all of them as a sequence. */
static void kept(struct world *world, int rank, choir_comm *comm, void *how_p)
{
	const struct how *how = how_p;
	struct op_set sets[N_OP_FORMS];
	choir_request *requests[N_OP_FORMS] = { NULL };
	choir_sequence *sequence = NULL;

	for (int f = 0; f < N_OP_FORMS; f++) {
		struct op_asked asked;

		op_set_make(&sets[f], world, rank, &op_forms[f], how->on_device);
		asked = op_asked_of(&sets[f], comm, ops[how->form], NULL);
		asked.request_p = &requests[f];
		OK(op_forms[f].call(&asked));
	}
	OK(choir_sequence_create(requests, N_OP_FORMS, &sequence));
	for (int start = 0; start < 4; start++) {
		for (int f = 0; f < N_OP_FORMS; f++)
			op_set_fill(&sets[f]);
		for (int f = 0; f < N_OP_FORMS && start % 2 == 0; f++)
			OK(choir_start(requests[f], NULL, NULL));
		if (start % 2 == 1)
			OK(choir_sequence_start(sequence, NULL, NULL));
		for (int f = 0; f < N_OP_FORMS; f++)
			if (!op_set_is_right(&sets[f]))
				world_fail(world, rank, "%s, start %d: a wrong result", op_forms[f].name, start);
	}
	choir_sequence_free(sequence);
	for (int f = 0; f < N_OP_FORMS; f++) {
		choir_request_free(requests[f]);
		op_set_free(&sets[f]);
	}
}

/* Two calls by keys, in another order on every second rank. */
static void keyed(struct world *world, int rank, choir_comm *comm, void *how_p)
{
	const struct how *how = how_p;
	struct op_set sets[2];
	choir_event *events[2] = { NULL, NULL };

	for (int i = 0; i < 2; i++)
		op_set_make(&sets[i], world, rank, &op_forms[i], false);
	for (int i = 0; i < 2; i++) {
		int which = (i + rank) % 2;
		choir_call call = CHOIR_CALL_INIT;
		struct op_asked asked = op_asked_of(&sets[which], comm, ops[how->form], &call);

		call.key = op_forms[which].name;
		asked.event_p = &events[which];
		op_set_fill(&sets[which]);
		OK(op_forms[which].call(&asked));
	}
	for (int i = 0; i < 2; i++) {
		OK(choir_event_wait(events[i], -1));
		CHECK(op_set_is_right(&sets[i]));
		choir_event_release(events[i]);
		op_set_free(&sets[i]);
	}
}

static void keyed_calls(void **state)
{
	choir_comm_config config = CHOIR_COMM_CONFIG_INIT;

	(void)state;
	config.keyed = 1;
	for (int form = 0; form < N_AFFINE_FORMS; form++)
		for (config.ranks_per_node = 0; config.ranks_per_node < 2; config.ranks_per_node++)
			world_run(3, &config, keyed, &(struct how){ .form = (enum affine_form)form });
}

static void on_worlds(world_fn fn)
{
	static const int sizes[] = { 1, 2, 3, 5, 8 };

	for (int form = 0; form < N_AFFINE_FORMS; form++)
		for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
			for (int per_node = 0; per_node < 3; per_node++) {
				struct how how = { .form = (enum affine_form)form };

				if (form == AFFINE_FUNCTIONS || (sizes[i] < 5 && per_node != 2))
					world_run_at(sizes[i], per_node, 60000, fn, &how);
			}
}

static void every_form(void **state)
{
	(void)state;
	on_worlds(by_all);
}

static void kept_calls(void **state)
{
	(void)state;
	on_worlds(kept);
}

/* --- devices that share a context --- */

/* By plans on the device, as the event says, where there is a text; functions alone go through host memory. */
static void on_devices(struct world *world, int rank, choir_comm *comm, void *how_p)
{
	const struct how *how = how_p;
	choir_call call = CHOIR_CALL_INIT;

	call.options = "algorithm=device";
	for (int f = 0; f < N_OP_FORMS; f++) {
		bool fits = how->form != AFFINE_FUNCTIONS;
		choir_event *event = NULL;
		struct op_asked asked;
		struct op_set set;

		op_set_make(&set, world, rank, &op_forms[f], true);
		asked = op_asked_of(&set, comm, ops[how->form], &call);
		asked.event_p = &event;
		op_set_fill(&set);
		if (world_is(world, rank, op_forms[f].call(&asked), fits ? CHOIR_SUCCESS : CHOIR_UNSUPPORTED,
		             op_forms[f].name) &&
		    fits) {
			OK(choir_event_wait(event, -1));
			CHECK(strcmp(choir_event_algorithm(event), "device") == 0);
			CHECK(op_set_is_right(&set));
		}
		choir_event_release(event);
		op_set_free(&set);
	}
	by_all(world, rank, comm, how_p);
	kept(world, rank, comm, how_p);
}

static void shared_context(void **state)
{
	(void)state;
	for (int form = 0; form < N_AFFINE_FORMS; form++)
		for (int n = 2; n <= 3; n++) {
			struct how how = { .form = (enum affine_form)form, .on_device = true };
			struct world world;

			devices_begin(&world, n, 0);
			world_threads(&world, on_devices, &how);
			world_end(&world);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(every_form), cmocka_unit_test(kept_calls),
		                            cmocka_unit_test(keyed_calls), cmocka_unit_test(shared_context) };

	for (int form = 0; form < N_AFFINE_FORMS; form++)
		ops[form] = affine_create((enum affine_form)form);
	return cmocka_run_group_tests(tests, devices_open, devices_close);
}
