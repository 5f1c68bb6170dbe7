/* SPDX-License-Identifier: MIT */
#include "args_raw.h"

#include <stdlib.h>
#include <string.h>

#define TEXT(letter, name, field, about, what) { name, letter, POPT_ARG_STRING, &raw->field, 0, about, what }
#define INT(letter, name, field, about) { name, letter, POPT_ARG_INT, &raw->field, 0, about, "N" }
#define REAL(name, field, about, what) { name, '\0', POPT_ARG_DOUBLE, &raw->field, 0, about, what }
#define FLAG(letter, name, field, about) { name, letter, POPT_ARG_NONE, &raw->field, 0, about, NULL }

poptContext args_raw_open(struct args_raw *raw, int argc, const char **argv)
{
	const struct poptOption rows[] = {
		TEXT('b', "begin", begin, "smallest size (default 8)", "BYTES"),
		TEXT('e', "end", end, "largest size (default 64M)", "BYTES"),
		TEXT('f', "factor", factor, "multiply the size by this (default 8)", "X"),
		TEXT('i', "step", step, "add this to the size instead", "BYTES"),
		INT('n', "iterations", iterations, "timed iterations a size (default 20)"),
		INT('w', "warmup", warmup, "untimed ones before (default 5)"),
		INT('c', "check", check_every, "check the data after every N iterations; 0 = never (default 10)"),
		TEXT('t', "type", type, "f32 (default), several joined by commas, or all", "DTYPE"),
		TEXT('o', "op", op, "sum (default), several joined by commas, or all", "OP"),
		INT('r', "root", root, "root of broadcast and reduce (default 0)"),
		TEXT('m', "memory", memory, "device (default), host, symmetric or symmetric-device", "KIND"),
		FLAG('\0', "inplace", in_place, "send and receive in the same buffer"),
		FLAG('\0', "fresh", fresh, "inputs are written and outputs read between the calls, untimed"),
		TEXT('\0', "algorithm", algorithm, "force this algorithm; several joined by commas, or all: each in turn", "NAME"),
		TEXT('\0', "offset", offset, "elements before the data in every buffer (default 0)", "N"),
		INT('\0', "in-flight", in_flight, "calls in flight at once, in buffers of their own (default 1)"),
		REAL("timeout", timeout_s, "give up when a step takes longer (default 120)", "SECONDS"),
		TEXT('\0', "vs", vs, "run beside: mpi, staged, bound, joined by commas", "WAYS"),
		INT('\0', "local", local, "N ranks as threads of this process, without MPI"),
		TEXT('\0', "devices", devices, "P:D,P:D,... as choir-info numbers them, dealt out in turn", "LIST"),
		FLAG('\0', "csv", csv, "print comma-separated values"),
		TEXT('\0', "json", json, "write the results there; - = standard output, without the table", "FILE"),
		TEXT('\0', "plot", plot, "draw time over size (needs gnuplot)", "FILE.svg"),
		REAL("min-busbw", min_busbw, "exit with 4 if the best busbw of the run is below", "GBps"),
		TEXT('\0', "trainer", trainer, "replay a training step: lines of name count dtype delay_us", "FILE"),
		TEXT('\0', "tensors", tensors, "allreduce of many tensors: 4,64K,... or random:N:LOW:HIGH", "SIZES"),
		REAL("compute", compute_ms, "overlap: length of the kernel (as long as the collective); trainer: of all kernels", "MS"),
		{ "tune", '\0', POPT_ARG_STRING | POPT_ARGFLAG_OPTIONAL, &raw->tune, OPTION_TUNE,
		  "measure every algorithm and write rules (standard output)", "FILE" },
		TEXT('\0', "compare", compare, "OLD.json NEW.json: compare two runs instead of running", "OLD.json"),
		TEXT('\0', "fail-over", fail_over, "with --compare: exit with 4 if a p50 grew by more (default 5%)", "SHARE"),
		TEXT('\0', "rows", rows, "sparse: rows a rank sends (default 4096); several joined by commas", "N"),
		TEXT('\0', "pairs", rows, "kernel: the same", "N"),
		TEXT('\0', "width", width, "sparse: elements a row (default 64)", "N"),
		TEXT('\0', "range", range, "sparse: indices are below this (default 43056)", "N"),
		TEXT('\0', "density", density, "sparse: rows = this share of the range; several joined by commas", "SHARE"),
		{ "zipf", '\0', POPT_ARG_STRING | POPT_ARGFLAG_OPTIONAL, &raw->zipf, OPTION_ZIPF, "sparse: Zipf indices (default, exponent 1)", "S" },
		FLAG('\0', "uniform", uniform, "sparse: uniform indices"),
		FLAG('\0', "clustered", clustered, "sparse: indices in runs of 64"),
		TEXT('\0', "text", text, "sparse: the words of a file, or of WordNet's folder, as they come", "PATH"),
		FLAG('\0', "permuted", permuted, "sparse: frequent indices stand anywhere"),
		TEXT('\0', "overlap", overlap, "sparse: this share of the indices is the same on all ranks", "SHARE"),
		FLAG('\0', "hot", hot, "sparse: rank 0 sends ten times the rows of the others; no more in all"),
		FLAG('\0', "empty", empty, "sparse: the last rank sends none; no fewer in all"),
		TEXT('\0', "lists", lists, "kernel: lists that merge, sources that reduce (default 2)", "N"),
		FLAG('\0', "heavy-tailed", heavy_tailed, "kernel: select among values with heavy tails, not normal ones"),
		TEXT('\0', "index", index, "sparse: i32 (default) or i64", "DTYPE"),
		FLAG('h', "help", help, "this text"),
		FLAG('\0', "version", version, "the library's version"),
		POPT_TABLEEND,
	};

	memcpy(raw->table, rows, sizeof rows);
	return poptGetContext("choir-bench", argc, argv, raw->table, 0);
}

void args_raw_free(struct args_raw *raw)
{
	char *texts[] = { raw->begin, raw->end, raw->factor, raw->step, raw->type, raw->op, raw->memory, raw->algorithm, raw->offset, raw->json,
			  raw->plot, raw->tune, raw->trainer, raw->tensors, raw->compare, raw->fail_over, raw->devices, raw->vs,
			  raw->rows, raw->width, raw->range, raw->density, raw->zipf, raw->index, raw->overlap,
			  raw->text, raw->lists };

	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		free(texts[i]);
	poptFreeContext(raw->context);
	free(raw);
}

void args_help(FILE *to)
{
	const char *argv[] = { "choir-bench", NULL };
	struct args_raw raw = { 0 };
	poptContext context = args_raw_open(&raw, 1, argv);

	poptSetOtherOptionHelp(context, "[flags] COLLECTIVE... | [flags] kernel NAME...");
	poptPrintHelp(context, to, 0);
	poptFreeContext(context);
}
