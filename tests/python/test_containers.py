# SPDX-License-Identifier: MIT
"""Ranks of one machine in different namespaces: why they are separate nodes is said, and MPI joins them."""

import os
import subprocess
import sys
import tempfile
import unittest

from choir import _library

PROGRAM = """
import choir
import numpy as np

try:
    with choir.on_this_machine(RANK, 2, FOLDER, deadline=60, network=NETWORK) as comm:
        x = np.full(1000, comm.rank + 1)
        comm.allreduce(x)
        about = comm.describe()
        print(x[7], about["nodes"], about["transport"], about.get("nodes_because"))
except choir.UnsupportedError as error:
    print(error)
"""
UNSHARE = ["unshare", "-Urp", "--fork", "--kill-child"]


def can_unshare():
    try:
        return subprocess.run([*UNSHARE, "true"], capture_output=True, timeout=20).returncode == 0
    except OSError:
        return False


def have_mpi():
    try:
        _library.mpi()
        return True
    except ImportError:
        return False


@unittest.skipUnless(can_unshare() and os.getuid() == 0, "no user and pid namespaces here, or no root")
class Containers(unittest.TestCase):
    def both(self, network):
        """What rank 0, and rank 1 in namespaces of its own, printed."""
        with tempfile.TemporaryDirectory() as folder:
            started = []
            for rank in range(2):
                names = f"RANK, FOLDER, NETWORK = {rank}, {folder!r}, {network!r}\n"
                command = (UNSHARE if rank else []) + [sys.executable, "-c", names + PROGRAM]
                env = dict(os.environ, UCX_TLS="tcp,self", UCX_NET_DEVICES="lo")
                started.append(subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True))
            return [one.communicate(timeout=100)[0] for one in started]

    def test_reason(self):
        for said in self.both("none"):
            self.assertIn("processes 0 and 1 of one machine cannot open each other's shared memory", said)

    @unittest.skipUnless(have_mpi(), "there is no libchoir-mpi")
    def test_mpi_joins(self):
        for said in self.both("auto"):
            self.assertRegex(said, "3 2 MPI processes 0 and 1 of one machine cannot open")


if __name__ == "__main__":
    unittest.main()
