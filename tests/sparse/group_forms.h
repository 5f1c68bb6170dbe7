/* SPDX-License-Identifier: MIT */
/* The device of on_device.h as a GPU, whose kernels have groups, with the sums over a group in either form
 * (cl/group_sum.h).  Programs link with --wrap of clGetDeviceInfo and clBuildProgram. */
#ifndef TESTS_SPARSE_GROUP_FORMS_H
#define TESTS_SPARSE_GROUP_FORMS_H

#include <stdbool.h>

/* FORM_OWN: what the device itself says of sub-groups.  FORM_CLAIMED: it says that it has Intel's, and its compiler may
 * refuse them. */
enum group_form { FORM_LOCAL, FORM_OWN, FORM_CLAIMED };
extern enum group_form group_form;
bool device_has_sub_groups(void); /* the open device: what it says */

/* Programs that were built so, and that did not build, since open_as_gpu. */
extern unsigned sub_group_builds, sub_group_failures;

/* open_as_gpu: a set-up, as open_device. */
int open_as_gpu(void **state);

#endif
