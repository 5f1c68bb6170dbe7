/* SPDX-License-Identifier: MIT */
/* A packet: the bytes of a message on the wire: header, padding to WIRE_PREFIX_BYTES, payload. */
#ifndef NET_PACKET_H
#define NET_PACKET_H

#include "net/blocks.h"
#include "net/pump.h"

struct packet_prefix {
	struct wire_header header;
	unsigned char rest[WIRE_PREFIX_BYTES - sizeof(struct wire_header)];
};

/* packet_stamp: the bytes before the payload, with magic and bytes_check. */
struct packet_prefix packet_stamp(const struct wire_header *header, size_t payload_bytes);

/* packet_pack: a block with header, padding and payload, with magic and bytes_check; NULL without memory (error
 * set). */
void *packet_pack(struct blocks *blocks, const struct wire_header *header, const void *payload, size_t payload_bytes);

/* packet_open: a message of no pump yet, itself a block, that points into the packet; TRANSPORT, naming the transport,
 * if the packet is not one of ours. */
choir_status packet_open(const char *transport, struct blocks *blocks, int peer, const void *data, size_t bytes,
                         struct pump_message **out_p);

#endif
