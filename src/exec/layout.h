/* SPDX-License-Identifier: MIT */
/* The layout of a comm: which rank is on which node (algo/algo.h). */
#ifndef EXEC_LAYOUT_H
#define EXEC_LAYOUT_H

#include "algo/algo.h"

/* layout_build: from each rank's node (any numbers; they are renumbered in order of first appearance).  *out owns its
 * arrays until layout_free. */
choir_status layout_build(int n, const int *node_of, struct layout *out);
void layout_free(struct layout *layout);

#endif
