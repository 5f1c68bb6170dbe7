/* SPDX-License-Identifier: MIT */
#include "seats.h"
#include "tune.h"

#include <pthread.h>
#include <stdlib.h>

struct place {
	pthread_t thread;
	const struct options *options;
	const struct text *text;
	struct seat seat;
	choir_status outcome;
};

static void *run(void *arg)
{
	struct place *place = arg;

	place->outcome = train_run(place->options, place->text, &place->seat);
	if (place->outcome != CHOIR_SUCCESS && place->seat.comm)
		choir_comm_abort(place->seat.comm); /* the others must not wait for this rank */
	return NULL;
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

static choir_status run_all(struct place *places, int n)
{
	choir_status st = CHOIR_SUCCESS;
	int started = 0;

	while (started < n && pthread_create(&places[started].thread, NULL, run, places + started) == 0)
		started++;
	if (started < n) {
		st = failure(CHOIR_NO_MEMORY, "no thread for rank %d", started);
		choir_comm_abort(places[started].seat.comm);
	}
	for (int i = 0; i < started; i++) {
		pthread_join(places[i].thread, NULL);
		if (places[i].outcome != CHOIR_SUCCESS)
			st = places[i].outcome;
	}
	return st;
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
		status = run_all(places, n) == CHOIR_SUCCESS ? EXIT_FINE : EXIT_FAILED;
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
