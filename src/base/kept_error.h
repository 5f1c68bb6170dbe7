/* SPDX-License-Identifier: MIT */
/* An outcome with its sentence, kept while other calls are made, or for another thread. */
#ifndef BASE_KEPT_ERROR_H
#define BASE_KEPT_ERROR_H

#include "base/error.h"

#include <string.h>

/* Zeroes are SUCCESS. */
struct kept_error {
	choir_status status;
	char text[ERROR_TEXT_BYTES];
};

/* error_keep: that status, with this thread's last error.  error_keep_first: unless a failure is kept already. */
static inline void error_keep(struct kept_error *kept, choir_status status)
{
	kept->status = status;
	if (status != CHOIR_SUCCESS)
		memcpy(kept->text, error_text(), sizeof kept->text);
}

static inline void error_keep_first(struct kept_error *kept, choir_status status)
{
	if (kept->status == CHOIR_SUCCESS)
		error_keep(kept, status);
}

/* error_again: the status that is kept, with its sentence as this thread's last error. */
static inline choir_status error_again(const struct kept_error *kept)
{
	return kept->status == CHOIR_SUCCESS ? CHOIR_SUCCESS : error_set(kept->status, "%s", kept->text);
}

#endif
