/* SPDX-License-Identifier: MIT */
#include "header.h"

static json_t *comm_info(choir_comm *comm)
{
	char *text = NULL;
	choir_status st = choir_comm_json(comm, &text);

	return header_info_of(st, text);
}

void header_add_comm(json_t *header, const struct world *world, choir_comm *comm)
{
	json_t *layout = json_array();

	for (int r = 0; r < world->size; r++)
		json_array_append_new(layout, json_integer(choir_comm_node(comm, r)));
	json_object_set_new(header, "nodes", json_integer(choir_comm_nodes(comm)));
	json_object_set_new(header, "node_layout", layout);
	json_object_set_new(header, "comm_info", comm_info(comm));
}
