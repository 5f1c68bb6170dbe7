/* SPDX-License-Identifier: MIT */
/* A packet is a message as it travels: header, padding to WIRE_PREFIX_BYTES, payload. */
#ifndef NET_PACKET_H
#define NET_PACKET_H

#include "net/blocks.h"
#include "net/messenger.h"

struct packet_prefix {
	struct wire_header header;
	unsigned char rest[WIRE_PREFIX_BYTES - sizeof(struct wire_header)];
};

/* packet_stamp: the bytes before the payload, with magic and bytes_check set. */
struct packet_prefix packet_stamp(const struct wire_header *header, size_t payload_bytes);

/* packet_pack: a block that holds the packet; NULL without memory (error set). */
void *packet_pack(struct blocks *blocks, const struct wire_header *header, const void *payload, size_t payload_bytes);

/* packet_open: *out_p: a message, itself a block, that points into the packet; the caller sets its messenger.
 * TRANSPORT, naming the transport and the peer, if the bytes are not a packet of this version; NO_MEMORY. */
choir_status packet_open(const char *transport, struct blocks *blocks, int peer, const void *data, size_t bytes,
                         struct message **out_p);

#endif
