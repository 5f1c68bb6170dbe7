/* SPDX-License-Identifier: MIT */
#include "api/device_comm.h"

#include "base/log.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Waits for the calls that are under way. */
static void detach(void *thing)
{
	choir_status st = choir_comm_destroy(thing);

	if (st != CHOIR_SUCCESS)
		log_text(LOG_WARNING, "the device's last reference went, but its calls stay: %s", error_text());
}

static choir_status make(choir_device *device, choir_comm **out_p)
{
	choir_comm_config config = CHOIR_COMM_CONFIG_INIT;

	config.name = "device";
	TRY(choir_comm_create_local(1, &device, &config, out_p));
	dev_attach(device, *out_p, detach);
	return CHOIR_SUCCESS;
}

choir_status device_comm(choir_device *device, choir_comm **out_p)
{
	choir_status st = CHOIR_SUCCESS;

	*out_p = dev_attached(device);
	if (*out_p != NULL)
		return CHOIR_SUCCESS;
	pthread_mutex_lock(&lock);
	*out_p = dev_attached(device);
	if (*out_p == NULL)
		st = make(device, out_p);
	pthread_mutex_unlock(&lock);
	return st;
}
