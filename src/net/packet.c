/* SPDX-License-Identifier: MIT */
#include "net/packet.h"

#include "base/error.h"

#include <string.h>

struct packet_prefix packet_stamp(const struct wire_header *header, size_t payload_bytes)
{
	struct packet_prefix prefix = { .header = *header };

	prefix.header.magic = WIRE_MAGIC;
	prefix.header.bytes_check = (uint32_t)payload_bytes;
	return prefix;
}

void *packet_pack(struct blocks *blocks, const struct wire_header *header, const void *payload, size_t payload_bytes)
{
	struct packet_prefix prefix = packet_stamp(header, payload_bytes);
	unsigned char *data;

	if (payload_bytes > SIZE_MAX - WIRE_PREFIX_BYTES) {
		error_no_memory("a message", payload_bytes);
		return NULL;
	}
	data = blocks_take(blocks, WIRE_PREFIX_BYTES + payload_bytes);
	if (data == NULL)
		return NULL;
	memcpy(data, &prefix, sizeof prefix);
	if (payload_bytes > 0)
		memcpy(data + WIRE_PREFIX_BYTES, payload, payload_bytes);
	return data;
}

choir_status packet_open(const char *transport, struct blocks *blocks, int peer, const void *data, size_t bytes,
                         struct message **out_p)
{
	struct message *message;
	struct wire_header header = { .magic = 0 };

	if (bytes >= WIRE_PREFIX_BYTES)
		memcpy(&header, data, sizeof header);
	if (header.magic != WIRE_MAGIC)
		return error_set(CHOIR_TRANSPORT,
		                 "%s: a message of %zu bytes from endpoint %d is of another version of choir (%08x)",
		                 transport, bytes, peer, header.magic);
	if (header.bytes_check != (uint32_t)(bytes - WIRE_PREFIX_BYTES))
		return error_set(CHOIR_TRANSPORT,
		                 "%s: a message from endpoint %d has %zu bytes, but its header says %u", transport,
		                 peer, bytes - WIRE_PREFIX_BYTES, header.bytes_check);
	message = blocks_take(blocks, sizeof *message);
	if (message == NULL)
		return CHOIR_NO_MEMORY;
	*message = (struct message){ .header = header, .at = (const unsigned char *)data + WIRE_PREFIX_BYTES };
	message->payload_bytes = bytes - WIRE_PREFIX_BYTES;
	*out_p = message;
	return CHOIR_SUCCESS;
}
