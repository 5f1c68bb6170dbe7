/* SPDX-License-Identifier: MIT */
/* The dense collectives, once: how large their buffers are on each rank, how they are called, what comes out.
 * choir-bench and all tests that call collectives go by this table.  lib/collective_data.h fills buffers and checks
 * them, lib/collective_mpi.h makes the same calls by MPI. */
#ifndef LIB_COLLECTIVE_H
#define LIB_COLLECTIVE_H

#include <choir/choir.h>
#include <stdbool.h>

enum { COLLECTIVE_MOST_RANKS = 256 };

/* How the data are spread over the ranks. */
enum collective_kind {
	SPREAD_WHOLE,    /* all elements of a buffer; at the root only, where there is one */
	SPREAD_GATHER,   /* a block of each rank, which all get; at the root only, where there is one */
	SPREAD_SCATTER,  /* a block for each rank of what all have, or the root has */
	SPREAD_EXCHANGE, /* a block from each rank to each */
	SPREAD_NOTHING
};

/* What a collective does not look at may be anything. */
struct collective_args {
	choir_comm *comm;
	choir_buffer send, recv;
	size_t count; /* of v-forms: this rank's block */
	const size_t *send_counts, *send_offs, *recv_counts, *recv_offs;
	choir_dtype dtype;
	choir_op op;
	int root;
	int next, previous; /* on the ring: where a sendrecv goes to and comes from */
};

typedef choir_status collective_fn(const struct collective_args *args, const choir_call *call, choir_event **event_p);

struct collective_row {
	const char *name, *about;
	const char *asks; /* the name that the list of algorithms knows; NULL = name */
	enum collective_kind kind;
	bool reduces, rooted, uneven;
	bool padded;            /* blocks of ceil(count / n) elements, of which the last ones have fewer */
	bool prefix, exclusive; /* the reduction of the ranks up to this one, or before it */
	bool in_place;          /* there is an in-place form */
	bool waits;     /* a pair of calls, which waits for the first one itself: not for groups, not behind deps */
	int bus_rounds; /* busbw = algbw x this x (n-1)/n; 0 = busbw is algbw */
	collective_fn *call;
};

/* Indices of the table.  The first N_MOVING_COLLECTIVES are collectives that move data; behind them stand the barrier,
 * and forms of others. */
enum collective_index {
	ALLREDUCE,
	REDUCE_SCATTER,
	REDUCE_SCATTERV,
	ALLGATHER,
	ALLGATHERV,
	ALLTOALL,
	ALLTOALLV,
	BROADCAST,
	REDUCE,
	GATHER,
	GATHERV,
	SCATTER,
	SCATTERV,
	SCAN,
	EXSCAN,
	SEND_AND_RECV,
	SENDRECV,
	N_MOVING_COLLECTIVES,
	BARRIER = N_MOVING_COLLECTIVES,
	REDUCE_SCATTER_PADDED,
	ALLGATHER_PADDED,
	N_COLLECTIVE_ROWS
};
extern const struct collective_row collectives[N_COLLECTIVE_ROWS];

/* collective_find: NULL if there is none of that name. */
const struct collective_row *collective_find(const char *name);

/* A call of all ranks.  Blocks of the v-forms differ in size.  Plain: their sizes are shares of count (gather, scatter)
 * or multiples of it (exchange), none is empty, and they stand one after another.  With gaps: some are empty, and those
 * with offsets stand apart, in an exchange backwards. */
struct collective_shape {
	const struct collective_row *what;
	int n, root;
	size_t count;
	bool gaps;
};

/* One rank's buffers, in elements. */
struct collective_layout {
	size_t count;                  /* as the call is given it */
	size_t send_count, recv_count; /* of the whole buffers; 0 = none */
	size_t send_at, recv_at;       /* in place: where the two begin in the larger one */
	size_t send_counts[COLLECTIVE_MOST_RANKS], send_offs[COLLECTIVE_MOST_RANKS];
	size_t recv_counts[COLLECTIVE_MOST_RANKS], recv_offs[COLLECTIVE_MOST_RANKS];
};
void collective_lay_out(const struct collective_shape *shape, int rank, struct collective_layout *layout);

/* collective_args_of: the arguments of that rank's call, buffers, type and operator apart; layout outlives them. */
struct collective_args collective_args_of(const struct collective_shape *shape, const struct collective_layout *layout,
                                          choir_comm *comm, int rank);

/* A run of output elements: at .. at+count-1 are what `rank` sent from its element `from` on, or the reduction of the
 * first `ranks` ranks' there. */
struct span {
	size_t at, count, from;
	int rank; /* SPAN_REDUCED = many, SPAN_ZEROS = none */
	int ranks;
};
enum { SPAN_REDUCED = -1, SPAN_ZEROS = -2 };

/* collective_span: the k-th span of that rank's output; false behind the last.  collective_has_output: is there one? */
bool collective_span(const struct collective_shape *shape, int rank, int k, struct span *out);
bool collective_has_output(const struct collective_shape *shape, int rank);

/* collective_same_output: all ranks that have an output have the same one. */
bool collective_same_output(const struct collective_row *what);

#endif
