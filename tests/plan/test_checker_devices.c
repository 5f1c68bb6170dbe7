/* SPDX-License-Identifier: MIT */
/* Plans on the device that are broken in one place: Note [device plans] in algo/device.h. */
#include "plan/broken.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static void on_devices(struct world *world)
{
	struct check_case c = broken_usual(3, NULL);

	c.send_staged = c.recv_staged = true;
	c.device_bytes = 4096;
	broken_build(COLLECTIVE_ALLREDUCE, "device", &c, world);
	assert_true(broken_is_right(world));
}

/* Note [device plans] in algo/device.h, rule by rule. */
static void memory_of_devices(void **state)
{
	struct plan_step *reduce;
	struct world w;

	(void)state;
	on_devices(&w);
	broken_step(&w.plans[1], PLAN_COPY, 0)->dst = plan_peer(PLAN_PEER_RECV, 2, 0);
	broken_wrong(&w, "writes memory of a peer's device");
	on_devices(&w);
	reduce = broken_step(&w.plans[0], PLAN_REDUCE, 0);
	for (uint32_t k = 0; k < reduce->n_src; k++)
		w.plans[0].refs[reduce->src_first + k] = plan_peer(PLAN_PEER_SEND, (int)k, reduce->dst.off);
	broken_wrong(&w, "reduces memory of a peer's device");
	on_devices(&w);
	broken_step(&w.plans[2], PLAN_REDUCE, 0)->dst = plan_at(PLAN_RECV, 0);
	broken_wrong(&w, "is a kernel that writes elsewhere");
	on_devices(&w);
	broken_step(&w.plans[1], PLAN_REDUCE, 0)->dst = plan_at(PLAN_SEND, 0);
	broken_wrong(&w, "SEND");
	on_devices(&w);
	w.plans[1].device = false;
	broken_wrong(&w, "plan->device is 0");
	on_devices(&w); /* a flag that goes up before the reduction is over */
	broken_drop_deps(&w.plans[1], broken_step(&w.plans[1], PLAN_PUBLISH, 0));
	broken_wrong(&w, "not ordered");
	on_devices(&w); /* a result that is fetched before it is there */
	for (int k = 0; k < 2; k++)
		broken_drop_deps(&w.plans[0], broken_step(&w.plans[0], PLAN_COPY, 2 + k));
	broken_wrong(&w, "not ordered");
	on_devices(&w); /* more than the slot of a peer has */
	broken_step(&w.plans[0], PLAN_REDUCE, 0)->dst.off = 1 << 20;
	broken_wrong(&w, "beyond");
}

/* Lists on devices: what a kernel reduces was copied. */
static void lists_of_devices(void **state)
{
	struct check_case c = broken_usual(3, NULL);
	struct plan_step *reduce;
	struct world w;

	(void)state;
	c.send_staged = c.recv_staged = c.lists = true;
	c.device_bytes = 4096;
	broken_build(COLLECTIVE_ALLREDUCE, "device", &c, &w);
	assert_true(broken_is_right(&w));
	reduce = broken_step(&w.plans[1], PLAN_REDUCE, 0);
	w.plans[1].refs[reduce->src_first + 1] = plan_at(PLAN_SEND, reduce->dst.off);
	broken_wrong(&w, "is a kernel that reads a list");
}

/* premul_sum on devices: whose values are multiplied by whose factor. */
static void factors_of_devices(void **state)
{
	struct check_case c = broken_usual(3, NULL);
	struct plan_step *scale;
	struct world w;

	(void)state;
	c.send_staged = c.recv_staged = c.scaled = true;
	c.device_bytes = 4096;
	broken_build(COLLECTIVE_ALLREDUCE, "device", &c, &w);
	assert_true(broken_is_right(&w));
	scale = broken_step(&w.plans[1], PLAN_REDUCE, 0);
	scale->peer = (scale->peer + 1) % 3;
	broken_wrong(&w, "by the factor of rank");
	broken_build(COLLECTIVE_ALLREDUCE, "device", &c, &w);
	broken_step(&w.plans[1], PLAN_REDUCE, 0)->peer = 3;
	broken_wrong(&w, "the factor of rank 3, which does not exist");
	broken_build(COLLECTIVE_ALLREDUCE, "device", &c, &w); /* one rank's values are added as they are */
	broken_step(&w.plans[2], PLAN_REDUCE, 0)->len = 0;
	broken_wrong(&w, "is raw where partial is wanted");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(memory_of_devices),
		cmocka_unit_test(lists_of_devices),
		cmocka_unit_test(factors_of_devices),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
