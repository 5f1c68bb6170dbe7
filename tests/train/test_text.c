/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include "train/text.h"
#include "train/wordnet.h"

#include <string.h>

static struct text parsed(const char *bytes)
{
	struct text text;

	assert_int_equal(text_parse(bytes, strlen(bytes), &text), CHOIR_SUCCESS);
	return text;
}

static void expect_tokens(const struct text *text, const int32_t *tokens, size_t n)
{
	assert_int_equal(text->n_tokens, n);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(text->tokens[i], tokens[i]);
}

/* b three times, a and c twice: b is 1, then in alphabetical order. */
static void test_numbers_by_frequency(void **state)
{
	struct text text = parsed("c b a, B-b!\nA c");
	static const int32_t tokens[] = { 0, 3, 1, 2, 1, 1, 0, 2, 3, 0 };

	(void)state;
	expect_tokens(&text, tokens, 10);
	assert_int_equal(text.n_words, 4);
	assert_string_equal(text.words[1], "b");
	assert_string_equal(text.words[2], "a");
	assert_string_equal(text.words[3], "c");
	assert_int_equal(text.counts[0], 3);
	assert_int_equal(text.counts[1], 3);
	assert_int_equal(text.counts[3], 2);
	text_free(&text);
}

static void test_empty_lines_are_no_sentences(void **state)
{
	struct text text = parsed("\n\n 12 ;\nx\n\n\nx\n");
	static const int32_t tokens[] = { 0, 1, 0, 1, 0 };

	(void)state;
	expect_tokens(&text, tokens, 5);
	text_free(&text);
}

static void test_bytes_above_127_are_letters(void **state)
{
	struct text text = parsed("\xc3\xa9t\xc3\xa9 x \xc3\xa9t\xc3\xa9");

	(void)state;
	assert_int_equal(text.n_words, 3);
	assert_string_equal(text.words[1], "\xc3\xa9t\xc3\xa9");
	text_free(&text);
}

/* More words than the table has room for at first; every one must be found again after it has grown. */
static void test_many_words(void **state)
{
	static char bytes[5000 * 2 * 5 + 1];
	struct text text;
	size_t n = 0;

	(void)state;
	for (int twice = 0; twice < 2; twice++)
		for (int i = 0; i < 5000; i++) {
			char word[5] = { (char)('a' + i / 676), (char)('a' + i / 26 % 26), (char)('a' + i % 26), ' ',
				         0 };

			memcpy(bytes + n, word, 4);
			n += 4;
		}
	assert_int_equal(text_parse(bytes, n, &text), CHOIR_SUCCESS);
	assert_int_equal(text.n_words, 5001);
	for (size_t k = 1; k < 5001; k++) {
		assert_int_equal(text.counts[k], 2);
		assert_int_equal(text.tokens[k], k);
		assert_int_equal(text.tokens[k + 5000], k);
	}
	text_free(&text);
}

static void test_no_words(void **state)
{
	struct text text;

	(void)state;
	assert_int_equal(text_parse(" 1 2 \n", 6, &text), CHOIR_ARGUMENT);
	assert_int_equal(text_parse("", 0, &text), CHOIR_ARGUMENT);
}

static void test_definitions(void **state)
{
	char data[] = "  1 This software | is licensed\n"
		      "00001740 03 n 01 entity 0 003 ~ | that which is; \"it is\"  \n"
		      "no gloss here\n"
		      "00001930 03 n 01 x 0 | an x (of \"y\" z)";

	(void)state;
	assert_int_equal(wordnet_definitions(data, strlen(data)), strlen("that which is;   \nan x (of  z)\n"));
	assert_memory_equal(data, "that which is;   \nan x (of  z)\n", strlen("that which is;   \nan x (of  z)\n"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numbers_by_frequency),
		cmocka_unit_test(test_empty_lines_are_no_sentences),
		cmocka_unit_test(test_bytes_above_127_are_letters),
		cmocka_unit_test(test_many_words),
		cmocka_unit_test(test_no_words),
		cmocka_unit_test(test_definitions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
