/* SPDX-License-Identifier: MIT */
/* A process that can have no doorbell, one without a comm, and one that exits from inside its transport: each in a
 * child of its own, which neither crashes nor hangs. */
#include "net/messenger_state.h"
#include "world/gate.h"

#include "exec/comm.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { MOST_S = 20 };

/* The child ends with the number of the first thing that was wrong. */
static void run_child(void (*run)(void))
{
	int status;
	pid_t child = fork();

	if (child == 0) {
		alarm(MOST_S);
		run();
		_exit(0);
	}
	assert_true(child > 0 && waitpid(child, &status, 0) == child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void expect(int number, bool holds)
{
	if (!holds)
		_exit(number);
}

/* No descriptor is left for the memory of a doorbell. */
static void create_without_descriptors(void)
{
	struct rlimit none = { 0, 0 };
	choir_device *device = NULL;
	choir_comm *comm = NULL;
	choir_event *event = NULL;

	expect(1, choir_device_create_host(&device) == CHOIR_SUCCESS);
	expect(2, setrlimit(RLIMIT_NOFILE, &none) == 0);
	expect(3, choir_comm_create_start(NULL, 1, &device, NULL, &comm, &event) == CHOIR_SUCCESS);
	expect(4, choir_event_wait(event, -1) == CHOIR_NO_MEMORY);
	expect(5, comm == NULL && choir_last_error()[0] != '\0');
	choir_event_release(event);
	expect(6, choir_group_begin() == CHOIR_SUCCESS && choir_group_end() == CHOIR_SUCCESS);
	choir_device_destroy(device);
}

static int count_threads(void)
{
	DIR *tasks = opendir("/proc/self/task");
	const struct dirent *entry;
	int n = 0;

	while (tasks != NULL && (entry = readdir(tasks)) != NULL)
		n += entry->d_name[0] != '.';
	closedir(tasks);
	return n;
}

static void group_without_a_comm(void)
{
	int before = count_threads(); /* sanitizers may have one of their own */

	expect(1, before > 0);
	expect(2, choir_group_begin() == CHOIR_SUCCESS && choir_group_end() == CHOIR_SUCCESS);
	expect(3, count_threads() == before);
}

static choir_status exit_in_poll(choir_transport *transport, choir_message *message_p, int *arrived_p)
{
	(void)transport, (void)message_p, (void)arrived_p;
	exit(0);
}

static void exit_inside(void)
{
	choir_device *device, *devices[2];
	choir_comm_config config = CHOIR_COMM_CONFIG_INIT;
	static choir_transport_ops ops;
	choir_comm *comms[2];
	float value = 1;

	expect(1, choir_device_create_host(&device) == CHOIR_SUCCESS);
	devices[0] = devices[1] = device;
	config.ranks_per_node = 1;
	expect(2, choir_comm_create_local(2, devices, &config, comms) == CHOIR_SUCCESS);
	ops = *comms[0]->messenger->transport->ops;
	ops.poll = exit_in_poll;
	comms[0]->messenger->transport->ops = &ops;
	(void)choir_allreduce(comms[0], choir_host(&value), choir_host(&value), 1, CHOIR_F32, CHOIR_OP_SUM, NULL, NULL);
	_exit(3); /* the other rank never calls */
}

static void test_no_descriptors(void **state)
{
	(void)state;
	run_child(create_without_descriptors);
}

static void test_no_comm(void **state)
{
	(void)state;
	run_child(group_without_a_comm);
}

static void test_exit_inside(void **state)
{
	(void)state;
	run_child(exit_inside);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_no_descriptors), cmocka_unit_test(test_no_comm),
		                            cmocka_unit_test(test_exit_inside) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
