/* SPDX-License-Identifier: MIT */
/* Ends the program with the time-out status when nobody has patted it for too long: what hangs (in MPI, in a driver)
 * cannot say so itself. */
#ifndef BENCH_WATCHDOG_H
#define BENCH_WATCHDOG_H

/* watchdog_start: once a process, before the ranks run. */
void watchdog_start(double timeout_s);

/* watchdog_pat: about to do `what` (a text that lives on).  Any thread; a few nanoseconds. */
void watchdog_pat(const char *what);

/* watchdog_stop: the measuring is over; nothing is timed any more. */
void watchdog_stop(void);

#endif
