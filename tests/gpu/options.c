/* SPDX-License-Identifier: MIT */
/* GPU_MODEL, reports and the end of the process. */
#include "model.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct options options = {
	.latency_us = 20,
	.gbps = 8,
	.up_us = -1,
	.down_us = -1,
	.compute_us = -1,
	.pinned = 1,
	.pageable = 0.5,
	.device_gbps = 100,
	.items_per_us = 1e5,
	.devices = 1,
	.polls = 20000,
	.unflushed_ms = 1000,
	.groups = 65535,
	.group_items = 1e9,
	.kernel_items = 1e9,
	.moves = 1,
	.hash = 1,
};
struct stats stats;

static const struct {
	const char *name;
	double *value;
} numbers[] = {
	{ "latency_us", &options.latency_us },
	{ "gbps", &options.gbps },
	{ "up_us", &options.up_us },
	{ "down_us", &options.down_us },
	{ "compute_us", &options.compute_us },
	{ "up_gbps", &options.up_gbps },
	{ "down_gbps", &options.down_gbps },
	{ "pinned", &options.pinned },
	{ "pageable", &options.pageable },
	{ "device_gbps", &options.device_gbps },
	{ "peer_gbps", &options.peer_gbps },
	{ "items_per_us", &options.items_per_us },
	{ "jitter_us", &options.jitter_us },
	{ "late_us", &options.late_us },
	{ "seed", &options.seed },
	{ "devices", &options.devices },
	{ "polls", &options.polls },
	{ "unflushed_ms", &options.unflushed_ms },
	{ "groups", &options.groups },
	{ "stats", &options.stats },
	{ "moves", &options.moves },
	{ "hash", &options.hash },
	{ "trace", &options.trace },
	{ "group_items", &options.group_items },
	{ "kernel_items", &options.kernel_items },
};

static uint64_t state;
static atomic_uint n_reports;

int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* splitmix64 */
uint64_t draw(void)
{
	uint64_t z = state += 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

bool draw_one_in(unsigned n)
{
	return draw() % n == 0;
}

static void read_one(const char *word)
{
	const char *equals = strchr(word, '=');
	size_t length = equals != NULL ? (size_t)(equals - word) : 0;

	if (length == strlen("report") && memcmp(word, "report", length) == 0) {
		snprintf(options.report, sizeof options.report, "%s", equals + 1);
		return;
	}
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
		if (length == strlen(numbers[i].name) && memcmp(word, numbers[i].name, length) == 0) {
			*numbers[i].value = atof(equals + 1);
			return;
		}
	report("option", "GPU_MODEL: '%s' is no option", word);
}

void options_read(void)
{
	const char *text = getenv("GPU_MODEL");
	char copy[1024], *rest = NULL;

	snprintf(copy, sizeof copy, "%s", text != NULL ? text : "");
	for (char *word = strtok_r(copy, ",", &rest); word != NULL; word = strtok_r(NULL, ",", &rest))
		read_one(word);
	options.up_us = options.up_us < 0 ? options.latency_us : options.up_us;
	options.down_us = options.down_us < 0 ? options.latency_us : options.down_us;
	options.compute_us = options.compute_us < 0 ? options.latency_us : options.compute_us;
	options.up_gbps = options.up_gbps <= 0 ? options.gbps : options.up_gbps;
	options.down_gbps = options.down_gbps <= 0 ? options.gbps : options.down_gbps;
	options.peer_gbps = options.peer_gbps <= 0 ? options.device_gbps : options.peer_gbps;
	state = (uint64_t)options.seed;
}

static void say(const char *line)
{
	FILE *file = options.report[0] != '\0' ? fopen(options.report, "a") : NULL;

	fprintf(file != NULL ? file : stderr, "%s", line);
	if (file != NULL)
		fclose(file);
}

void report(const char *kind, const char *format, ...)
{
	char text[700], line[900];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	snprintf(line, sizeof line, "gpu model: report: %s: %s (process %ld, seed %.0f)\n", kind, text, (long)getpid(),
	         options.seed);
	if (atomic_fetch_add(&n_reports, 1) < 20)
		say(line);
}

void refuse(const char *call)
{
	report("refused", "%s is not modelled", call);
}

static void CL_API_CALL get_crossings(struct crossings *out)
{
	pthread_mutex_lock(&model_lock);
	*out = stats.crossings;
	pthread_mutex_unlock(&model_lock);
}

static crossings_fn crossings_pointer = get_crossings;

void *stats_function(const char *name)
{
	void *fn = NULL;

	if (strcmp(name, CROSSINGS_NAME) == 0)
		memcpy(&fn, &crossings_pointer, sizeof fn);
	return fn;
}

/* At the end of the process: what was never flushed, the counts, and the exit status. */
static void __attribute__((destructor)) end(void)
{
	char line[300];

	if (below == NULL)
		return;
	pthread_mutex_lock(&model_lock); /* for good: no engine moves bytes any more */
	for (struct queue *queue = queues; queue != NULL; queue = queue->next)
		for (struct command *c = queue->head; c != NULL; c = c->next)
			if (!c->flushed && !c->event->reported_unflushed)
				report("unflushed", "a %s was never flushed until the process ended", c->what);
	if (options.trace != 0)
		trace_print();
	if (options.stats != 0) {
		snprintf(line, sizeof line,
		         "gpu model: %llu commands, %llu bytes up in %.1f ms, %llu down in %.1f, "
		         "%llu on the device, %llu of them between devices; pageable: %llu up, %llu down; at most %.0f "
		         "polls\n",
		         (unsigned long long)stats.commands, (unsigned long long)stats.up_bytes,
		         (double)stats.up_ns / 1e6, (unsigned long long)stats.down_bytes, (double)stats.down_ns / 1e6,
		         (unsigned long long)stats.device_bytes, (unsigned long long)stats.crossings.peer,
		         (unsigned long long)stats.crossings.pageable_up,
		         (unsigned long long)stats.crossings.pageable_down, stats.most_polls);
		say(line);
	}
	if (atomic_load(&n_reports) == 0)
		return;
	fflush(NULL);
	_exit(70);
}
