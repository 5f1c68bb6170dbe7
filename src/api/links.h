/* SPDX-License-Identifier: MIT */
#ifndef API_LINKS_H
#define API_LINKS_H

#include "api/bootstrap.h"

/* links_create: the messengers and endpoints of the process's ranks, after bootstrap_run; bootstrap_end releases them.
 */
choir_status links_create(struct bootstrap *bootstrap);

/* links_drop_given: destroys a transport that no messenger has, as the create call owns it; NULL is silent. */
void links_drop_given(choir_transport *given);

#endif
