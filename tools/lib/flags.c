/* SPDX-License-Identifier: MIT */
#include "flags.h"

#include <argp.h>
#include <choir/types.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_VERSION = 256, KEY_HELP, KEY_FIRST };

struct reader {
	const struct flags *flags;
	const struct argp *argp;
	char *out, *error;
	const char **words;
	int n_words, most_words;
	bool told;
};

static error_t complain(struct reader *reader, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	vsnprintf(reader->error, FLAGS_ERROR_BYTES, format, list);
	va_end(list);
	return EINVAL;
}

static error_t read_number(struct reader *reader, const struct flag *flag, const char *text)
{
	bool whole = flag->kind != FLAG_REAL;
	double most = flag->kind == FLAG_INT ? INT_MAX : 0x1p53, value;
	char *end;

	value = strtod(text, &end);
	if (end == text || *end != '\0' || !isfinite(value) || value < flag->least ||
	    (whole && (value != floor(value) || value > most)))
		return value > most && whole ? complain(reader, "--%s: '%s' is more than %.0f", flag->name, text, most)
		                             : complain(reader, "--%s: '%s' is no %s from %g on", flag->name, text,
		                                        whole ? "whole number" : "number", flag->least);
	if (flag->kind == FLAG_INT)
		*(int *)(void *)(reader->out + flag->at) = (int)value;
	else if (flag->kind == FLAG_WHOLE)
		*(size_t *)(void *)(reader->out + flag->at) = (size_t)value;
	else
		*(double *)(void *)(reader->out + flag->at) = value;
	return 0;
}

static error_t read_flag(struct reader *reader, const struct flag *flag, const char *text)
{
	if (flag->kind == FLAG_GIVEN)
		*(bool *)(reader->out + flag->at) = true;
	else if (flag->kind == FLAG_TEXT)
		*(const char **)(void *)(reader->out + flag->at) = text != NULL ? text : flag->otherwise;
	else
		return read_number(reader, flag, text != NULL ? text : flag->otherwise);
	return 0;
}

static error_t tell(struct reader *reader, int key)
{
	reader->told = true;
	if (key == KEY_HELP && flags_speaks())
		argp_help(reader->argp, stdout, ARGP_HELP_SHORT_USAGE | ARGP_HELP_PRE_DOC | ARGP_HELP_LONG,
		          (char *)reader->flags->program);
	else if (flags_speaks())
		printf("%s %s\n", reader->flags->program, choir_version());
	return ECANCELED;
}

static error_t read_key(int key, char *text, struct argp_state *state)
{
	struct reader *reader = state->input;

	if (key >= KEY_FIRST && key < KEY_FIRST + reader->flags->n)
		return read_flag(reader, &reader->flags->flag[key - KEY_FIRST], text);
	for (int i = 0; i < reader->flags->n && key > 0 && key < KEY_VERSION; i++)
		if (reader->flags->flag[i].letter == key)
			return read_flag(reader, &reader->flags->flag[i], text);
	switch (key) {
	case KEY_HELP:
	case 'h':
	case KEY_VERSION:
		return tell(reader, key == 'h' ? KEY_HELP : key);
	case ARGP_KEY_ARG:
		if (reader->n_words == reader->most_words)
			return complain(reader, "'%s' is one word too many", text);
		reader->words[reader->n_words++] = text;
		return 0;
	case ARGP_KEY_ERROR:
		if (!reader->told && reader->error[0] == '\0')
			complain(reader, "%s: there is no such flag, or it lacks its value, or takes none",
			         state->argv[state->next - 1]);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* The table as argp wants it. */
static void make_options(const struct flags *flags, struct argp_option *options)
{
	int group = 1;

	for (int i = 0; i < flags->n; i++) {
		const struct flag *flag = &flags->flag[i];

		group += flag->title != NULL;
		options[i] = (struct argp_option){ .name = flag->name,
			                           .arg = flag->value,
			                           .doc = flag->title != NULL ? flag->title : flag->about,
			                           .flags = flag->otherwise != NULL ? OPTION_ARG_OPTIONAL : 0,
			                           .group = group };
		if (flag->title == NULL)
			options[i].key = flag->letter != 0 ? flag->letter : KEY_FIRST + i;
	}
	options[flags->n] = (struct argp_option){ .name = "help", .key = 'h', .doc = "this text", .group = group + 1 };
	options[flags->n + 1] = (struct argp_option){
		.name = "version", .key = KEY_VERSION, .doc = "the library's version", .group = group + 1
	};
}

enum flags_outcome flags_parse(const struct flags *flags, int argc, char **argv, void *out, const char **words,
                               int most_words, char error[FLAGS_ERROR_BYTES])
{
	struct argp_option *options = calloc((size_t)flags->n + 3, sizeof *options);
	const struct argp argp = {
		.options = options, .parser = read_key, .args_doc = flags->words, .doc = flags->doc
	};
	struct reader reader = {
		.flags = flags, .argp = &argp, .out = out, .error = error, .words = words, .most_words = most_words
	};
	error_t rc;

	error[0] = '\0';
	if (options == NULL) {
		complain(&reader, "no memory");
		return FLAGS_WRONG;
	}
	make_options(flags, options);
	rc = argp_parse(&argp, argc, argv, ARGP_NO_EXIT | ARGP_NO_ERRS | ARGP_NO_HELP, NULL, &reader);
	words[reader.n_words] = NULL;
	free(options);
	return reader.told ? FLAGS_TOLD : rc == 0 ? FLAGS_READ : FLAGS_WRONG;
}

bool flags_speaks(void)
{
	const char *rank = getenv("PMI_RANK");

	return rank == NULL || strcmp(rank, "0") == 0;
}
