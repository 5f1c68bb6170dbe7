/* SPDX-License-Identifier: MIT */
/* Calls on one device have events like all others, so they need an engine: that of a comm of one rank. */
#ifndef API_DEVICE_COMM_H
#define API_DEVICE_COMM_H

#include "exec/comm.h"

/* device_comm: the comm of one rank that the device's own calls run on; the first of them makes it.  It lives as long
 * as the caller's reference of the device. */
choir_status device_comm(choir_device *device, choir_comm **out_p);

#endif
