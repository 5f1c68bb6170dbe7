/* SPDX-License-Identifier: MIT */
#include "twin.h"

#include <stdlib.h>

struct twin {
	struct contender base;
	struct job job;
	struct contender *ours;
	void (*leave)(void);
};

static int once(struct contender *self)
{
	struct twin *twin = (struct twin *)self;

	return twin->ours->once(twin->ours);
}

static void touch(struct contender *self)
{
	struct twin *twin = (struct twin *)self;

	twin->ours->touch(twin->ours);
}

static int fill(struct contender *self)
{
	struct twin *twin = (struct twin *)self;

	return twin->ours->fill(twin->ours);
}

static int verify(struct contender *self, uint64_t *wrong_p)
{
	struct twin *twin = (struct twin *)self;

	return twin->ours->verify(twin->ours, wrong_p);
}

static void close_twin(struct contender *self)
{
	struct twin *twin = (struct twin *)self;

	twin->ours->close(twin->ours);
	if (twin->leave != NULL)
		twin->leave();
	free(twin);
}

struct contender *twin_open(const struct job *job, const char *name, void (*leave)(void))
{
	struct twin *twin = calloc(1, sizeof *twin);

	if (twin == NULL)
		return NULL;
	twin->job = *job;
	twin->leave = leave;
	twin->ours = ours_open(&twin->job, args_forced(job->args));
	if (twin->ours == NULL) {
		free(twin);
		return NULL;
	}
	twin->base = *twin->ours;
	twin->base.name = name;
	twin->base.once = once;
	twin->base.touch = twin->ours->touch != NULL ? touch : NULL;
	twin->base.fill = fill;
	twin->base.verify = verify;
	twin->base.close = close_twin;
	return &twin->base;
}
