/* SPDX-License-Identifier: MIT */
#include "lib/ranks.h"
#include "seats.h"
#include "tune.h"

#include <stdlib.h>

struct place {
	const struct options *options;
	const struct text *text;
	struct seat seat;
};

static int run(const struct rank *me, void *ctx)
{
	struct place *place = (struct place *)ctx + me->rank;
	choir_status st = train_run(place->options, place->text, &place->seat);

	if (st != CHOIR_SUCCESS)
		choir_comm_abort(place->seat.comm); /* the others must not wait for this rank */
	return st == CHOIR_SUCCESS ? EXIT_FINE : EXIT_FAILED;
}

static choir_status open_seats(struct place *places, const struct options *options, const struct text *text,
                               choir_device **devices, choir_comm **comms)
{
	int n = (int)options->local;
	choir_status st = CHOIR_SUCCESS;

	for (int i = 0; i < n && st == CHOIR_SUCCESS; i++)
		st = choir_device_create_default(i, devices + i);
	if (st != CHOIR_SUCCESS)
		return fail_choir("no OpenCL device", st);
	st = choir_comm_create_local(n, devices, NULL, comms);
	if (st != CHOIR_SUCCESS)
		return fail_choir("choir_comm_create_local", st);
	for (int i = 0; i < n; i++) {
		TRY(tune(choir_device_id(devices[i])));
		places[i] = (struct place){ .options = options, .text = text };
		places[i].seat =
		    (struct seat){ .rank = i, .size = n, .node_rank = i, .device = devices[i], .comm = comms[i] };
	}
	return CHOIR_SUCCESS;
}

int seats_local(const struct options *options, const struct text *text)
{
	int n = (int)options->local, status = EXIT_NO_DEVICE;
	struct place *places = calloc((size_t)n, sizeof *places);
	choir_device **devices = calloc((size_t)n, sizeof(choir_device *));
	choir_comm **comms = calloc((size_t)n, sizeof(choir_comm *));

	if (!places || !devices || !comms) {
		fail_memory("the ranks", (size_t)n * sizeof *places);
		status = EXIT_FAILED;
	} else if (open_seats(places, options, text, devices, comms) == CHOIR_SUCCESS) {
		status = ranks_as_threads(n, run, places);
	}
	for (int i = 0; i < n && comms && devices; i++) {
		choir_comm_destroy(comms[i]);
		choir_device_destroy(devices[i]);
	}
	free(comms);
	free(devices);
	free(places);
	return status;
}
