/* SPDX-License-Identifier: MIT */
/* A configuration of a top-k state, checked. */
#ifndef API_TOPK_CONFIG_H
#define API_TOPK_CONFIG_H

#include "topk/state.h"

/* topk_config_types: UNSUPPORTED naming the call where there is no top-k of that data type and operator; ARGUMENT for a
 * number that is no data type. */
choir_status topk_config_types(const char *call, choir_dtype dtype, choir_op op);

/* topk_config_settings: lists in *out are still the caller's.  ARGUMENT, UNSUPPORTED naming the field. */
choir_status topk_config_settings(const choir_topk_config *config, struct topk_settings *out);

#endif
