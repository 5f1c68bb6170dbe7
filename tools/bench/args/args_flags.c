/* SPDX-License-Identifier: MIT */
#include "args_read.h"

#define AT(member) offsetof(struct args, member)
#define TEXT(letter, name, field, about, what)                                                                         \
	{                                                                                                              \
		name, letter, FLAG_TEXT, AT(texts.field), what, about, 0, NULL, NULL                                   \
	}
#define INT(letter, name, field, least, about)                                                                         \
	{                                                                                                              \
		name, letter, FLAG_INT, AT(field), "N", about, least, NULL, NULL                                       \
	}
#define REAL(name, field, about, what)                                                                                 \
	{                                                                                                              \
		name, 0, FLAG_REAL, AT(field), what, about, 0, NULL, NULL                                              \
	}
#define GIVEN(name, field, about)                                                                                      \
	{                                                                                                              \
		name, 0, FLAG_GIVEN, AT(field), NULL, about, 0, NULL, NULL                                             \
	}
#define TITLE(text)                                                                                                    \
	{                                                                                                              \
		NULL, 0, FLAG_GIVEN, 0, NULL, NULL, 0, NULL, text                                                      \
	}

static const struct flag table[] = {
	TEXT('b', "begin", begin, "smallest size (default 8)", "BYTES"),
	TEXT('e', "end", end, "largest size (default 64M)", "BYTES"),
	TEXT('f', "factor", factor, "multiply the size by this (default 8)", "X"),
	TEXT('i', "step", step, "add this to the size instead", "BYTES"),
	INT('n', "iterations", iterations, 1, "timed iterations a size (default 20)"),
	INT('w', "warmup", warmup, 0, "untimed ones before (default 5)"),
	INT('c', "check", check_every, 0, "check the data after every N iterations; 0 = never (default 10)"),
	TEXT('t', "type", type, "f32 (default), several joined by commas, or all", "DTYPE"),
	TEXT('o', "op", op, "sum (default), several joined by commas, or all", "OP"),
	INT('r', "root", root, 0, "root of broadcast and reduce (default 0)"),
	TEXT('m', "memory", memory, "device (default), host, symmetric or symmetric-device", "KIND"),
	GIVEN("inplace", in_place, "send and receive in the same buffer"),
	GIVEN("fresh", fresh, "inputs are written and outputs read between the calls, untimed"),
	TEXT(0, "algorithm", algorithm, "force this algorithm; several joined by commas, or all: each in turn", "NAME"),
	TEXT(0, "offset", offset, "elements before the data in every buffer (default 0)", "N"),
	INT(0, "in-flight", in_flight, 1, "calls in flight at once, in buffers of their own (default 1)"),
	REAL("timeout", timeout_s, "give up when a step takes longer (default 120)", "SECONDS"),
	TEXT(0, "vs", vs, "run beside: mpi, staged, bound, dense, keyed, builtin, joined by commas", "WAYS"),
	INT(0, "local", local, 0, "N ranks as threads of this process, without MPI"),
	TEXT(0, "devices", devices,
	     "P:D,P:D,... as choir-info numbers them, dealt out in turn; P:D.S: sub-device S of one", "LIST"),
	GIVEN("csv", csv, "print comma-separated values"),
	TEXT(0, "json", json, "write the results there; - = standard output, without the table", "FILE"),
	TEXT(0, "plot", plot, "draw time over size, as SVG or PNG (needs python3 and gnuplot)", "FILE"),
	REAL("min-busbw", min_busbw, "exit with 4 if the best busbw of the run is below", "GBps"),
	TEXT(0, "trainer", trainer, "replay a training step: lines of name count dtype delay_us", "FILE"),
	TEXT(0, "tensors", tensors, "allreduce of many tensors: 4,64K,... or random:N:LOW:HIGH", "SIZES"),
	TEXT(0, "tensors-of", tensors_of, "reduce_scatter, allgather, broadcast or reduce of them instead", "NAME"),
	REAL("compute", compute_ms,
	     "overlap: length of the kernel (as long as the collective); trainer: of all kernels", "MS"),
	{ "tune", 0, FLAG_TEXT, AT(texts.tune), "FILE", "measure every algorithm and write rules (standard output)", 0,
	  "", NULL },
	{ "compare", 0, FLAG_TEXT, AT(texts.compare), "OLD.json",
	  "OLD.json NEW.json: compare two runs instead of running; topk: --algorithm all", 0, "", NULL },
	TEXT(0, "fail-over", fail_over, "with --compare: exit with 4 if a p50 grew by more (default 5%)", "SHARE"),
	TITLE("Sparse rows:"),
	TEXT(0, "rows", rows, "rows a rank sends (default 4096); several joined by commas", "N"),
	TEXT(0, "width", width, "elements a row (default 64)", "N"),
	TEXT(0, "range", range, "indices are below this (default 43056)", "N"),
	TEXT(0, "density", density, "rows = this share of the range; several joined by commas", "SHARE"),
	{ "zipf", 0, FLAG_TEXT, AT(texts.zipf), "S", "Zipf indices (default, exponent 1)", 0, "1", NULL },
	GIVEN("uniform", texts.uniform, "uniform indices"),
	GIVEN("clustered", texts.clustered, "indices in runs of 64"),
	TEXT(0, "text", text, "the words of a file, or of WordNet's folder, as they come", "PATH"),
	GIVEN("permuted", texts.permuted, "frequent indices stand anywhere"),
	TEXT(0, "overlap", overlap, "this share of the indices is the same on all ranks", "SHARE"),
	GIVEN("hot", texts.hot, "rank 0 sends ten times the rows of the others; no more in all"),
	GIVEN("empty", texts.empty, "the last rank sends none; no fewer in all"),
	TEXT(0, "index", index, "i32 (default) or i64", "DTYPE"),
	TITLE("Top-k gradients (topk):"),
	TEXT(0, "n", range, "elements of the tensor (default 43056), as --range; --density 0.01 by default", "N"),
	TEXT(0, "values", values, "normal (default), heavy, or a file of raw elements", "KIND"),
	TEXT(0, "result", result, "dense (default), pairs (of --index), or both", "FORM"),
	TITLE("Kernels:"),
	TEXT(0, "pairs", rows, "as --rows", "N"),
	TEXT(0, "lists", lists, "lists that merge, sources that reduce (default 2)", "N"),
	GIVEN("heavy-tailed", texts.heavy_tailed, "select among values with heavy tails, not normal ones"),
	TITLE(""),
};

const struct flags args_flags = { .program = "choir-bench",
	                          .words = "COLLECTIVE...\nkernel NAME...",
	                          .flag = table,
	                          .n = sizeof table / sizeof *table };
