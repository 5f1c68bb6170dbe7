/* SPDX-License-Identifier: MIT */
/* A transport's way to this process's bell: net and node do not meet, exec knows both. */
#include "node/bell.h"

#include <choir/transport.h>

void choir_transport_wake(void)
{
	struct bell *bell = bell_mine();

	if (bell != NULL)
		bell_ring(bell);
}
