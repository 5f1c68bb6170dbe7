/* SPDX-License-Identifier: MIT */
/* Top-k gradients with error feedback, three ranks in one process, a thread each.  Every rank's gradient is the same in
 * every step, so what is sent late shows: after enough steps all that was accumulated has come out, but for what the
 * residuals still hold.
 * usage: topk [algorithm] */
#define CL_TARGET_OPENCL_VERSION 120
#include <choir/choir.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { RANKS = 3, N = 1000, STEPS = 50 };

struct rank {
	choir_comm *comm;
	const char *algorithm;
	double given, got, left; /* sums over all steps of the gradients, of the results; and of the residual */
	int failed;
};

static double sum(const float *x)
{
	double all = 0;

	for (int i = 0; i < N; i++)
		all += (double)x[i];
	return all;
}

static int train(struct rank *me)
{
	choir_topk_config config = CHOIR_TOPK_CONFIG_INIT;
	choir_topk_out out = CHOIR_TOPK_OUT_INIT;
	choir_topk_state *state;
	float gradient[N], result[N], residual[N];

	config.count = N;
	config.algorithm = me->algorithm;
	config.density = 0.02;
	config.op = CHOIR_OP_SUM;
	if (choir_topk_create(me->comm, &config, &state))
		return 1;
	out.dense = choir_host(result);
	for (int step = 0; step < STEPS; step++) {
		for (int i = 0; i < N; i++)
			gradient[i] = (float)((i * 7 + choir_comm_rank(me->comm)) % 11);
		if (choir_topk_allreduce(state, choir_host(gradient), &out, NULL, NULL))
			return 1;
		me->given += sum(gradient);
		me->got += sum(result); /* every rank has the same */
	}
	if (choir_topk_residual(state, residual))
		return 1;
	me->left = sum(residual);
	choir_topk_destroy(state);
	return 0;
}

static void *run(void *arg)
{
	struct rank *me = arg;

	me->failed = train(me);
	if (me->failed)
		fprintf(stderr, "%s\n", choir_last_error());
	return NULL;
}

int main(int argc, char **argv)
{
	const char *algorithm = argc > 1 ? argv[1] : "oktopk";
	choir_device *device, *devices[RANKS];
	choir_comm *comms[RANKS];
	struct rank ranks[RANKS] = { { NULL, NULL, 0, 0, 0, 0 } };
	pthread_t threads[RANKS];
	double given = 0, left = 0;
	int failed = 0;

	if (choir_device_create_default(0, &device))
		return fprintf(stderr, "%s\n", choir_last_error()), 1;
	for (int r = 0; r < RANKS; r++)
		devices[r] = device;
	if (choir_comm_create_local(RANKS, devices, NULL, comms))
		return fprintf(stderr, "%s\n", choir_last_error()), 1;
	for (int r = 0; r < RANKS; r++) {
		ranks[r].comm = comms[r];
		ranks[r].algorithm = algorithm;
		pthread_create(&threads[r], NULL, run, &ranks[r]);
	}
	for (int r = 0; r < RANKS; r++) {
		pthread_join(threads[r], NULL);
		given += ranks[r].given;
		left += ranks[r].left;
		failed |= ranks[r].failed;
	}
	printf("%s, %d ranks, %d steps: %g given, %g lost\n", algorithm, RANKS, STEPS, given,
	       given - ranks[0].got - left);
	for (int r = 0; r < RANKS; r++)
		choir_comm_destroy(comms[r]);
	choir_device_destroy(device);
	return failed;
}
