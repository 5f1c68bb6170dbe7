/* SPDX-License-Identifier: MIT */
/* Is the device Oclgrind's?  It interprets kernels, some thousand times slower than a CPU runs them. */
#ifndef TESTS_SPARSE_INTERPRETS_H
#define TESTS_SPARSE_INTERPRETS_H

#include <choir/device.h>
#include <stdbool.h>
#include <string.h>

static inline bool device_interprets(const choir_device *device)
{
	char name[128] = "";

	(void)clGetDeviceInfo(choir_device_id(device), CL_DEVICE_NAME, sizeof name - 1, name, NULL);
	return strstr(name, "Oclgrind") != NULL;
}

#endif
