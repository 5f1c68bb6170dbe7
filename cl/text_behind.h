/* SPDX-License-Identifier: MIT */
/* Behind the text of an operator, whose functions and macros may have the names of the kernels' own. */
#pragma pop_macro("DTYPE")
#pragma pop_macro("OP")
#pragma pop_macro("WIDTH")
#pragma pop_macro("RAW")
#pragma pop_macro("FINAL")
#pragma pop_macro("INDEX")
#pragma pop_macro("KEY")
#pragma pop_macro("VALUE")
#pragma pop_macro("CARRIES")
#pragma pop_macro("CELL_BITS")
#pragma pop_macro("GROUP")
#pragma pop_macro("SPAN")
#pragma pop_macro("GROUP_H")
#undef FROM_PART
#undef TO_PART
#undef PREFETCH
#undef CELLS
#undef WORDS
#undef BEGINS_EMPTY

/* reduce.cl */
#define two         choir_two
#define many        choir_many
#define fold_source choir_fold_source
/* segment_fold.cl, merge.cl, cells.cl */
#define load_term    choir_load_term
#define term         choir_term
#define finish       choir_finish
#define bucket_start choir_bucket_start
#define cell_of      choir_cell_of
#define nothing      choir_nothing
/* entry.h, walk.h, group.h */
#define entry        choir_entry
#define is_head      choir_is_head
#define walk         choir_walk
#define walk_of      choir_walk_of
#define walk_from    choir_walk_from
#define walk_on      choir_walk_on
#define group_number choir_group_number
