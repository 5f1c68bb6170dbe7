/* SPDX-License-Identifier: MIT */
/* Operators of the caller's own. */
#include "api/call.h"
#include "base/user_op.h"

#include <string.h>

static const char create[] = "choir_op_create";

static choir_status check_name(const char *name)
{
	if (name == NULL || name[0] == '\0')
		return error_set(CHOIR_ARGUMENT, "%s: the operator has no name", create);
	if (strlen(name) >= USER_OP_NAME_BYTES)
		return error_set(CHOIR_ARGUMENT, "%s: the name '%.40s' has more than %d characters", create, name,
		                 USER_OP_NAME_BYTES - 1);
	for (const char *c = name; *c != '\0'; c++)
		if (*c < ' ' || *c > '~' || strchr("'\"\\", *c) != NULL)
			return error_set(CHOIR_ARGUMENT,
			                 "%s: character %d of the name cannot be printed, or is a "
			                 "quote or a backslash",
			                 create, (int)(c - name) + 1);
	return CHOIR_SUCCESS;
}

/* Both forms of an operator apply the same functions. */
static choir_status check_pair(const choir_op_config *config, const char *member, bool function, bool text)
{
	if (config->fold == NULL && function)
		return error_set(CHOIR_ARGUMENT, "%s: operator '%s': %s is given without fold", create, config->name,
		                 member);
	if (config->fold_text == NULL && text)
		return error_set(CHOIR_ARGUMENT, "%s: operator '%s': %s_text is given without fold_text", create,
		                 config->name, member);
	if (function != text && config->fold != NULL && config->fold_text != NULL)
		return error_set(CHOIR_ARGUMENT, "%s: operator '%s': %s%s is missing: fold is given in both forms",
		                 create, config->name, member, function ? "_text" : "");
	return CHOIR_SUCCESS;
}

static choir_status check(const choir_op_config *config)
{
	const char *name = config->name;

	TRY(check_name(name));
	if (config->fold == NULL && config->fold_text == NULL)
		return error_set(CHOIR_ARGUMENT, "%s: operator '%s': neither fold nor fold_text is given", create,
		                 name);
	TRY(check_pair(config, "raw", config->raw != NULL, config->raw_text != NULL));
	TRY(check_pair(config, "final", config->final != NULL, config->final_text != NULL));
	if (config->fold == NULL && config->identity != NULL)
		return check_pair(config, "identity", true, true);
	if (config->fold_text == NULL && (config->identity_text != NULL || config->source != NULL))
		return error_set(CHOIR_ARGUMENT, "%s: operator '%s': %s is given without fold_text", create, name,
		                 config->source != NULL ? "source" : "identity_text");
	if (config->commutative != 0 && config->commutative != 1)
		return error_set(CHOIR_ARGUMENT, "%s: operator '%s': commutative is %d: 0 or 1 is wanted", create, name,
		                 config->commutative);
	for (unsigned bit = 0; bit < 64; bit++)
		if ((config->dtypes >> bit & 1) != 0 && choir_dtype_bytes((choir_dtype)bit) == 0)
			return error_set(CHOIR_ARGUMENT, "%s: operator '%s': bit %u of dtypes is no data type", create,
			                 name, bit);
	return CHOIR_SUCCESS;
}

choir_status choir_op_create(const choir_op_config *config, choir_op *op_p)
{
	choir_op_config read = CHOIR_OP_CONFIG_INIT;

	TRY(call_read_struct(create, "config", "CHOIR_OP_CONFIG_INIT", config, &read, sizeof read));
	if (op_p == NULL)
		return error_set(CHOIR_ARGUMENT, "%s: null op_p", create);
	TRY(check(&read));
	return user_op_add(&read, op_p);
}

choir_status choir_op_destroy(choir_op op)
{
	TRY(user_op_remove(op));
	dev_count_death(); /* calls that were prepared for it are not taken again */
	return CHOIR_SUCCESS;
}
