/* SPDX-License-Identifier: MIT */
#include "algo/collective.h"

#include "base/error.h"

#include <string.h>

#define REDUCES        TRAIT_REDUCES
#define ROOTED         TRAIT_ROOTED
#define UNEVEN         TRAIT_UNEVEN
#define PEERS_WRITE    TRAIT_PEERS_WRITE
#define PREFIX         TRAIT_PREFIX
#define PAIR           TRAIT_PAIR
#define NEVER_IN_PLACE TRAIT_NEVER_IN_PLACE
#define NO_PLAN        TRAIT_NO_PLAN

const struct collective_traits collective_table[N_COLLECTIVES] = {
#define COLLECTIVE(name_, text, send_, recv_, traits_)                                                                 \
	[COLLECTIVE_##name_] = { .name = text, .send = EXTENT_##send_, .recv = EXTENT_##recv_, .traits = traits_ },
#include "algo/collective.def"
#undef COLLECTIVE
};

static const struct {
	const char *name;
	enum collective collective;
} padded_forms[] = {
	{ .name = "reduce_scatter_padded", .collective = COLLECTIVE_REDUCE_SCATTER },
	{ .name = "allgather_padded", .collective = COLLECTIVE_ALLGATHER },
};

const char *collective_name(enum collective collective)
{
	return (size_t)collective < N_COLLECTIVES ? collective_table[collective].name : "unknown";
}

choir_status collective_parse(const char *text, enum collective *out)
{
	for (int c = 0; c < N_COLLECTIVES; c++) {
		if (strcmp(collective_table[c].name, text) != 0)
			continue;
		*out = (enum collective)c;
		return CHOIR_SUCCESS;
	}
	return error_set(CHOIR_ARGUMENT, "\"%s\" is no collective", text);
}

choir_status collective_parse_form(const char *text, enum collective *out, bool *padded_p)
{
	for (size_t i = 0; i < sizeof padded_forms / sizeof *padded_forms; i++) {
		if (strcmp(padded_forms[i].name, text) != 0)
			continue;
		*out = padded_forms[i].collective;
		*padded_p = true;
		return CHOIR_SUCCESS;
	}
	*padded_p = false;
	return collective_parse(text, out);
}
