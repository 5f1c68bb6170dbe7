/* SPDX-License-Identifier: MIT */
#include "api/device_comm.h"

#include "base/fork.h"
#include "base/log.h"

/* Waits for the calls that are under way. */
static void detach(void *thing)
{
	choir_comm *comm = thing;
	choir_status st;

	if (comm->generation != fork_generation())
		return; /* a forked child: the calls are the parent's */
	st = choir_comm_destroy(comm);
	if (st != CHOIR_SUCCESS)
		log_text(LOG_WARNING, "the device's last reference went, but its calls stay: %s", error_text());
}

/* Two threads may make one at once.  A lock would stay locked in a child that is forked meanwhile. */
choir_status device_comm(choir_device *device, choir_comm **out_p)
{
	choir_comm_config config = CHOIR_COMM_CONFIG_INIT;

	*out_p = dev_attached(device);
	if (*out_p != NULL)
		return CHOIR_SUCCESS;
	config.name = "device";
	TRY(choir_comm_create_local(1, &device, &config, out_p));
	if (!dev_attach(device, *out_p, detach)) {
		detach(*out_p);
		*out_p = dev_attached(device);
	}
	return CHOIR_SUCCESS;
}
