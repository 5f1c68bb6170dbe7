# SPDX-License-Identifier: MIT
"""``python -m choir -n 2 program.py ARGUMENT...``: that many processes of a program on this machine.

``python -m choir`` alone prints versions.  Each process gets RANK, LOCAL_RANK, WORLD_SIZE and CHOIR_MEETING, a private
folder in which they meet.  When one fails the others have ``--grace`` seconds to say so and are then ended; its exit
status is that of the command.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time

from ._versions import show_versions


def _start(command: list[str], rank: int, size: int, folder: str) -> subprocess.Popen:
    env = dict(os.environ, RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(size), CHOIR_MEETING=folder)
    return subprocess.Popen(command, env=env)


def _watch(processes: list[subprocess.Popen]) -> int:
    """0 when all ended well, else the status of the first that did not; the others are ended."""
    while True:
        statuses = [one.poll() for one in processes]
        bad = [status for status in statuses if status]
        if bad or None not in statuses:
            return bad[0] if bad else 0
        time.sleep(0.02)


def _end(processes: list[subprocess.Popen], grace: float) -> None:
    """Peers of a failed rank learn of it from choir: they get a moment to say so."""
    until = time.monotonic() + grace
    for number in (0, signal.SIGTERM, signal.SIGKILL):
        for one in processes:
            if one.poll() is None and number:
                one.send_signal(number)
        for one in processes:
            try:
                one.wait(max(0.0, until - time.monotonic()))
            except subprocess.TimeoutExpired:
                pass
        until = time.monotonic() + 2.0


class _Terminated(Exception):
    """SIGTERM came."""


def _terminated(number: int, frame: object) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise _Terminated


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m choir", description="several processes of a Python program")
    parser.add_argument("-n", type=int, default=0, metavar="PROCESSES")
    parser.add_argument(
        "--grace", type=float, default=2.0, metavar="SECONDS", help="what the others get when one has failed (2)"
    )
    parser.add_argument("program", nargs=argparse.REMAINDER, help="a Python program and its arguments")
    given = parser.parse_args()
    if not given.program:
        show_versions()
        return 0
    if given.n < 1:
        parser.error("-n says how many processes")
    command = [sys.executable, *given.program]
    signal.signal(signal.SIGTERM, _terminated)
    grace = given.grace
    with tempfile.TemporaryDirectory(prefix="choir-") as folder:
        processes: list[subprocess.Popen] = []
        try:
            for rank in range(given.n):
                processes.append(_start(command, rank, given.n, folder))
            status = _watch(processes)
        except KeyboardInterrupt:
            status = 130
        except _Terminated:
            status, grace = 128 + signal.SIGTERM, 0.0
        finally:
            _end(processes, 0.0 if sys.exc_info()[0] else grace)
        return status if status >= 0 else 128 - status


if __name__ == "__main__":
    sys.exit(main())
