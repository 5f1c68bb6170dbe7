/* SPDX-License-Identifier: MIT */
/* A process hands its descriptors to those that know its secret, and only what they name rightly. */
#include "node/porter.h"

#include "node/arena.h"
#include "node/process_id.h"
#include "node/shared.h"
#include "support.h"

#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>

struct offer {
	struct shared_map map;
	struct porter_address address;
	int64_t process;
	int until; /* the owner ends when this pipe does */
	int to;
};

static bool is_refused(int64_t process, enum porter_what what, int fd, uint64_t first)
{
	errno = 0;
	return porter_fetch(process, what, fd, first, 0) == -1 && errno == EACCES;
}

/* The owner, a child: tells where it can be asked, and waits. */
static void own(void *ctx)
{
	struct offer *offer = ctx;
	char byte;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	REQUIRE(shared_make("choir-test", 4096, &offer->map) == CHOIR_SUCCESS);
	((unsigned char *)offer->map.base)[4000] = 42;
	REQUIRE(porter_start(&offer->address) == CHOIR_SUCCESS);
	offer->process = process_id();
	REQUIRE(write(offer->to, offer, sizeof *offer) == sizeof *offer);
	(void)!read(offer->until, &byte, 1);
}

static void descriptors_are_handed_out(void **state)
{
	struct offer offer = { 0 };
	struct porter_address wrong;
	int until[2], told[2], file;
	unsigned char byte = 0;
	siginfo_t info;
	pid_t pid;

	(void)state;
	assert_int_equal(pipe(until) | pipe(told), 0);
	offer.until = until[0];
	offer.to = told[1];
	pid = start_child(own, &offer);
	assert_int_equal(read(told[0], &offer, sizeof offer), sizeof offer);
	assert_int_equal(porter_fetch(offer.process, PORTER_SELF, -1, 0, 0), -1);
	assert_int_equal(errno, ESRCH); /* nobody has told yet how to ask */

	wrong = offer.address;
	wrong.secret ^= 1;
	assert_int_equal(porter_learn(offer.process, &wrong), CHOIR_SUCCESS);
	assert_true(is_refused(offer.process, PORTER_MEMORY, offer.map.fd, offer.map.nonce));
	assert_true(is_refused(offer.process, PORTER_SELF, -1, 0));

	assert_int_equal(porter_learn(offer.process, &offer.address), CHOIR_SUCCESS);
	file = porter_fetch(offer.process, PORTER_MEMORY, offer.map.fd, offer.map.nonce, 0);
	assert_true(file >= 0);
	assert_int_equal(pread(file, &byte, 1, 4000), 1);
	assert_int_equal(byte, 42);
	close(file);
	assert_true(is_refused(offer.process, PORTER_MEMORY, offer.map.fd, offer.map.nonce ^ 1));
	assert_true(is_refused(offer.process, PORTER_MEMORY, until[0], offer.map.nonce));
	assert_true(is_refused(offer.process, PORTER_FILE, offer.map.fd, 0));
	assert_true(is_refused(offer.process, (enum porter_what)9, offer.map.fd, offer.map.nonce));

	file = porter_fetch(offer.process, PORTER_SELF, -1, 0, 0);
	assert_false(peer_watch_dead(file));
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED), 0);
	assert_true(peer_watch_dead(file));
	close(file);
	assert_int_equal(porter_fetch(offer.process, PORTER_SELF, -1, 0, 0), -1);
	assert_int_equal(errno, ECONNREFUSED);
	for (int end = 0; end < 2; end++)
		close(until[end]), close(told[end]);
}

/* The parent's socket is not the child's, which can have one of its own. */
static void start_again(void *ctx)
{
	struct porter_address *parents = ctx, mine;
	int file;

	REQUIRE(porter_learn(process_id_of(getppid()), parents) == CHOIR_SUCCESS);
	REQUIRE(porter_start(&mine) == CHOIR_SUCCESS);
	REQUIRE(mine.name != parents->name && mine.secret != parents->secret);
	file = porter_fetch(process_id_of(getppid()), PORTER_SELF, -1, 0, 0);
	REQUIRE(file >= 0);
	close(file);
}

static void a_forked_child_has_its_own(void **state)
{
	struct porter_address mine, again;

	(void)state;
	assert_int_equal(porter_start(&mine), CHOIR_SUCCESS);
	assert_int_equal(porter_start(&again), CHOIR_SUCCESS);
	assert_memory_equal(&mine, &again, sizeof mine);
	end_child(start_child(start_again, &mine));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(descriptors_are_handed_out),
		cmocka_unit_test(a_forked_child_has_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
