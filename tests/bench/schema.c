/* SPDX-License-Identifier: MIT */
/* A run is walked with the path of where we are; [] stands for any place of an array.  Every leaf must be a row of the
 * table, and every row without ? must have been met at least once. */
#include "schema.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ROWS = 128, PATH_BYTES = 160 };

struct row {
	char path[PATH_BYTES], type[40];
	bool optional, met;
};

struct schema {
	struct row rows[MAX_ROWS];
	size_t n;
};

/* "| `a.b?` | number | ..." */
static bool parse_row(const char *line, struct row *row)
{
	size_t length;

	*row = (struct row){ .met = false };
	if (sscanf(line, "| `%159[^`]` | %39[^|]|", row->path, row->type) != 2)
		return false;
	length = strlen(row->path);
	row->optional = row->path[length - 1] == '?';
	if (row->optional)
		row->path[length - 1] = '\0';
	for (length = strlen(row->type); length > 0 && row->type[length - 1] == ' '; length--)
		row->type[length - 1] = '\0';
	return true;
}

struct schema *schema_load(const char *path)
{
	struct schema *schema = calloc(1, sizeof *schema);
	FILE *file = fopen(path, "r");
	char line[1024];
	bool inside = false;

	while (schema != NULL && file != NULL && fgets(line, sizeof line, file) != NULL) {
		if (strstr(line, "<!-- schema: ") != NULL)
			inside = strstr(line, "begin") != NULL;
		if (inside && schema->n < MAX_ROWS && parse_row(line, &schema->rows[schema->n]))
			schema->n++;
	}
	if (file != NULL)
		fclose(file);
	if (schema != NULL && schema->n == 0) {
		free(schema);
		return NULL;
	}
	return schema;
}

void schema_destroy(struct schema *schema)
{
	free(schema);
}

/* pattern's <...> parts match any name. */
static bool matches(const char *pattern, const char *path)
{
	while (*pattern != '\0') {
		if (*pattern == '<') {
			pattern = strchr(pattern, '>') + 1;
			path += strcspn(path, ".");
		} else if (*pattern++ != *path++) {
			return false;
		}
	}
	return *path == '\0';
}

static bool type_fits(const char *type, const json_t *value)
{
	if (strcmp(type, "string") == 0)
		return json_is_string(value);
	if (strcmp(type, "integer") == 0)
		return json_is_integer(value);
	if (strcmp(type, "number") == 0)
		return json_is_number(value);
	if (strcmp(type, "boolean") == 0)
		return json_is_boolean(value);
	if (strcmp(type, "object") == 0)
		return json_is_object(value);
	return strcmp(type, "object or null") == 0 && (json_is_object(value) || json_is_null(value));
}

static struct row *find(struct schema *schema, const char *path)
{
	for (size_t i = 0; i < schema->n; i++)
		if (matches(schema->rows[i].path, path))
			return &schema->rows[i];
	return NULL;
}

static int walk(struct schema *schema, const char *path, const json_t *value);

static int walk_inside(struct schema *schema, const char *path, const json_t *value)
{
	char inner[PATH_BYTES];
	const char *name;
	json_t *item;
	size_t i;
	int wrong = 0;

	json_array_foreach(value, i, item)
	{
		snprintf(inner, sizeof inner, "%s[]", path);
		wrong += walk(schema, inner, item);
	}
	if (json_is_object(value))
		json_object_foreach((json_t *)value, name, item)
		{
			snprintf(inner, sizeof inner, "%s%s%s", path, path[0] != '\0' ? "." : "", name);
			wrong += walk(schema, inner, item);
		}
	return wrong;
}

static int walk(struct schema *schema, const char *path, const json_t *value)
{
	struct row *row = find(schema, path);

	if (row == NULL && (json_is_object(value) || json_is_array(value)))
		return walk_inside(schema, path, value);
	if (row == NULL) {
		fprintf(stderr, "%s is not documented\n", path);
		return 1;
	}
	row->met = true;
	if (!type_fits(row->type, value)) {
		fprintf(stderr, "%s is no %s\n", path, row->type);
		return 1;
	}
	return strcmp(row->type, "object or null") == 0 && json_is_object(value) ? walk_inside(schema, path, value) : 0;
}

/* mpi.library need not be there when mpi is null. */
static bool is_excused(const struct row *row, const json_t *run)
{
	char parent[PATH_BYTES];

	snprintf(parent, sizeof parent, "%s", row->path);
	parent[strcspn(parent, ".")] = '\0';
	return row->optional || json_is_null(json_object_get(run, parent));
}

int schema_check(struct schema *schema, const json_t *run)
{
	int wrong;

	for (size_t i = 0; i < schema->n; i++)
		schema->rows[i].met = false;
	wrong = walk(schema, "", run);
	for (size_t i = 0; i < schema->n; i++) {
		if (schema->rows[i].met || is_excused(&schema->rows[i], run))
			continue;
		fprintf(stderr, "%s is missing\n", schema->rows[i].path);
		wrong++;
	}
	return wrong;
}
