/* SPDX-License-Identifier: MIT */
/* choir-train: a language model whose gradients go through choir. */
#include "seats.h"

int main(int argc, char **argv)
{
	struct options options;
	struct text text = { 0 };
	int status;

	options_parse(argc, argv, &options);
	if (text_read(options.text, &text) != CHOIR_SUCCESS)
		return EXIT_USAGE;
	status = options.local ? seats_local(&options, &text) : seats_world(&options, &text);
	text_free(&text);
	return status;
}
