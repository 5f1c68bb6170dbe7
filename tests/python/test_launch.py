# SPDX-License-Identifier: MIT
"""MPI without mpiexec: processes meet over TCP, and MPI carries the data between them, each a node of its own."""

import os
import subprocess
import sys
import unittest

from choir import _library
from meetings import free_port
from ranks import run_program

PROGRAM = """
import choir
import numpy as np

with choir.from_environment(network="mpi", ranks_per_node=1, deadline=60) as comm:
    x = np.full(100000, comm.rank + 1)
    comm.allreduce(x)
    with comm.split(comm.rank % 2) as part:
        assert part.size == (comm.size + 1 - comm.rank % 2) // 2
    print(f"rank {comm.rank} of {comm.size}, {comm.nodes} nodes by {comm.describe()['transport']}: {x[7]}\\n", end="")
"""
ENVIRONMENT = {"UCX_TLS": "tcp,self", "UCX_NET_DEVICES": "lo"}


def have_mpi():
    try:
        _library.mpi()
        return True
    except ImportError:
        return False


@unittest.skipUnless(have_mpi(), "there is no libchoir-mpi")
class Gather(unittest.TestCase):
    def test_by_folder(self):
        status, out = run_program(PROGRAM, 3, env=ENVIRONMENT)
        lines = [f"rank {rank} of 3, 3 nodes by MPI: 6" for rank in range(3)]
        self.assertEqual((status, sorted(out.splitlines())), (0, lines), out)

    def test_over_tcp(self):
        shared = dict(os.environ, **ENVIRONMENT, WORLD_SIZE="2", MASTER_ADDR="127.0.0.1",
                      MASTER_PORT=str(free_port()), CHOIR_SECRET="0123456789abcdef")  # fmt: skip
        started = [
            subprocess.Popen([sys.executable, "-c", PROGRAM], env=dict(shared, RANK=str(rank)), stdout=subprocess.PIPE)
            for rank in range(2)
        ]
        lines = [one.communicate(timeout=100)[0].decode() for one in started]
        self.assertEqual(lines, [f"rank {rank} of 2, 2 nodes by MPI: 3\n" for rank in range(2)])
        self.assertEqual([one.returncode for one in started], [0, 0])

    def test_machine_is_preferred(self):
        status, out = run_program(PROGRAM.replace('network="mpi", ranks_per_node=1, ', ""), 2)
        self.assertEqual((status, out.count(", 1 nodes by ")), (0, 2), out)

    def test_system(self):
        """CHOIR_LIBRARY=system: the loader finds both libraries, as it does where they are installed."""
        folder = os.environ["CHOIR_LIBRARY"]
        environment = dict(ENVIRONMENT, CHOIR_LIBRARY="system", LD_LIBRARY_PATH=folder)
        status, out = run_program(PROGRAM + "choir.show_versions()", 2, env=environment)
        self.assertEqual((status, out.count(" of 2, 2 nodes by MPI: 3\n")), (0, 2), out)
        self.assertEqual(out.count(f"libchoir-mpi   {folder}/libchoir-mpi.so.0"), 2, out)
        self.assertEqual(out.count(f"libchoir       {folder}/libchoir.so.0"), 2, out)

    def test_network_is_refused(self):
        status, out = run_program("import choir\nchoir.from_gather(bytes, 0, 1, network='tcp')")
        self.assertEqual(status, 1)
        self.assertIn("network='tcp': auto, none or mpi", out)


if __name__ == "__main__":
    unittest.main()
