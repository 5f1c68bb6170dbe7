/* SPDX-License-Identifier: MIT */
/* Parameters of CLBlast's matrix product where its own do not suit. */
#ifndef TRAIN_TUNE_H
#define TRAIN_TUNE_H

#include "fail.h"

#include <CL/cl.h>

/* tune: once a device, before its first product, by one thread at a time: CLBlast fills a table of all drivers then,
 * without a lock. */
choir_status tune(cl_device_id device);

#endif
