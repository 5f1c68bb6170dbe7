/* SPDX-License-Identifier: MIT */
/* The kernel sources inside the library. */
#ifndef CL_EMBEDDED_H
#define CL_EMBEDDED_H

/* embedded_source: the text of a file of this folder ("reduce.cl") with its includes pasted in; NULL for an unknown
 * name.  A constant; any thread. */
const char *embedded_source(const char *name);

#endif
