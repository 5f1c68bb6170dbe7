/* SPDX-License-Identifier: MIT */
#ifndef API_LINKS_H
#define API_LINKS_H

#include "api/bootstrap.h"

/* links_create: the messengers and endpoints of the process's ranks, after bootstrap_run; bootstrap_end releases them.
 */
choir_status links_create(struct bootstrap *bootstrap);

/* links_message_bytes: what a transport of the caller says, 0 = nothing; NULL is silent.
 * links_drop_given: destroys a transport that no messenger has, as the create call owns it; NULL is silent. */
uint64_t links_message_bytes(const choir_transport *given);
void links_drop_given(choir_transport *given);

#endif
