/* SPDX-License-Identifier: MIT */
#include "mpi/config.h"

#include <choir/transport.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_DEADLINE_MS ((int64_t)600000)

choir_status mpi_check_size(const char *call, const char *what, const char *init, size_t size, size_t known)
{
	if (size >= sizeof size && size <= known && size % sizeof size == 0)
		return CHOIR_SUCCESS;
	return choir_transport_error(CHOIR_ARGUMENT, "%s: %s->struct_size is %zu; this library knows %zu (use %s)",
	                             call, what, size, known, init);
}

choir_status mpi_check_arguments(const char *call, int n_local, choir_device *const *devices,
                                 const choir_comm_config *config, choir_comm **comms_out)
{
	if (devices == NULL || comms_out == NULL)
		return choir_transport_error(CHOIR_ARGUMENT, "%s: %s is NULL", call,
		                             devices == NULL ? "devices" : "comms_out");
	if (n_local < 1)
		return choir_transport_error(CHOIR_ARGUMENT, "%s: n_local is %d, not at least 1", call, n_local);
	if (config == NULL)
		return CHOIR_SUCCESS;
	return mpi_check_size(call, "config", "CHOIR_COMM_CONFIG_INIT", config->struct_size, sizeof *config);
}

choir_comm_config mpi_copy_config(const choir_comm_config *config)
{
	choir_comm_config copy = CHOIR_COMM_CONFIG_INIT;
	size_t size = config != NULL ? config->struct_size : 0;

	if (size > sizeof copy)
		size = sizeof copy;
	if (size > 0)
		memcpy(&copy, config, size - size % sizeof size);
	copy.struct_size = sizeof copy;
	return copy;
}

int64_t mpi_deadline_ms(const choir_comm_config *config)
{
	const char *text = getenv("CHOIR_DEADLINE_MS");
	char *end = NULL;
	long long value;

	if (config->deadline_ms > 0)
		return config->deadline_ms;
	value = text != NULL ? strtoll(text, &end, 10) : 0;
	return text != NULL && end != text && *end == '\0' && value > 0 ? value : DEFAULT_DEADLINE_MS;
}

/* Of the table no more is read than it says that there is. */
choir_status mpi_refuse(choir_status st, const choir_comm_config *config)
{
	const size_t least = offsetof(choir_transport_ops, destroy) + sizeof((choir_transport_ops){ 0 }.destroy);
	const choir_transport_ops *ops = config->transport != NULL ? config->transport->ops : NULL;

	if (ops != NULL && ops->struct_size >= least && ops->destroy != NULL)
		ops->destroy(config->transport);
	return st;
}
