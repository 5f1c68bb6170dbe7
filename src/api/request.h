/* SPDX-License-Identifier: MIT */
/* Persistent collectives: a call that was checked once and is started again and again. */
#ifndef API_REQUEST_H
#define API_REQUEST_H

#include "api/dense.h"

/* request_create: checks the call as dense_start would, and keeps it. */
choir_status request_create(struct dense *d, const choir_call *call, choir_request **request_p);

#endif
