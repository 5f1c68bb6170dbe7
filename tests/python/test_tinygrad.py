# SPDX-License-Identifier: MIT
"""tinygrad's tensors on CL, two processes: gradients reduced on its queue, and what is refused."""

import os
import sys
import unittest
from pathlib import Path

from ranks import run_program

EXAMPLE = Path(__file__).parents[2] / "tools" / "python" / "examples" / "tinygrad_net.py"

sys.path.insert(0, str(EXAMPLE.parent))
from find_clang import find_clang  # noqa: E402

find_clang()

PROGRAM = """
import os
os.environ.update(DEV="CL", PARALLEL="0")
import numpy as np
import choir, choir.tinygrad
from choir._arrays import operand
from tinygrad import Tensor

def refused(tensor, words):
    try:
        operand(tensor)
    except choir.ArgumentError as error:
        assert words in str(error), error
    else:
        raise AssertionError(words)

with choir.from_environment(device=choir.tinygrad.device(), deadline=60) as comm:
    parameters = [Tensor(np.zeros((3, 4), np.float32)).realize(), Tensor(np.zeros(1000, np.float32)).realize()]
    for number, one in enumerate(parameters):
        one.grad = Tensor(np.full(one.shape, comm.rank + 1 + number, np.float32)).realize()
    event = choir.tinygrad.allreduce_gradients(comm, parameters + [Tensor(np.zeros(3))], "sum")
    stepped = (parameters[0] - parameters[0].grad).numpy()  # a kernel behind the collective
    assert event.exception() is None and (stepped == -3).all(), stepped
    assert (parameters[1].grad.numpy() == 5).all()
    comm.allreduce(parameters[1].grad)
    assert (parameters[1].grad.numpy() == 10).all()
    assert operand(parameters[0].reshape(12)).count == 12
    refused(parameters[0] + 1, "not realized")
    refused(parameters[0].T, "one after another")
    refused(parameters[0][1:2, 1:3], "one after another")
    print(f"rank {comm.rank} passed\\n", end="")
"""


# The example, and a trace of the OpenCL calls of the thread that trains: the first two steps capture kernels.
TRACED = """
import sys
sys.path[:0] = EXAMPLES
import tinygrad_net
from ranks import host_waits

waited, step = [], tinygrad_net.Choir.step

def traced_step(net, images, labels):
    before = host_waits()
    result = step(net, images, labels)
    waited.append(host_waits() - before)
    return result

tinygrad_net.Choir.step = traced_step
sys.argv[1:] = "--turns 1 --steps 5 --rows 8".split()
status = tinygrad_net.main()
assert waited[2:] == [0, 0, 0], f"the host waited in backward, allreduce and update: {waited}"
assert host_waits() >= 5, "no wait is counted"  # each loss is read
sys.exit(status)
"""

# Whose turn it is, without training.
ORDER = """
import sys
sys.path[:0] = EXAMPLES
import tinygrad_net

order = []
tinygrad_net.show_all_devices = lambda: None
tinygrad_net.Itself = type("Itself", (), {"__init__": lambda self, devices: None})
tinygrad_net.train = lambda net, given, turn: order.append(type(net).__name__) or (1.0, [0.0])
sys.argv[1:] = ["--turns", "3"]
assert tinygrad_net.main() == 0
print(*order)
"""

ON_CPU = """
import os
os.environ.update(DEV="CPU", PARALLEL="0")
import numpy as np
import choir, choir.tinygrad
from tinygrad import Tensor

with choir.from_environment(deadline=60) as comm:
    one = Tensor(np.zeros((3, 4), np.float32)).realize()
    one.grad = Tensor(np.full((3, 4), comm.rank + 1, np.float32)).realize()
    event = choir.tinygrad.allreduce_gradients(comm, [one])
    assert event.exception() is None and (one.grad.numpy() == 1.5).all(), one.grad.numpy()
    other = one.to("CPU:1").realize()
    choir.tinygrad.allreduce(comm, [other], "sum")
    assert (other.numpy() == 0).all()
    two = Tensor(np.ones((4, 2), np.float32)).realize()
    for tensors, words in (
        ([], "no device"),
        ([one, other], "CPU, CPU:1: they must be on one"),
        ([one + 1], "not realized"),
        ([one.T], "one after another"),
        ([two.shard(("CPU:1", "CPU:2"), axis=0).realize()], "sharded over CPU:1, CPU:2"),
        ([two.shard(("CPU:1", "CPU:2")).realize()], "sharded over CPU:1, CPU:2"),
        ([one.to("PYTHON").realize()], "on PYTHON: choir takes those on CL and CPU"),
    ):
        try:
            choir.tinygrad.allreduce(comm, tensors)
        except (choir.ArgumentError, choir.UnsupportedError) as error:
            assert words in str(error), error
        else:
            raise AssertionError(words)
    print(f"rank {comm.rank} passed\\n", end="")
"""


class Tinygrad(unittest.TestCase):
    def test_gradients(self):
        status, out = run_program(PROGRAM, 2, timeout=250)
        self.assertEqual((status, sorted(out.splitlines())), (0, ["rank 0 passed", "rank 1 passed"]), out)

    def test_on_cpu(self):
        status, out = run_program(ON_CPU, 2, timeout=250)
        self.assertEqual((status, sorted(out.splitlines())), (0, ["rank 0 passed", "rank 1 passed"]), out)

    def test_net(self):
        """Weights equal to the bit on both ranks, losses as of tinygrad's own sharding and one rank; no host wait."""
        env = dict(DEV="CL", PARALLEL="0", POCL_DEVICES="pthread pthread", POCL_MAX_PTHREAD_COUNT="1",
                   OPENCL_LAYERS=os.environ["CHOIR_TEST_WAITS"])  # fmt: skip
        program = TRACED.replace("EXAMPLES", repr([str(EXAMPLE.parent), str(Path(__file__).parent)]))
        status, out = run_program(program, 2, timeout=400, env=env)
        self.assertEqual(status, 0, out)
        self.assertIn("equal to the bit", out)

    def test_net_takes_turns(self):
        """Who trains first finds the machine as the other has left it."""
        program = ORDER.replace("EXAMPLES", repr([str(EXAMPLE.parent)]))
        status, out = run_program(program, timeout=100, env=dict(DEV="CL", PARALLEL="0", RANK="0", WORLD_SIZE="1"))
        self.assertEqual(status, 0, out)
        self.assertEqual(out.splitlines()[-1], "Choir Itself Alone Itself Choir Choir Itself")


if __name__ == "__main__":
    unittest.main()
