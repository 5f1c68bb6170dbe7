# SPDX-License-Identifier: MIT
"""The interpreter ends while collectives are in flight: no crash, no hang, and the other rank learns of it."""

import unittest

from ranks import run_program

BEGIN = """
import choir, numpy
comms = choir.threads(2)
x = numpy.ones(1000000)
"""

IN_FLIGHT = """
event = comms[0].allreduce(x, wait=False)
del x
"""


class Exit(unittest.TestCase):
    def ends_well(self, text, n=1):
        status, out = run_program(text, n, timeout=60)
        self.assertEqual(status, 0, out)
        return out

    def test_open_comms(self):
        self.ends_well(BEGIN + "with choir.group():\n    [comm.allreduce(x.copy()) for comm in comms]\n")

    def test_in_flight(self):
        self.ends_well(BEGIN + IN_FLIGHT)

    def test_dropped_event(self):
        self.ends_well(BEGIN + IN_FLIGHT + "del event\n")

    def test_splits_that_nobody_waits_for(self):
        self.ends_well("import choir\n[comm.split_start(0) for comm in choir.threads(2)]\n")

    def test_a_create_in_flight(self):
        """Its gather waits, comes back as the interpreter ends, or has come back: no event or an event is kept."""
        for gather in ("time.sleep(100)", "time.sleep(0.05)", "bytes(2 * len(mine))"):
            for kept in ("event = ", ""):
                out = self.ends_well(
                    "import choir, time\n"
                    f"{kept}choir.from_gather_start(lambda mine: {gather}, 0, 2)\n"
                    "time.sleep(0.03)\n"
                )
                self.assertEqual(out, "")

    def test_a_create_that_would_end_behind_the_interpreter(self):
        """A gather that comes back when the interpreter has begun to exit does not return to the library."""
        out = self.ends_well(
            "import atexit, time\n"
            "calls, back = [], []\n"
            "def gather(mine):\n"
            "    calls.append(1)\n"
            "    while not back: time.sleep(0.001)\n"
            "    return 2 * mine\n"
            "@atexit.register\n"
            "def behind_choir():\n"
            "    back.append(1)\n"
            "    time.sleep(0.2)\n"
            "    print(len(calls), event.done())\n"
            "import choir\n"
            "event = choir.from_gather_start(gather, 0, 2)\n"
            "event.add_done_callback(lambda one: print('called'))\n"
            "while not calls: pass\n"
        )
        self.assertEqual(out.strip(), "1 False")

    def test_callback(self):
        out = self.ends_well(BEGIN + IN_FLIGHT + "event.add_done_callback(lambda one: print('called', one.done()))\n")
        self.assertEqual(out.strip(), "called True")

    def test_callback_of_a_comm_without_a_name(self):
        out = self.ends_well(
            BEGIN + IN_FLIGHT + "event.add_done_callback(lambda one: print('called', one.done()))\n"
            "del comms, event\nimport gc\ngc.collect()\n"
        )
        self.assertEqual(out.strip(), "called True")

    def test_callback_that_keeps_the_comm(self):
        self.ends_well(BEGIN + IN_FLIGHT + "event.add_done_callback(lambda one, comms=comms: None)\n")

    def test_exception(self):
        status, out = run_program(BEGIN + IN_FLIGHT + "raise KeyError('the end')\n")
        self.assertEqual(status, 1)
        self.assertIn("the end", out)

    def test_daemon_thread(self):
        self.ends_well(
            BEGIN + "import threading, time\n"
            "threading.Thread(target=lambda: comms[0].allreduce(x, wait=False).wait(), daemon=True).start()\n"
            "comms[1].barrier(wait=False)\n"
        )

    def test_other_rank(self):
        """Rank 1 leaves; rank 0, who waits, is told at once."""
        out = self.ends_well(
            "import choir, numpy\n"
            "comm = choir.from_environment(deadline=30)\n"
            "if comm.rank == 0:\n"
            "    try:\n"
            "        comm.allreduce(numpy.ones(4))\n"
            "    except (choir.AbortedError, choir.PeerDeadError) as error:\n"
            "        print('told:', error)\n",
            2,
        )
        self.assertRegex(out, "told: .*rank 1")


if __name__ == "__main__":
    unittest.main()
