/* SPDX-License-Identifier: MIT */
/* The last one to come opens the next generation; the generation is the word that the others sleep on. */
#include "meeting.h"

#include <linux/futex.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { LINE = 64, NOTE_BYTES = 4096, SPINS = 20000 };

struct meeting {
	_Alignas(LINE) int n, spins;
	_Alignas(LINE) _Atomic int arrived;
	_Alignas(LINE) _Atomic uint32_t generation;
	_Alignas(LINE) _Atomic int sleepers;
	_Alignas(LINE) char notes[][NOTE_BYTES]; /* [n] what a rank tells the others */
};

size_t meeting_bytes(int n)
{
	return sizeof(struct meeting) + (size_t)n * NOTE_BYTES;
}

void meeting_init(struct meeting *meeting, int n)
{
	memset(meeting, 0, meeting_bytes(n));
	meeting->n = n;
	meeting->spins = n <= sysconf(_SC_NPROCESSORS_ONLN) ? SPINS : 0;
}

static void sleep_until_after(struct meeting *meeting, uint32_t generation)
{
	atomic_fetch_add(&meeting->sleepers, 1);
	while (atomic_load(&meeting->generation) == generation)
		syscall(SYS_futex, &meeting->generation, FUTEX_WAIT, generation, NULL, NULL, 0);
	atomic_fetch_sub(&meeting->sleepers, 1);
}

void meeting_wait(struct meeting *meeting)
{
	uint32_t mine = atomic_load(&meeting->generation);

	if (atomic_fetch_add(&meeting->arrived, 1) == meeting->n - 1) {
		atomic_store(&meeting->arrived, 0);
		atomic_fetch_add(&meeting->generation, 1);
		/* A sleeper counts itself before it looks at the generation again: either it sees the new one or we see
		 * it. */
		if (atomic_load(&meeting->sleepers) > 0)
			syscall(SYS_futex, &meeting->generation, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
		return;
	}
	for (int i = 0; i < meeting->spins; i++)
		if (atomic_load_explicit(&meeting->generation, memory_order_acquire) != mine)
			return;
	sleep_until_after(meeting, mine);
}

void meeting_gather(struct meeting *meeting, int rank, const void *mine, size_t bytes, void *all)
{
	for (size_t at = 0; at < bytes; at += NOTE_BYTES) {
		size_t piece = bytes - at < NOTE_BYTES ? bytes - at : NOTE_BYTES;

		memcpy(meeting->notes[rank], (const char *)mine + at, piece);
		meeting_wait(meeting);
		for (int r = 0; r < meeting->n; r++)
			memcpy((char *)all + (size_t)r * bytes + at, meeting->notes[r], piece);
		meeting_wait(meeting);
	}
}

bool meeting_crowded(const struct meeting *meeting)
{
	return meeting->spins == 0;
}
