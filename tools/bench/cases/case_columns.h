/* SPDX-License-Identifier: MIT */
/* The functions that rows of cases.c are made of. */
#ifndef BENCH_CASE_COLUMNS_H
#define BENCH_CASE_COLUMNS_H

#include "cases.h"

/* case_shape.c.  `bytes` is the whole; a block is a rank's even share of it. */
void shape_none(struct job *job, size_t bytes);
void shape_whole(struct job *job, size_t bytes);      /* whole in, whole out */
void shape_gather(struct job *job, size_t bytes);     /* block in, whole out */
void shape_gatherv(struct job *job, size_t bytes);
void shape_scatter(struct job *job, size_t bytes);    /* whole in, block out */
void shape_scatterv(struct job *job, size_t bytes);
void shape_alltoall(struct job *job, size_t bytes);   /* bytes of one rank in, as many out */
void shape_alltoallv(struct job *job, size_t bytes);

bool span_reduced(const struct job *job, int k, struct span *out);
bool span_reduced_at_root(const struct job *job, int k, struct span *out);
bool span_reduced_block(const struct job *job, int k, struct span *out);
bool span_of_root(const struct job *job, int k, struct span *out);
bool span_of_previous(const struct job *job, int k, struct span *out);
bool span_gathered(const struct job *job, int k, struct span *out);
bool span_gatheredv(const struct job *job, int k, struct span *out);
bool span_exchanged(const struct job *job, int k, struct span *out);
bool span_exchangedv(const struct job *job, int k, struct span *out);

int next_rank(const struct job *job);
int previous_rank(const struct job *job);

/* case_mpi.c */
#define CASE_MPI(name) int mpi_##name(const struct job *job, const struct mpi_kit *kit, void *send, void *recv)

CASE_MPI(allreduce);
CASE_MPI(reduce_scatter);
CASE_MPI(reduce_scatterv);
CASE_MPI(allgather);
CASE_MPI(allgatherv);
CASE_MPI(alltoall);
CASE_MPI(alltoallv);
CASE_MPI(broadcast);
CASE_MPI(reduce);
CASE_MPI(barrier);
CASE_MPI(sendrecv);

#endif
