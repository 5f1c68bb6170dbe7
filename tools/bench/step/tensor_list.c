/* SPDX-License-Identifier: MIT */
#include "tensor_list.h"

#include "lib/number.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_TENSORS = 10000 };

/* 1 = a tensor, 0 = nothing on this line, -1 = nonsense. */
static int read_line(char *line, struct list_tensor *tensor)
{
	char dtype[16], rest;
	long long count;

	line[strcspn(line, "#\n")] = '\0';
	if (line[strspn(line, " \t\r")] == '\0')
		return 0;
	if (sscanf(line, "%95s %lld %15s %lf %c", tensor->name, &count, dtype, &tensor->delay_us, &rest) != 4)
		return -1;
	if (count <= 0 || !(tensor->delay_us >= 0) || choir_dtype_parse(dtype, &tensor->dtype) != CHOIR_SUCCESS)
		return -1;
	tensor->count = (size_t)count;
	return 1;
}

static bool add(struct tensor_list *list, const struct list_tensor *tensor)
{
	struct list_tensor *grown = realloc(list->tensors, ((size_t)list->n + 1) * sizeof *grown);

	if (grown == NULL)
		return false;
	list->tensors = grown;
	list->tensors[list->n++] = *tensor;
	return true;
}

static bool read_lines(FILE *file, const char *path, struct tensor_list *list, char *error)
{
	struct list_tensor tensor;
	char line[512];

	for (int number = 1; fgets(line, sizeof line, file) != NULL; number++) {
		int found = read_line(line, &tensor);

		if (found < 0) {
			snprintf(error, TENSOR_ERROR_BYTES, "%s, line %d: not 'name count dtype delay_us'", path,
			         number);
			return false;
		}
		if (found > 0 && !add(list, &tensor)) {
			snprintf(error, TENSOR_ERROR_BYTES, "%s: no memory for %d tensors", path, list->n + 1);
			return false;
		}
	}
	if (list->n > 0)
		return true;
	snprintf(error, TENSOR_ERROR_BYTES, "%s: no tensor in it", path);
	return false;
}

bool tensor_list_read(const char *path, struct tensor_list *out, char error[TENSOR_ERROR_BYTES])
{
	struct tensor_list list = { .n = 0 };
	FILE *file = fopen(path, "r");
	bool read;

	if (file == NULL) {
		snprintf(error, TENSOR_ERROR_BYTES, "%s: %s", path, strerror(errno));
		return false;
	}
	read = read_lines(file, path, &list, error);
	fclose(file);
	if (read)
		*out = list;
	else
		tensor_list_fini(&list);
	return read;
}

static bool add_size(struct tensor_list *list, size_t bytes, const choir_dtype *dtypes, int n_dtypes)
{
	struct list_tensor tensor = { .dtype = dtypes[list->n % n_dtypes] };
	size_t count = bytes / choir_dtype_bytes(tensor.dtype);

	tensor.count = count > 0 ? count : 1;
	snprintf(tensor.name, sizeof tensor.name, "tensor%d", list->n);
	return add(list, &tensor);
}

static bool add_random(struct tensor_list *list, const char *text, const choir_dtype *dtypes, int n_dtypes)
{
	char low_text[32], high_text[32], rest;
	unsigned random = 1;
	size_t low, high;
	int n;

	if (sscanf(text, "random:%d:%31[^:]:%31[^:]%c", &n, low_text, high_text, &rest) != 3 || n < 1 ||
	    n > MAX_TENSORS || !number_bytes(low_text, &low) || !number_bytes(high_text, &high) || low < 1 ||
	    low > high)
		return false;
	for (int i = 0; i < n; i++) {
		random = random * 1664525u + 1013904223u;
		if (!add_size(list, (size_t)((double)low * pow((double)high / (double)low, (random >> 8) / 16777215.0)),
		              dtypes, n_dtypes))
			return false;
	}
	return true;
}

static bool add_sizes(struct tensor_list *list, const char *text, const choir_dtype *dtypes, int n_dtypes)
{
	size_t length, bytes;
	char item[32];

	for (; *text != '\0'; text += length + (text[length] == ',')) {
		length = strcspn(text, ",");
		snprintf(item, sizeof item, "%.*s", (int)length, text);
		if (length >= sizeof item || list->n == MAX_TENSORS || !number_bytes(item, &bytes) || bytes < 1 ||
		    !add_size(list, bytes, dtypes, n_dtypes))
			return false;
	}
	return list->n > 0;
}

bool tensor_list_parse(const char *text, const choir_dtype *dtypes, int n_dtypes, struct tensor_list *out,
                       char error[TENSOR_ERROR_BYTES])
{
	struct tensor_list list = { .n = 0 };
	bool random = strncmp(text, "random:", 7) == 0;

	if (random ? add_random(&list, text, dtypes, n_dtypes) : add_sizes(&list, text, dtypes, n_dtypes)) {
		*out = list;
		return true;
	}
	snprintf(error, TENSOR_ERROR_BYTES,
	         "'%.100s' is neither sizes such as 4,64K nor random:N:LOW:HIGH (up to %d tensors)", text, MAX_TENSORS);
	tensor_list_fini(&list);
	return false;
}

void tensor_list_fini(struct tensor_list *list)
{
	free(list->tensors);
	*list = (struct tensor_list){ .n = 0 };
}
