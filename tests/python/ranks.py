# SPDX-License-Identifier: MIT
"""What the tests share: ranks as threads of one process, and as processes."""

import ctypes
import os
import subprocess
import sys
import tempfile
import threading

import choir


def run_ranks(n, fn, device=None, **settings):
    """fn(comm) on n ranks, a thread each; the first exception is raised here."""
    settings.setdefault("deadline", 30)
    raised = []

    def run(comm):
        try:
            fn(comm)
        except BaseException as error:
            raised.append(error)
            comm.abort()

    with choir.threads(n, device, **settings) as comms:
        threads = [threading.Thread(target=run, args=(comm,)) for comm in comms]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    if raised:
        raise raised[0]


def host_waits():
    """How often this thread has waited in an OpenCL call, as the layer tests/layer/waits.c counts, in OPENCL_LAYERS."""
    layer = ctypes.CDLL(os.environ["OPENCL_LAYERS"])
    layer.waits_of_thread.restype = ctypes.c_ulong
    return layer.waits_of_thread()


def run_program(text, n=1, timeout=60, env=None, grace=2):
    """A Python program on n processes of ``python -m choir``; its status and what it printed, errors included."""
    with tempfile.NamedTemporaryFile("w", suffix=".py") as program:
        program.write(text)
        program.flush()
        launcher = ["-m", "choir", "-n", str(n), "--grace", str(grace)] if n > 1 else []
        done = subprocess.run(
            [sys.executable, *launcher, program.name], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            timeout=timeout, env=dict(os.environ, **(env or {})),
        )  # fmt: skip
    return done.returncode, done.stdout
