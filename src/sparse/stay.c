/* SPDX-License-Identifier: MIT */
/* Note [lists that stay].  Where all ranks are in one process and their devices, of class stage, share a context, a
 * rank's coalesced list stays in device memory (lent.h): the header carries its number and count, kernels of each
 * rank read the lists of all where they lie, and the merged list goes to the caller's cl_mems.  Only counts and
 * headers cross the bus.  Short lists take the way through the host, by the rule of dense calls (Note [far or on the
 * device] in algo_default.c), unless allgather is forced.  Each rank says in its header whether its list stays, and
 * what its device has room for: ranks may share one, so each counts on its part of the memory.  Unless all lists
 * stay and can be merged there, those that stayed are read, and the headers are gathered once more.  A rank without
 * pairs lends an empty list: a loan tells the others, too, that its rank may still read theirs. */
#include "algo/algo.h"
#include "sparse/lent.h"
#include "sparse/state.h"

static uint64_t far_command_bytes(const struct sparse *sparse)
{
	return sparse->env.far_memory ? sparse->env.command_bytes : 0;
}

/* Note [short lists].  Coalescing and merging by kernels takes some fourteen launches and four waits; on an H100 that
 * was as long as the host takes for some 300 KB, which is what crosses the bus there in the time of a command.  A rank
 * with less far memory than that to coalesce leaves it to the host, and merges as the rank with the longest list does:
 * header_done.  Unless kernels are asked for, or lists of any length stay on the device (stay.c). */
bool sparse_is_long(const struct sparse *sparse, uint64_t pairs, uint64_t row_bytes)
{
	return pairs * (sparse->ind_bytes + row_bytes) >= far_command_bytes(sparse);
}

/* Is the list long enough for its commands?  A rank without pairs does as the others. */
static bool is_long(const struct sparse *sparse)
{
	uint64_t bytes = sparse->call.send_ind_count * sparse->ind_bytes +
	                 sparse->call.send_val_count * choir_dtype_bytes(sparse->call.val_dtype);

	return bytes == 0 || bytes >= algo_device_least(sparse->env.layout->n, false, far_command_bytes(sparse),
	                                                sparse->env.peer_percent);
}

bool sparse_list_stays(const struct sparse *sparse, bool however_short)
{
	if (!sparse->kernels || sparse->env.device_bytes == 0 || sparse->env.layout->n == 1)
		return false;
	return however_short || is_long(sparse);
}

choir_status sparse_lend(struct sparse *sparse)
{
	TRY(lent_create(&sparse->own_ind, &sparse->own_rows, sparse->env.layout->n - 1, &sparse->lent));
	sparse->header.pairs = sparse->own_count;
	return CHOIR_SUCCESS;
}

uint64_t sparse_list_number(const struct sparse *sparse)
{
	return sparse->lent == NULL ? 0 : lent_number(sparse->lent);
}

void sparse_say_room(struct sparse *sparse)
{
	sparse->header.memory_bytes = dev_memory_bytes(sparse->env.device) / (uint64_t)sparse->env.layout->n;
	sparse->header.buffer_bytes = dev_most_buffer_bytes(sparse->env.device);
}

void sparse_take_back(struct sparse *sparse)
{
	sparse->stays = false;
	if (sparse->lent != NULL)
		lent_withdraw(sparse->lent, &sparse->own_ind, &sparse->own_rows);
	sparse->lent = NULL;
}

static choir_status open_list(struct sparse *sparse, int r)
{
	const struct sparse_header *header = &sparse->headers[r];
	struct coalesce_source *list = &sparse->lists[r];
	const struct lent_list *from = sparse->lent;
	choir_status st = CHOIR_SUCCESS;

	list->pairs.form = index_form_of((struct index_range){ .lo = header->lo, .hi = header->hi });
	if (header->pairs == 0)
		return st;
	if (r != sparse->env.me) {
		st = lent_open(header->list_on_device, &sparse->borrowed[r]);
		from = sparse->borrowed[r];
	}
	if (st != CHOIR_SUCCESS)
		return error_prefix(st, "rank %d", r);
	list->pairs.count = header->pairs;
	list->ind_mem = lent_ind(from);
	list->val_mem = lent_rows(from);
	return CHOIR_SUCCESS;
}

choir_status sparse_borrow(struct sparse *sparse)
{
	for (int r = 0; r < sparse->env.layout->n; r++)
		TRY(open_list(sparse, r));
	return CHOIR_SUCCESS;
}

void sparse_return(struct sparse *sparse)
{
	for (int r = 0; sparse->borrowed != NULL && r < sparse->env.layout->n; r++) {
		lent_close(sparse->borrowed[r]);
		sparse->borrowed[r] = NULL;
	}
	for (int r = 0; sparse->lent != NULL && sparse->lent_is_known && r < sparse->env.layout->n; r++)
		if (r != sparse->env.me)
			lent_await(sparse->lent, sparse->headers[r].list_on_device);
	lent_give(sparse->lent, sparse->lent_is_known);
	sparse->lent = NULL;
}
