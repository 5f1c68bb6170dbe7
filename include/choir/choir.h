/* SPDX-License-Identifier: MIT */
/* choir: collective operations on OpenCL devices.  Includes all public headers but <choir/mpi.h>, <choir/plan.h> and
 * <choir/transport.h>. */
#ifndef CHOIR_CHOIR_H
#define CHOIR_CHOIR_H

#include <choir/chunks.h>
#include <choir/collective.h>
#include <choir/comm.h>
#include <choir/device.h>
#include <choir/event.h>
#include <choir/group.h>
#include <choir/op.h>
#include <choir/pairs.h>
#include <choir/sparse.h>
#include <choir/topk.h>
#include <choir/types.h>

#endif
