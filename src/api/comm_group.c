/* SPDX-License-Identifier: MIT */
/* Groups by a rule: their arithmetic, their text, and the split by one. */
#include "api/split.h"

#include "base/ascii.h"
#include "base/config.h"
#include "base/plural.h"

#include <choir/group.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const type_names[] = {
	[CHOIR_COMM_GROUP_ALL] = "all",
	[CHOIR_COMM_GROUP_CONSECUTIVE] = "consecutive",
	[CHOIR_COMM_GROUP_ORTHOGONAL] = "orthogonal",
};
enum { N_TYPES = sizeof type_names / sizeof *type_names };

static const char *type_name(size_t i)
{
	return type_names[i];
}

static choir_status read_group(const char *call, const choir_comm_group *given, choir_comm_group *out)
{
	choir_comm_group read = CHOIR_COMM_GROUP_INIT;

	*out = read;
	TRY(call_read_struct(call, "group", "CHOIR_COMM_GROUP_INIT", given, &read, sizeof read));
	if ((int)read.type < 0 || (int)read.type >= N_TYPES)
		return error_set(CHOIR_ARGUMENT, "%s: no type of group has number %d", call, (int)read.type);
	if (read.size < 0 || read.stride < 0)
		return error_set(CHOIR_ARGUMENT, "%s: %s group of size %d and stride %d: both are 0 or more", call,
		                 type_names[read.type], read.size, read.stride);
	read.struct_size = sizeof read;
	*out = read;
	return CHOIR_SUCCESS;
}

/* The size that 0 stands for. */
static choir_status default_size(const char *call, const choir_comm *comm, choir_comm_group_type type, int *size_p)
{
	const struct layout *layout = &comm->layout;
	int each = layout->max_node_size;

	if (layout->min_node_size != each)
		return error_set(CHOIR_ARGUMENT,
		                 "%s: %s group of size 0, but the nodes of '%s' have %d to %d ranks: give a size", call,
		                 type_names[type], comm->name, layout->min_node_size, each);
	for (int r = 0; r < comm->n; r++)
		if (layout->node_of[r] != layout->node_of[r - r % each])
			return error_set(CHOIR_ARGUMENT,
			                 "%s: %s group of size 0, but the ranks of a node of '%s' are not consecutive: "
			                 "give a size",
			                 call, type_names[type], comm->name);
	*size_p = type == CHOIR_COMM_GROUP_CONSECUTIVE ? each : layout->n_nodes;
	return CHOIR_SUCCESS;
}

/* Size and stride as numbers that divide. */
static choir_status complete(const char *call, const choir_comm *comm, choir_comm_group *group)
{
	int n = comm->n;

	if (group->type == CHOIR_COMM_GROUP_ALL) {
		if (group->size != 0 && group->size != n)
			return error_set(CHOIR_ARGUMENT, "%s: a group of type all has all %d rank%s of '%s', not %d",
			                 call, n, plural(n), comm->name, group->size);
		group->size = n;
		group->stride = 1;
		return CHOIR_SUCCESS;
	}
	if (group->size == 0)
		TRY(default_size(call, comm, group->type, &group->size));
	if (n % group->size != 0)
		return error_set(CHOIR_ARGUMENT, "%s: %s groups of %d ranks do not divide the %d rank%s of '%s'", call,
		                 type_names[group->type], group->size, n, plural(n), comm->name);
	if (group->stride <= 1)
		group->stride = group->type == CHOIR_COMM_GROUP_ORTHOGONAL ? n / group->size : 1;
	if (n / group->size % group->stride != 0)
		return error_set(CHOIR_ARGUMENT,
		                 "%s: %s groups of %d rank%s, %d apart, take %lld ranks at a time, which do not divide "
		                 "the %d rank%s of '%s'",
		                 call, type_names[group->type], group->size, plural(group->size), group->stride,
		                 (long long)group->size * group->stride, n, plural(n), comm->name);
	return CHOIR_SUCCESS;
}

static int group_of(const choir_comm_group *group, int rank)
{
	return rank / (group->size * group->stride) * group->stride + rank % group->stride;
}

static int rank_in(const choir_comm_group *group, int rank)
{
	return rank / group->stride % group->size;
}

choir_status choir_comm_group_find(const choir_comm *comm, const choir_comm_group *group, int *group_p, int *rank_p,
                                   int *size_p, int *stride_p)
{
	static const char call[] = "choir_comm_group_find";
	choir_comm_group read;

	if (comm == NULL)
		return error_set(CHOIR_ARGUMENT, "%s: null comm", call);
	TRY(read_group(call, group, &read));
	TRY(complete(call, comm, &read));
	if (group_p != NULL)
		*group_p = group_of(&read, comm->rank);
	if (rank_p != NULL)
		*rank_p = rank_in(&read, comm->rank);
	if (size_p != NULL)
		*size_p = read.size;
	if (stride_p != NULL)
		*stride_p = read.stride;
	return CHOIR_SUCCESS;
}

/* --- text --- */

choir_status choir_comm_group_text(const choir_comm_group *group, char **text_p)
{
	static const char call[] = "choir_comm_group_text";
	choir_comm_group read;

	if (text_p == NULL)
		return error_set(CHOIR_ARGUMENT, "%s: null argument", call);
	TRY(read_group(call, group, &read));
	if (asprintf(text_p, "%s, size=%d, stride=%d", type_names[read.type], read.size, read.stride) < 0)
		return error_no_memory("the text of a group", 64);
	return CHOIR_SUCCESS;
}

/* The next word up to a comma or a blank; false at the end. */
static bool next_word(const char **at, char *word, size_t room)
{
	size_t n;

	*at += strspn(*at, " \t,");
	n = strcspn(*at, " \t,");
	if (n == 0)
		return false;
	snprintf(word, room, "%.*s", (int)n, *at);
	*at += n;
	return true;
}

static choir_status read_number(const char *call, const char *word, int *out)
{
	const char *digits = strchr(word, '=') + 1;
	long value;
	char *end;

	value = strtol(digits, &end, 10);
	if (!isdigit((unsigned char)digits[0]) || *end != '\0' || value > INT32_MAX)
		return error_set(CHOIR_ARGUMENT, "%s: '%s': a number from 0 to %d was expected", call, word, INT32_MAX);
	*out = (int)value;
	return CHOIR_SUCCESS;
}

choir_status choir_comm_group_parse(const char *text, choir_comm_group *out)
{
	static const char call[] = "choir_comm_group_parse";
	choir_comm_group read = CHOIR_COMM_GROUP_INIT;
	size_t type = 0;
	char word[64];

	if (text == NULL || out == NULL)
		return error_set(CHOIR_ARGUMENT, "%s: null argument", call);
	if (!next_word(&text, word, sizeof word))
		return error_set(CHOIR_ARGUMENT, "%s: an empty text; \"consecutive, size=4\" is a group", call);
	while (type < N_TYPES && !ascii_equal(word, type_names[type]))
		type++;
	if (type == N_TYPES)
		return error_set(CHOIR_ARGUMENT, "%s: no type of group is called '%s'; the nearest is '%s'", call, word,
		                 config_nearest(word, type_name, N_TYPES));
	read.type = (choir_comm_group_type)type;
	while (next_word(&text, word, sizeof word)) {
		if (ascii_begins(word, "size="))
			TRY(read_number(call, word, &read.size));
		else if (ascii_begins(word, "stride="))
			TRY(read_number(call, word, &read.stride));
		else
			return error_set(CHOIR_ARGUMENT, "%s: '%s': size=NUMBER or stride=NUMBER was expected", call,
			                 word);
	}
	*out = read;
	return CHOIR_SUCCESS;
}

/* --- split --- */

static void describe_group(const struct split_claim *claim, char *text, size_t bytes)
{
	if (claim->rule[0] < 0)
		snprintf(text, bytes, "a color");
	else
		snprintf(text, bytes, "the group '%s, size=%d, stride=%d'", type_names[claim->rule[0]], claim->rule[1],
		         claim->rule[2]);
}

choir_status choir_comm_group_split_local(int n_local, choir_comm *const *comms, const choir_comm_group *group,
                                          const choir_comm_config *config, choir_comm **comms_out)
{
	static const char call[] = "choir_comm_group_split";
	const struct split_how how = { .call = call, .config = config, .describe = describe_group };
	choir_comm_group read;
	struct split_claim *claims;
	choir_status st;

	if (n_local < 1 || comms == NULL || comms_out == NULL)
		return error_set(CHOIR_ARGUMENT, "%s: null argument, or n_local %d", call, n_local);
	TRY(call_check_comms(call, n_local, comms));
	TRY(read_group(call, group, &read));
	TRY(complete(call, comms[0], &read));
	claims = calloc((size_t)n_local, sizeof *claims);
	if (claims == NULL)
		return error_no_memory("claims of a split", (size_t)n_local * sizeof *claims);
	for (int i = 0; i < n_local; i++)
		claims[i] = (struct split_claim){ .color = group_of(&read, comms[i]->rank),
			                          .key = rank_in(&read, comms[i]->rank),
			                          .rule = { (int32_t)read.type, read.size, read.stride } };
	st = split_comms(&how, n_local, comms, claims, comms_out);
	free(claims);
	return st;
}

choir_status choir_comm_group_split(choir_comm *comm, const choir_comm_group *group, const choir_comm_config *config,
                                    choir_comm **out_p)
{
	return choir_comm_group_split_local(1, &comm, group, config, out_p);
}
