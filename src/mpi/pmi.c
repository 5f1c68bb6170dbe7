/* SPDX-License-Identifier: MIT */
/* Note [PMI-1].  The processes of an MPI job find each other by lines of text that each exchanges with its launcher:
 * "cmd=put kvsname=K key=A value=B" publishes, "cmd=barrier_in" waits for all, "cmd=get ..." reads what any process put
 * before a barrier.  None of these commands needs a launcher: a barrier is one allgather of the lines that the
 * processes put.  Each process is said to be a machine of its own (PMI_process_mapping), so MPICH makes no shared
 * memory: choir has its own. */
#include "mpi/pmi.h"

#include "mpi/call.h"

#include <choir/transport.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { LINE_BYTES = 8192, KEY_MOST = 64, VALUE_MOST = 1024 };

static choir_status no_memory(void)
{
	return choir_transport_error(CHOIR_NO_MEMORY, "no memory for what MPI's processes tell each other");
}

static choir_status name_in_environment(const char *name, int value)
{
	char text[16];

	snprintf(text, sizeof text, "%d", value);
	return setenv(name, text, 1) == 0 ? CHOIR_SUCCESS : no_memory();
}

static choir_status name_all(const choir_bootstrap *bootstrap, int fd)
{
	TRY(name_in_environment("PMI_FD", fd));
	TRY(name_in_environment("PMI_RANK", bootstrap->rank));
	return name_in_environment("PMI_SIZE", bootstrap->size);
}

choir_status pmi_open(const choir_bootstrap *bootstrap, struct pmi *out)
{
	struct pmi pmi = { .bootstrap = bootstrap };
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
		return choir_transport_error(CHOIR_NO_MEMORY, "socketpair: %s", strerror(errno));
	pmi.fd = ends[0];
	pmi.theirs = ends[1];
	pmi.values = calloc(1, 1);
	pmi.put = calloc(1, 1);
	pmi.line = malloc(LINE_BYTES);
	if (pmi.values == NULL || pmi.put == NULL || pmi.line == NULL) {
		pmi_close(&pmi);
		return no_memory();
	}
	*out = pmi;
	return CHOIR_SUCCESS;
}

choir_status pmi_name(const struct pmi *pmi)
{
	return name_all(pmi->bootstrap, pmi->theirs);
}

void pmi_forget(void)
{
	unsetenv("PMI_FD");
	unsetenv("PMI_RANK");
	unsetenv("PMI_SIZE");
}

void pmi_close(struct pmi *pmi)
{
	close(pmi->fd);
	close(pmi->theirs);
	free(pmi->values);
	free(pmi->put);
	free(pmi->line);
}

/* Appends "key=value\n"; false without memory. */
static bool append(char **text, const char *key, const char *value)
{
	size_t old = strlen(*text), more = strlen(key) + strlen(value) + 2;
	char *longer = realloc(*text, old + more + 1);

	if (longer == NULL)
		return false;
	snprintf(longer + old, more + 1, "%s=%s\n", key, value);
	*text = longer;
	return true;
}

/* The value of "name=" in a request, up to the next space, or to the line's end where it is the last. */
static bool field(const char *line, const char *name, char *out, size_t bytes)
{
	size_t length = strlen(name);
	const char *at = line;

	while ((at = strstr(at, name)) != NULL && ((at != line && at[-1] != ' ') || at[length] != '='))
		at++;
	if (at == NULL)
		return false;
	at += length + 1;
	length = strcmp(name, "value") == 0 ? strlen(at) : strcspn(at, " ");
	if (length >= bytes)
		return false;
	memcpy(out, at, length);
	out[length] = '\0';
	return true;
}

static choir_status answer(struct pmi *pmi, const char *text)
{
	size_t left = strlen(text);

	for (ssize_t n; left > 0; text += n, left -= (size_t)n) {
		n = send(pmi->fd, text, left, MSG_NOSIGNAL);
		if (n < 0 && errno == EINTR)
			n = 0;
		if (n < 0)
			return choir_transport_error(CHOIR_TRANSPORT, "MPI has closed its PMI descriptor");
	}
	return CHOIR_SUCCESS;
}

choir_status pmi_gather(const choir_bootstrap *bootstrap, const void *mine, size_t bytes, void *all)
{
	unsigned char *back = (unsigned char *)all + (size_t)bootstrap->rank * bytes;
	int rc;

	*back = (unsigned char)~*(const unsigned char *)mine; /* one that writes nothing must not pass */
	rc = bootstrap->gather(bootstrap->ctx, mine, bytes, all);
	if (rc == 0 && memcmp(back, mine, bytes) == 0)
		return CHOIR_SUCCESS;
	return choir_transport_error(
	    CHOIR_TRANSPORT, "the bootstrap's gather of %zu bytes %s on process %d of %d, while MPI starts", bytes,
	    rc != 0 ? "failed" : "did not give back this process's own", bootstrap->rank, bootstrap->size);
}

/* Lines of all processes, of at most `most` bytes each with their ends, become the values. */
static choir_status gather_lines(struct pmi *pmi, size_t most)
{
	size_t n = (size_t)pmi->bootstrap->size, length = strlen(pmi->values), added;
	char *mine = calloc(1, most), *all = malloc(most * n), *values = realloc(pmi->values, length + most * n + 1);
	choir_status st = CHOIR_SUCCESS;

	if (values != NULL)
		pmi->values = values;
	if (mine == NULL || all == NULL || values == NULL)
		st = no_memory();
	if (st == CHOIR_SUCCESS) {
		memcpy(mine, pmi->put, strlen(pmi->put) + 1);
		st = pmi_gather(pmi->bootstrap, mine, most, all);
	}
	for (size_t p = 0; p < n && st == CHOIR_SUCCESS; p++) {
		added = strnlen(all + p * most, most - 1);
		memcpy(values + length, all + p * most, added);
		length += added;
		values[length] = '\0';
	}
	free(mine);
	free(all);
	return st;
}

static choir_status barrier(struct pmi *pmi)
{
	size_t n = (size_t)pmi->bootstrap->size;
	uint64_t mine = strlen(pmi->put) + 1, most = 0, *all = malloc(n * sizeof *all);
	choir_status st = all != NULL ? pmi_gather(pmi->bootstrap, &mine, sizeof mine, all) : no_memory();

	for (size_t p = 0; p < n && st == CHOIR_SUCCESS; p++)
		most = all[p] > most ? all[p] : most;
	free(all);
	if (st == CHOIR_SUCCESS)
		st = gather_lines(pmi, most);
	pmi->put[0] = '\0';
	return st == CHOIR_SUCCESS ? answer(pmi, "cmd=barrier_out\n") : st;
}

static choir_status put(struct pmi *pmi, const char *line)
{
	char key[KEY_MOST + 1], value[VALUE_MOST + 1];

	if (!field(line, "key", key, sizeof key) || !field(line, "value", value, sizeof value))
		return answer(pmi, "cmd=put_result rc=-1 msg=too_long\n");
	return append(&pmi->put, key, value) ? answer(pmi, "cmd=put_result rc=0 msg=success\n") : no_memory();
}

static choir_status get(struct pmi *pmi, const char *line)
{
	char key[KEY_MOST + 2], text[VALUE_MOST + 64];
	const char *at = pmi->values;
	size_t length;

	if (!field(line, "key", key, KEY_MOST + 1))
		return answer(pmi, "cmd=get_result rc=-1 msg=no_key value=unknown\n");
	if (strcmp(key, "PMI_process_mapping") == 0) {
		snprintf(text, sizeof text, "cmd=get_result rc=0 msg=success value=(vector,(0,%d,1))\n",
		         pmi->bootstrap->size);
		return answer(pmi, text);
	}
	length = strlen(strcat(key, "="));
	while (*at != '\0' && strncmp(at, key, length) != 0)
		at += strcspn(at, "\n") + 1;
	if (*at == '\0')
		return answer(pmi, "cmd=get_result rc=-1 msg=not_found value=unknown\n");
	snprintf(text, sizeof text, "cmd=get_result rc=0 msg=success value=%.*s\n", (int)(strcspn(at, "\n") - length),
	         at + length);
	return answer(pmi, text);
}

static choir_status answer_universe(struct pmi *pmi)
{
	char text[64];

	snprintf(text, sizeof text, "cmd=universe_size size=%d rc=0\n", pmi->bootstrap->size);
	return answer(pmi, text);
}

static choir_status serve_line(struct pmi *pmi, const char *line)
{
	char cmd[32] = "";

	field(line, "cmd", cmd, sizeof cmd);
	if (strcmp(cmd, "init") == 0)
		return answer(pmi, "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n");
	if (strcmp(cmd, "get_maxes") == 0)
		return answer(pmi, "cmd=maxes kvsname_max=64 keylen_max=64 vallen_max=1024\n");
	if (strcmp(cmd, "get_appnum") == 0)
		return answer(pmi, "cmd=appnum appnum=0\n");
	if (strcmp(cmd, "get_my_kvsname") == 0)
		return answer(pmi, "cmd=my_kvsname kvsname=choir\n");
	if (strcmp(cmd, "get_universe_size") == 0)
		return answer_universe(pmi);
	if (strcmp(cmd, "put") == 0)
		return put(pmi, line);
	if (strcmp(cmd, "get") == 0)
		return get(pmi, line);
	if (strcmp(cmd, "barrier_in") == 0)
		return barrier(pmi);
	return choir_transport_error(CHOIR_TRANSPORT, "MPI asks its launcher for \"%s\", and there is none", cmd);
}

choir_status pmi_serve(struct pmi *pmi, int timeout_ms)
{
	struct pollfd wait = { .fd = pmi->fd, .events = POLLIN };
	ssize_t n;
	char *end;

	if (poll(&wait, 1, timeout_ms) <= 0)
		return CHOIR_SUCCESS;
	n = recv(pmi->fd, pmi->line + pmi->line_bytes, LINE_BYTES - 1 - pmi->line_bytes, MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return CHOIR_SUCCESS;
	if (n <= 0)
		return choir_transport_error(CHOIR_TRANSPORT, "MPI has closed its PMI descriptor");
	pmi->line_bytes += (size_t)n;
	pmi->line[pmi->line_bytes] = '\0';
	while ((end = strchr(pmi->line, '\n')) != NULL) {
		*end = '\0';
		TRY(serve_line(pmi, pmi->line));
		pmi->line_bytes -= (size_t)(end + 1 - pmi->line);
		memmove(pmi->line, end + 1, pmi->line_bytes + 1);
	}
	return CHOIR_SUCCESS;
}
