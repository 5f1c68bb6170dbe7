/* SPDX-License-Identifier: MIT */
/* The commands that move bytes of buffers and SVM between host and device are counted, maps too: the program's own
 * functions come before the loader's. */
#ifndef TESTS_WORLD_TRANSFERS_H
#define TESTS_WORLD_TRANSFERS_H

#include <stdatomic.h>

extern _Atomic long transfers; /* since the program last set it to 0 */

#endif
