/* SPDX-License-Identifier: MIT */
#include "report.h"

#include <inttypes.h>
#include <stdio.h>

void report_csv_columns(const struct args *args)
{
	printf("collective,bytes,count,dtype,op,memory,inplace,algorithm,p50_us,p95_us,p99_us,min_us,max_us,mean_us,"
	       "first_us,"
	       "algbw_GBps,busbw_GBps,wrong,checked,wire_bytes");
	for (int i = 0; i < args->n_vs; i++)
		printf(",%s_p50_us,%s_ratio", args->vs[i], args->vs[i]);
	printf(",rows_in,rows_out,width,range,density_in,density_out,exposed_us,hidden,distribution,workload,predicted_"
	       "us,imbalance,rows_merged,"
	       "items,items_out,items_per_s,select_us,exchange_us,merge_us,update_us,words\n");
}

/* The columns of the row's kind; the others' stay empty. */
static void print_kind(const struct result *row)
{
	const struct result_sparse *sparse = &row->sparse;
	const struct result_kernel *kernel = &row->kernel;
	const struct result_topk *topk = &row->topk;

	if (row->kind == RESULT_SPARSE)
		printf(",%zu,%zu,%zu,%zu,%.6f,%.6f,,,%s,%s,%.3f,%.4f,%" PRIu64 ",,,,,,,,\n", sparse->rows_in,
		       sparse->rows_out, sparse->width, sparse->range, sparse->density_in, sparse->density_out,
		       sparse->distribution, sparse->workload, sparse->predicted_us, sparse->imbalance,
		       sparse->rows_merged);
	else if (row->kind == RESULT_OVERLAP)
		printf(",,,,,,,%.3f,%.4f,,,,,,,,,,,,,\n", row->overlap.exposed_us, row->overlap.hidden);
	else if (row->kind == RESULT_KERNEL)
		printf(",,,%zu,%zu,,,,,%s,,,,,%zu,%zu,%.0f,,,,,\n", kernel->width, kernel->range, kernel->distribution,
		       kernel->items, kernel->items_out, kernel->items_per_s);
	else if (row->kind == RESULT_TOPK)
		printf(",,,,%zu,%.6f,%.6f,,,%s,,,%.4f,,,,,%.1f,%.1f,%.1f,%.1f,%.0f\n", row->count, topk->density_in,
		       topk->density_out, topk->values, topk->imbalance, topk->select_us, topk->exchange_us,
		       topk->merge_us, topk->update_us, topk->words);
	else
		printf(",,,,,,,,,,,,,,,,,,,,,\n");
}

void report_csv_row(const struct args *args, const struct result *row)
{
	(void)args;
	printf("%s,%zu,%zu,%s,%s,%s,%d,%s,", row->collective, row->bytes, row->count, row->dtype, row->op, row->memory,
	       row->in_place, row->algorithm);
	printf("%.3f,%.3f,%.3f,%.3f,%.3f,%.3f,%.3f,", row->us.p50, row->us.p95, row->us.p99, row->us.min, row->us.max,
	       row->us.mean, row->first_us);
	printf("%.4f,%.4f,%" PRIu64 ",%" PRIu64 ",%" PRIu64, row->algbw_GBps, row->busbw_GBps, row->wrong, row->checked,
	       row->wire_bytes);
	for (int i = 0; i < row->n_vs; i++) {
		if (row->vs[i].ran)
			printf(",%.3f,%.4f", row->vs[i].p50_us, row->vs[i].ratio);
		else
			printf(",,");
	}
	print_kind(row);
	fflush(stdout);
}
