/* SPDX-License-Identifier: MIT */
/* Groups: comms of some ranks of a comm, by a rule (all, consecutive, orthogonal) or by a list of members with a name.
 * The new comm is a comm like any other; choir_comm_destroy frees it.  docs/groups.md explains them. */
#ifndef CHOIR_GROUP_H
#define CHOIR_GROUP_H

#include <choir/event.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A rule that cuts the n ranks of a comm into groups of `size` ranks:
 * ALL          one group of all ranks; size 0 or n.
 * CONSECUTIVE  {0, 1, ... size - 1}, {size, ... 2 size - 1}, ...; with a stride s the members are s ranks apart:
 *              {0, s, ... (size - 1) s}, {1, s + 1, ...}, ... and so on in every size * s ranks.
 * ORTHOGONAL   {0, m, 2 m, ...}, {1, m + 1, ...}, ... with m = n / size; with a stride s > 1 the same as CONSECUTIVE.
 * size 0: CONSECUTIVE: the ranks of a node; ORTHOGONAL: the number of nodes.  Both need nodes of equally many
 * consecutive ranks.
 * stride 0 or 1: CONSECUTIVE: 1; ORTHOGONAL: n / size. */
typedef enum choir_comm_group_type {
	CHOIR_COMM_GROUP_ALL,
	CHOIR_COMM_GROUP_CONSECUTIVE,
	CHOIR_COMM_GROUP_ORTHOGONAL
} choir_comm_group_type;
typedef struct choir_comm_group {
	size_t struct_size; /* sizeof(choir_comm_group) */
	choir_comm_group_type type;
	int size, stride;
} choir_comm_group;
#define CHOIR_COMM_GROUP_INIT                                                                                          \
	{                                                                                                              \
		sizeof(choir_comm_group), CHOIR_COMM_GROUP_ALL, 0, 1                                                   \
	}

/* choir_comm_group_find: the number of this rank's group (groups are numbered by their lowest ranks), the rank within
 * it, and the size and stride that a 0 stands for; pointers may be NULL.  Sends nothing.  ARGUMENT if size * stride
 * does not divide the comm's ranks. */
CHOIR_API choir_status choir_comm_group_find(const choir_comm *comm, const choir_comm_group *group, int *group_p,
                                             int *rank_p, int *size_p, int *stride_p);

/* choir_comm_group_text: "consecutive, size=4, stride=1"; the caller frees *text_p with free().
 * choir_comm_group_parse: reads it; size and stride may be missing, case does not matter.  ARGUMENT. */
CHOIR_API choir_status choir_comm_group_text(const choir_comm_group *group, char **text_p);
CHOIR_API choir_status choir_comm_group_parse(const char *text, choir_comm_group *out);

/* choir_comm_group_split: the comm of this rank's group, in the order of the ranks.  Collective and blocking; all ranks
 * give the same group (MISMATCH).  config: NULL, or what differs from the comm's, as in choir_comm_split_config.  With
 * several ranks in one thread use choir_comm_group_split_local; without blocking choir_comm_split_start, whose color
 * and key are then *group_p and *rank_p of choir_comm_group_find. */
CHOIR_API choir_status choir_comm_group_split(choir_comm *comm, const choir_comm_group *group,
                                              const choir_comm_config *config, choir_comm **out_p);
CHOIR_API choir_status choir_comm_group_split_local(int n_local, choir_comm *const *comms,
                                                    const choir_comm_group *group, const choir_comm_config *config,
                                                    choir_comm **comms_out);

/* choir_comm_split_start: choir_comm_split_config on a thread of the library's: returns at once, and *event_p completes
 * once *out_p is set, or with the failure.  One thread may start it for several of its ranks.  Until the event is
 * complete this rank makes no other collective call on the comm, out_p stays valid and *out_p is NULL; config is
 * copied.  There is nothing to destroy after a failure.  choir_comm_abort of the parent ends it with ABORTED;
 * choir_comm_destroy ends it with ABORTED if it still needs the parent, and returns once its event is complete. */
CHOIR_API choir_status choir_comm_split_start(choir_comm *comm, int color, int key, const choir_comm_config *config,
                                              choir_comm **out_p, choir_event **event_p);

/* choir_comm_create_group: a comm of the ranks ranks[0 .. n_ranks - 1] of the parent, in that order, under a name by
 * which choir_comm_find finds it.  Only the members need to call, with the same list and name; blocking among the
 * members, which exchange messages on the parent.  MISMATCH where two members meet whose lists or names differ; where
 * the lists have other members the parent fails with it.  config: as of choir_comm_group_split; its name is the
 * group's unless it is given.
 * A rank that is no member may call too: it gets ARGUMENT "rank 3 of 'world' is not part of the group 'rows' ..." at
 * once, and so from choir_comm_find later.  A name that a group of the parent has, or that one gets which is being
 * made, is ARGUMENT.
 * With several members in one thread use choir_comm_create_group_local: comms are the parent's handles, all of
 * members. */
CHOIR_API choir_status choir_comm_create_group(choir_comm *parent, const char *name, const int *ranks, int n_ranks,
                                               const choir_comm_config *config, choir_comm **out_p);
CHOIR_API choir_status choir_comm_create_group_local(int n_local, choir_comm *const *comms, const char *name,
                                                     const int *ranks, int n_ranks, const choir_comm_config *config,
                                                     choir_comm **comms_out);

/* choir_comm_create_group_start: choir_comm_create_group without blocking, as choir_comm_split_start; a rank that is no
 * member learns so from the event. */
CHOIR_API choir_status choir_comm_create_group_start(choir_comm *parent, const char *name, const int *ranks,
                                                     int n_ranks, const choir_comm_config *config, choir_comm **out_p,
                                                     choir_event **event_p);

/* choir_comm_find: the group of that name which this rank of the parent has made; the comm stays its maker's, until it
 * is destroyed.  ARGUMENT that names the rank and the group if the rank called for it but is no member, or has not
 * made it yet; else the nearest name of this rank's groups.  Never blocks; any thread. */
CHOIR_API choir_status choir_comm_find(choir_comm *parent, const char *name, choir_comm **out_p);

#ifdef __cplusplus
}
#endif

#endif
