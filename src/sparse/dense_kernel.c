/* SPDX-License-Identifier: MIT */
#include "sparse/dense.h"
#include "dev/launch.h"

#include <stdio.h>

#define OPTIONS_BYTES 96
#define NEIGHBOURS    4 /* bitmap.cl: words of an item in a step */

static const char *index_type(struct index_form form)
{
	return form.bytes == 4 ? "int" : "long";
}

/* So many elements, each item its span of them. */
static choir_status run(choir_device *device, const char *source, const char *options, const char *kernel,
                        const struct launch_arg *args, size_t n_args, uint64_t elements, cl_event *event_p)
{
	struct launch_shape shape = launch_shape_of(device, elements);
	struct launch launch = { .source = source,
		                 .options = options,
		                 .kernel = kernel,
		                 .args = args,
		                 .n_args = n_args,
		                 .global = launch_elements(shape, elements),
		                 .local = shape.group };

	return launch_run(device, &launch, event_p);
}

static void rows_options(char *out, const choir_device *device, struct index_form form, uint64_t elem_bytes,
                         uint64_t elements)
{
	static const char *const types[] = { "uchar", "ushort", "uint", "ulong", "ulong2" };
	struct launch_shape shape = launch_shape_of(device, elements);

	snprintf(out, OPTIONS_BYTES, "-DINDEX=%s -DVALUE=%s -DGROUP=%zu -DSPAN=%zu", index_type(form),
	         types[__builtin_ctzll(elem_bytes)], shape.group, shape.span);
}

/* Rows out of one place into another; which of the two the list numbers is the kernel's. */
static choir_status move_rows(choir_device *device, const char *kernel, const struct dense_list *list, int64_t lo,
                              const struct dense_rows *from, const struct dense_rows *to, uint64_t rows_width,
                              cl_event *event_p)
{
	cl_ulong ind_at = list->off / list->form.bytes, from_at = from->off / from->elem_bytes,
		 to_at = to->off / to->elem_bytes;
	cl_ulong n = list->n, width = rows_width;
	cl_long shift = list->form.base - lo;
	char options[OPTIONS_BYTES];
	struct launch_arg args[] = { LAUNCH_ARG(list->ind), LAUNCH_ARG(ind_at),  LAUNCH_ARG(from->mem),
		                     LAUNCH_ARG(from_at),   LAUNCH_ARG(n),       LAUNCH_ARG(width),
		                     LAUNCH_ARG(shift),     LAUNCH_ARG(to->mem), LAUNCH_ARG(to_at) };

	rows_options(options, device, list->form, from->elem_bytes, n * width);
	return run(device, "scatter.cl", options, kernel, args, sizeof args / sizeof *args, n * width, event_p);
}

choir_status dense_kernel_scatter(choir_device *device, const struct dense_list *list, const struct dense_rows *rows,
                                  int64_t lo, const struct dense_rows *dense, cl_event *event_p)
{
	return move_rows(device, "scatter", list, lo, rows, dense, rows->width, event_p);
}

choir_status dense_kernel_gather(choir_device *device, const struct dense_list *list, const struct dense_rows *dense,
                                 int64_t lo, const struct dense_rows *rows, cl_event *event_p)
{
	return move_rows(device, "gather", list, lo, dense, rows, rows->width, event_p);
}

choir_status dense_kernel_zero(choir_device *device, const struct dense_list *list, int64_t lo,
                               const struct dense_rows *dense, cl_event *event_p)
{
	cl_ulong ind_at = list->off / list->form.bytes, dense_at = dense->off / dense->elem_bytes, n = list->n,
		 width = dense->width;
	cl_long shift = list->form.base - lo;
	char options[OPTIONS_BYTES];
	struct launch_arg args[] = { LAUNCH_ARG(list->ind), LAUNCH_ARG(ind_at), LAUNCH_ARG(n),
		                     LAUNCH_ARG(width),     LAUNCH_ARG(shift),  LAUNCH_ARG(dense->mem),
		                     LAUNCH_ARG(dense_at) };

	rows_options(options, device, list->form, dense->elem_bytes, n * width);
	return run(device, "scatter.cl", options, "scatter_zero", args, sizeof args / sizeof *args, n * width, event_p);
}

static void bitmap_options(char *out, const choir_device *device, struct index_form form, uint64_t elements)
{
	struct launch_shape shape = launch_shape_of(device, elements);

	snprintf(out, OPTIONS_BYTES, "-DINDEX=%s -DGROUP=%zu -DSPAN=%zu", index_type(form), shape.group, shape.span);
}

choir_status dense_kernel_clear(choir_device *device, const struct dense_bitmap *bitmap, cl_event *event_p)
{
	cl_ulong words = bitmap->words;
	char options[OPTIONS_BYTES];
	struct launch_arg args[] = { LAUNCH_ARG(bitmap->mem), LAUNCH_ARG(words) };

	bitmap_options(options, device, (struct index_form){ .bytes = 4 }, words);
	return run(device, "bitmap.cl", options, "bitmap_clear", args, sizeof args / sizeof *args, words, event_p);
}

choir_status dense_kernel_mark(choir_device *device, const struct dense_list *list, const struct dense_bitmap *bitmap,
                               cl_event *event_p)
{
	cl_ulong at = list->off / list->form.bytes, n = list->n;
	cl_long shift = list->form.base - bitmap->lo;
	char options[OPTIONS_BYTES];
	struct launch_arg args[] = { LAUNCH_ARG(list->ind), LAUNCH_ARG(at), LAUNCH_ARG(n), LAUNCH_ARG(shift),
		                     LAUNCH_ARG(bitmap->mem) };

	bitmap_options(options, device, list->form, n);
	return run(device, "bitmap.cl", options, "bitmap_mark", args, sizeof args / sizeof *args, n, event_p);
}

/* Work-groups of `group` items, each with a span of the words, of which a GPU's items take several a step. */
static size_t spans_of(const choir_device *device, size_t group, uint64_t words, uint64_t *span_p)
{
	return launch_spans(device, group == 1 ? 1 : NEIGHBOURS * group, words, span_p);
}

uint64_t dense_kernel_spans(choir_device *device, uint64_t words)
{
	uint64_t span;

	return spans_of(device, launch_shape_of(device, 0).group, words, &span);
}

choir_status dense_kernel_number(choir_device *device, const struct dense_bitmap *bitmap, cl_mem scratch, cl_mem before,
                                 cl_mem total, cl_event *event_p)
{
	size_t group = launch_shape_of(device, 0).group;
	uint64_t length;
	size_t groups = spans_of(device, group, bitmap->words, &length), items = groups * group;
	cl_ulong words = bitmap->words, span = length;
	struct launch_arg count_args[] = { LAUNCH_ARG(bitmap->mem), LAUNCH_ARG(words), LAUNCH_ARG(span),
		                           LAUNCH_ARG(scratch) };
	struct launch_arg before_args[] = { LAUNCH_ARG(bitmap->mem), LAUNCH_ARG(words), LAUNCH_ARG(span),
		                            LAUNCH_ARG(scratch), LAUNCH_ARG(before) };
	char options[OPTIONS_BYTES];
	struct launch count = {
		"bitmap.cl", options, "bitmap_count", count_args, sizeof count_args / sizeof *count_args, items, group
	};
	struct launch number = {
		"bitmap.cl", options, "bitmap_before", before_args, sizeof before_args / sizeof *before_args,
		items,       group
	};

	bitmap_options(options, device, (struct index_form){ .bytes = 4 }, 0);
	TRY(launch_run(device, &count, NULL));
	TRY(launch_scan(device, scratch, (cl_uint)groups, total));
	return launch_run(device, &number, event_p);
}

choir_status dense_kernel_indices(choir_device *device, const struct dense_bitmap *bitmap, cl_mem before, cl_mem ind,
                                  struct index_form form, cl_event *event_p)
{
	cl_ulong words = bitmap->words;
	cl_long shift = bitmap->lo - form.base;
	char options[OPTIONS_BYTES];
	struct launch_arg args[] = { LAUNCH_ARG(bitmap->mem), LAUNCH_ARG(before), LAUNCH_ARG(words), LAUNCH_ARG(shift),
		                     LAUNCH_ARG(ind) };

	bitmap_options(options, device, form, words);
	return run(device, "bitmap.cl", options, "bitmap_index", args, sizeof args / sizeof *args, words, event_p);
}

choir_status dense_kernel_contains(choir_device *device, const struct dense_list *list,
                                   const struct dense_bitmap *bitmap, cl_mem found, cl_event *event_p)
{
	cl_ulong at = list->off / list->form.bytes, n = list->n, words = bitmap->words;
	cl_long shift = list->form.base - bitmap->lo;
	char options[OPTIONS_BYTES];
	struct launch_arg args[] = { LAUNCH_ARG(list->ind),   LAUNCH_ARG(at),    LAUNCH_ARG(n),    LAUNCH_ARG(shift),
		                     LAUNCH_ARG(bitmap->mem), LAUNCH_ARG(words), LAUNCH_ARG(found) };

	bitmap_options(options, device, list->form, n);
	return run(device, "bitmap.cl", options, "bitmap_contains", args, sizeof args / sizeof *args, n, event_p);
}
