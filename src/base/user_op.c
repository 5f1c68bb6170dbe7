/* SPDX-License-Identifier: MIT */
/* Design notes.  Numbers are never given again, so a call that was prepared for a destroyed operator cannot meet a new
 * one.  An operator is in the list while somebody holds it: the caller, a prepared call, a script, a build.  The list
 * is short, and is searched when a call is prepared or a kernel launched. */
#include "base/user_op.h"

#include "base/fork_lock.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL /* the room needs no library */
#include <xxhash.h>

enum { MOST_OPS = 1 << 30 };

FORK_LOCK(lock)
static struct user_op *first;
static choir_op created;

/* --- the text --- */

struct text {
	char *at; /* NULL = only measured */
	size_t bytes;
};

static void __attribute__((format(printf, 2, 3))) add(struct text *text, const char *format, ...)
{
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(text->at != NULL ? text->at + text->bytes : NULL, text->at != NULL ? SIZE_MAX / 2 : 0, format,
	              args);
	va_end(args);
	text->bytes += (size_t)n;
}

/* A function of that text; the compiler's words name its line in it. */
static void add_function(struct text *text, const char *op, const char *member, const char *head, const char *body)
{
	if (body == NULL)
		return;
	add(text, "#define USER_HAS_%s\nstatic inline ACC user_%s\n{\n\treturn (\n", member, head);
	add(text, "#line 1 \"%s_text of operator '%s'\"\n%s\n);\n}\n", member, op, body);
}

static void write_text(struct text *text, const choir_op_config *config)
{
	if (config->source != NULL)
		add(text, "#line 1 \"source of operator '%s'\"\n%s\n", config->name, config->source);
	add_function(text, config->name, "fold", "fold(ACC a, ACC b)", config->fold_text);
	add_function(text, config->name, "raw", "raw(ACC a)", config->raw_text);
	add_function(text, config->name, "final", "final(ACC a, int n)", config->final_text);
	add_function(text, config->name, "identity", "identity(void)", config->identity_text);
	add(text, "#line 1 \"after the text of operator '%s'\"\n", config->name);
}

static choir_status make_text(struct user_op *op, const choir_op_config *config)
{
	struct text text = { NULL, 0 };

	if (config->fold_text == NULL)
		return CHOIR_SUCCESS;
	write_text(&text, config);
	op->text = malloc(text.bytes + 1);
	if (op->text == NULL)
		return error_no_memory("the text of an operator", text.bytes + 1);
	text = (struct text){ op->text, 0 };
	write_text(&text, config);
	op->text_hash = XXH64(op->text, text.bytes, 0);
	return CHOIR_SUCCESS;
}

/* --- the list --- */

static uint32_t hash_of(const struct user_op *op)
{
	const choir_op_config *config = &op->config;
	const uint64_t shape[] = { config->commutative != 0, config->fold != NULL, op->has_raw,   op->has_final,
		                   config->identity != NULL, op->text_hash,        config->dtypes };

	return (uint32_t)XXH64(shape, sizeof shape, XXH64(op->name, strlen(op->name), 1));
}

static void destroy(struct user_op *op)
{
	free(op->text);
	free(op);
}

static choir_status make(const choir_op_config *config, struct user_op **out_p)
{
	struct user_op *op = calloc(1, sizeof *op);
	choir_status st;

	if (op == NULL)
		return error_no_memory("an operator", sizeof *op);
	atomic_init(&op->refs, 1);
	snprintf(op->name, sizeof op->name, "%s", config->name);
	op->config = *config;
	op->has_raw = config->raw != NULL || config->raw_text != NULL;
	op->has_final = config->final != NULL || config->final_text != NULL;
	st = make_text(op, config);
	if (st != CHOIR_SUCCESS) {
		destroy(op);
		return st;
	}
	op->config.name = op->name;
	op->config.source = op->config.fold_text = op->config.raw_text = NULL;
	op->config.final_text = op->config.identity_text = NULL;
	op->hash = hash_of(op);
	*out_p = op;
	return CHOIR_SUCCESS;
}

choir_status user_op_add(const choir_op_config *config, choir_op *op_p)
{
	struct user_op *op = NULL;

	TRY(make(config, &op));
	pthread_mutex_lock(&lock);
	if (created < MOST_OPS) {
		op->number = USER_OP_FIRST + created++;
		op->next = first;
		first = op;
		*op_p = op->number;
	}
	pthread_mutex_unlock(&lock);
	if (op->number != 0)
		return CHOIR_SUCCESS;
	destroy(op);
	return error_set(CHOIR_ARGUMENT, "choir_op_create: %d operators were created", MOST_OPS);
}

/* With the lock held. */
static struct user_op *find(choir_op number)
{
	struct user_op *op = first;

	while (op != NULL && op->number != number)
		op = op->next;
	return op;
}

static struct user_op *hold(struct user_op *op)
{
	if (op != NULL)
		atomic_fetch_add_explicit(&op->refs, 1, memory_order_relaxed);
	return op;
}

choir_status user_op_remove(choir_op number)
{
	struct user_op *op;

	pthread_mutex_lock(&lock);
	op = find(number);
	if (op != NULL && op->destroyed)
		op = NULL;
	if (op != NULL)
		op->destroyed = true;
	pthread_mutex_unlock(&lock);
	if (op == NULL)
		return error_set(CHOIR_ARGUMENT, "choir_op_destroy: %d is no operator of the caller's", (int)number);
	user_op_release(op);
	return CHOIR_SUCCESS;
}

choir_status user_op_find(const char *call, choir_op number, struct user_op **out_p)
{
	struct user_op *op;

	pthread_mutex_lock(&lock);
	op = find(number);
	op = op != NULL && !op->destroyed ? hold(op) : NULL;
	pthread_mutex_unlock(&lock);
	if (op == NULL)
		return error_set(CHOIR_ARGUMENT, "%s: %d is no operator, or one that is destroyed", call, (int)number);
	*out_p = op;
	return CHOIR_SUCCESS;
}

const struct user_op *user_op_held(choir_op number)
{
	struct user_op *op;

	if (!user_op_is(number))
		return NULL;
	pthread_mutex_lock(&lock);
	op = find(number);
	pthread_mutex_unlock(&lock);
	return op;
}

struct user_op *user_op_text(uint64_t text_hash)
{
	struct user_op *op;

	pthread_mutex_lock(&lock);
	for (op = first; op != NULL && (op->text == NULL || op->text_hash != text_hash); op = op->next)
		;
	hold(op);
	pthread_mutex_unlock(&lock);
	return op;
}

/* The count falls to 0 with the lock held, so nobody finds an operator that is being freed. */
void user_op_release(struct user_op *op)
{
	struct user_op **link = &first;

	if (op == NULL)
		return;
	pthread_mutex_lock(&lock);
	if (atomic_fetch_sub_explicit(&op->refs, 1, memory_order_acq_rel) == 1) {
		while (*link != op)
			link = &(*link)->next;
		*link = op->next;
	} else {
		op = NULL;
	}
	pthread_mutex_unlock(&lock);
	if (op != NULL)
		destroy(op);
}

/* --- between ranks --- */

static choir_op code_of(const struct user_op *op)
{
	return USER_OP_FIRST + (choir_op)(op->hash >> 2);
}

choir_op user_op_code(choir_op number)
{
	const struct user_op *op = user_op_held(number);

	return op != NULL ? code_of(op) : number;
}

const char *user_op_code_name(choir_op code, char text[USER_OP_CODE_BYTES])
{
	const struct user_op *op;

	pthread_mutex_lock(&lock);
	for (op = first; op != NULL && code_of(op) != code; op = op->next)
		;
	snprintf(text, USER_OP_CODE_BYTES, "%s [%08x]", op != NULL ? op->name : "operator",
	         (unsigned)(code - USER_OP_FIRST));
	pthread_mutex_unlock(&lock);
	return text;
}
