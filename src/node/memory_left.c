/* SPDX-License-Identifier: MIT */
/* Design notes.  /proc/meminfo describes the machine only.  A control group's out-of-memory killer acts when the
 * group's usage reaches its limit and no page can be reclaimed, so the memory left is limit - usage + file pages, the
 * least over all levels from the process's group up to the root of the mount.  A container may see another part of the
 * tree than /proc/self/cgroup names; files that do not exist are skipped. */
#include "node/memory_left.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_BYTES = 4096 };

/* The files of a group's memory controller. */
static const struct version {
	const char *limit, *usage, *inactive, *active;
} versions[] = {
	{ "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file", "total_active_file" },
	{ "memory.max", "memory.current", "inactive_file", "active_file" },
};

static FILE *open_file(const char *root, const char *folder, const char *name)
{
	char path[PATH_BYTES];

	if (snprintf(path, sizeof path, "%s%s/%s", root, folder, name) >= (int)sizeof path)
		return NULL;
	return fopen(path, "re");
}

/* The number after key in a file of lines, or for an empty key in the first line; false if there is none ("max"). */
static bool read_number(const char *root, const char *folder, const char *name, const char *key, uint64_t *out)
{
	FILE *file = open_file(root, folder, name);
	char line[256];
	size_t key_len = strlen(key);
	bool found = false;

	while (file != NULL && !found && fgets(line, sizeof line, file) != NULL) {
		unsigned long long number;

		found = strncmp(line, key, key_len) == 0 && sscanf(line + key_len, "%*[: ]%llu", &number) == 1;
		if (!found && key_len == 0)
			found = sscanf(line, "%llu", &number) == 1;
		if (found)
			*out = number;
	}
	if (file != NULL)
		fclose(file);
	return found;
}

static void take_level(const struct version *v, const char *root, const char *folder, struct memory_left *left)
{
	uint64_t limit, usage, inactive = 0, active = 0, room;

	if (!read_number(root, folder, v->limit, "", &limit) || !read_number(root, folder, v->usage, "", &usage))
		return;
	read_number(root, folder, "memory.stat", v->inactive, &inactive);
	read_number(root, folder, "memory.stat", v->active, &active);
	usage -= inactive + active < usage ? inactive + active : usage;
	room = limit > usage ? limit - usage : 0;
	if (room < left->bytes)
		*left = (struct memory_left){ room, true };
}

/* True if word is in a list of words separated by commas. */
static bool lists(const char *list, const char *word)
{
	size_t len = strlen(word);

	for (const char *at = list; (at = strstr(at, word)) != NULL; at += len)
		if ((at == list || at[-1] == ',') && (at[len] == ',' || at[len] == '\0' || at[len] == '\n'))
			return true;
	return false;
}

/* The path of the process's group, from a line of /proc/self/cgroup such as "4:memory:/path" or "0::/path". */
static bool find_group(const char *root, bool v2, char *path)
{
	FILE *file = open_file(root, "/proc/self", "cgroup");
	char line[PATH_BYTES];
	bool found = false;

	while (file != NULL && !found && fgets(line, sizeof line, file) != NULL) {
		char *controllers = strchr(line, ':'),
		     *group = controllers != NULL ? strchr(controllers + 1, ':') : NULL;

		if (group == NULL)
			continue;
		*group++ = '\0';
		controllers++;
		group[strcspn(group, "\n")] = '\0';
		found = v2 ? *controllers == '\0' : lists(controllers, "memory");
		if (found)
			strcpy(path, strcmp(group, "/") == 0 ? "" : group);
	}
	if (file != NULL)
		fclose(file);
	return found;
}

/* From /proc/self/mountinfo: the mount point of the hierarchy, and which of its folders (top) is mounted there. */
static bool find_mount(const char *root, bool v2, char *top, char *mount)
{
	FILE *file = open_file(root, "/proc/self", "mountinfo");
	char *line = NULL;
	size_t room = 0;
	bool found = false;

	while (file != NULL && !found && getline(&line, &room, file) > 0) {
		char type[32], options[1024];
		const char *rest = strstr(line, " - ");

		if (rest == NULL || sscanf(rest, " - %31s %*s %1023s", type, options) != 2)
			continue;
		if (strcmp(type, v2 ? "cgroup2" : "cgroup") != 0 || (!v2 && !lists(options, "memory")))
			continue;
		found = sscanf(line, "%*s %*s %*s %4095s %4095s", top, mount) == 2;
	}
	free(line);
	if (file != NULL)
		fclose(file);
	return found;
}

static void take_groups(const char *root, bool v2, struct memory_left *left)
{
	char group[PATH_BYTES], top[PATH_BYTES], mount[PATH_BYTES], folder[2 * PATH_BYTES];
	size_t top_len, mount_len;

	if (!find_group(root, v2, group) || !find_mount(root, v2, top, mount))
		return;
	top_len = strcmp(top, "/") == 0 ? 0 : strlen(top);
	if (strncmp(group, top, top_len) != 0)
		top_len = strlen(group); /* the group is outside the mount: read the mount's own level only */
	mount_len = strlen(mount);
	snprintf(folder, sizeof folder, "%s%s", mount, group + top_len);
	for (;;) {
		take_level(&versions[v2], root, folder, left);
		char *slash = strrchr(folder, '/');
		if (slash == NULL || (size_t)(slash - folder) < mount_len)
			return;
		*slash = '\0';
	}
}

struct memory_left memory_left(const char *root)
{
	struct memory_left left = { UINT64_MAX, false };
	uint64_t kib;

	if (read_number(root, "/proc", "meminfo", "MemAvailable", &kib) && kib < UINT64_MAX >> 10)
		left.bytes = kib << 10;
	take_groups(root, false, &left);
	take_groups(root, true, &left);
	return left;
}
