# SPDX-License-Identifier: MIT
"""Ranks of one machine in different namespaces: one node, or it is said why they are separate ones."""

import os
import subprocess
import sys
import tempfile
import unittest

PROGRAM = """
import choir
import numpy as np

try:
    with choir.on_this_machine(RANK, 2, FOLDER, deadline=60, network="none") as comm:
        x = np.full(1000, comm.rank + 1)
        comm.allreduce(x)
        about = comm.describe()
        print(x[7], about["nodes"], about["transport"], about.get("nodes_because"))
except choir.UnsupportedError as error:
    print(error)
"""
UNSHARE = ["unshare", "--fork", "--kill-child"]


def can_unshare():
    try:
        return subprocess.run([*UNSHARE, "-Urpn", "true"], capture_output=True, timeout=20).returncode == 0
    except OSError:
        return False


@unittest.skipUnless(can_unshare() and os.getuid() == 0, "no user, pid and network namespaces here, or no root")
class Containers(unittest.TestCase):
    def both(self, spaces):
        """What rank 0, and rank 1 in namespaces of its own, printed."""
        with tempfile.TemporaryDirectory() as folder:
            started = []
            for rank in range(2):
                names = f"RANK, FOLDER = {rank}, {folder!r}\n"
                command = ([*UNSHARE, spaces] if rank else []) + [sys.executable, "-c", names + PROGRAM]
                started.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
            return [one.communicate(timeout=100)[0] for one in started]

    def test_one_node(self):
        for said in self.both("-Urp"):
            self.assertRegex(said, "^3 1 .* None$")

    def test_reason(self):
        for said in self.both("-Urpn"):
            self.assertIn("processes 0 and 1 of one machine are in different network namespaces", said)


if __name__ == "__main__":
    unittest.main()
