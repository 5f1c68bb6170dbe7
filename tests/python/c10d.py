# SPDX-License-Identifier: MIT
"""torch's own tests of torch.distributed (torch.testing._internal.distributed.distributed_test), with the backend choir
in the place of gloo's, and of MPI's for all_to_all; each test on 3 processes.

usage: c10d.py [unittest's arguments]: without any, QUICK, or all of them if CHOIR_TEST_LONG is set.  C10D_AS=mpi: MPI's
tests, of which those of all_to_all apply (-k all_to_all).
"""

import atexit
import logging
import os
import shutil
import sys
import tempfile
import types
import unittest

AS = os.environ.get("C10D_AS", "gloo")  # whose tests
QUICK = """test_all_reduce_sum test_all_reduce_coalesced_min test_reduce_group_max test_all_gather_coalesced_with_empty
test_gather_group test_send_recv_with_tag test_batch_isend_irecv_gloo test_barrier_group""".split()
WHY_NOT = {
    "any_source": "recv from any source is not there",
    "monitored_barrier": "torch has it for gloo alone",
    "barrier_timeout": "the words of gloo's error",
    "get_backend": "the name gloo",
    "ddp_logging_data_cpu": "the name gloo",
}
# They import torch.distributed._shard, which Python 3.11 refuses in torch 1.13; with gloo too.
OLD_TORCH = """DistributedDataParallelCPU accumulate_gradients ddp_create_graph static_graph_api_cpu""".split()


def prepare():
    """What torch's module wants to find when it is imported."""
    folder = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, folder, True)
    for name in ("barrier", "test_dir", "init_dir"):
        os.mkdir(os.path.join(folder, name))
    os.environ.update(BACKEND=AS, WORLD_SIZE="3", TEMP_DIR=folder, INIT_METHOD="env://", MASTER_ADDR="127.0.0.1",
                      DISTRIBUTED_TESTS_DEFAULT_TIMEOUT="100")  # fmt: skip
    try:
        import expecttest  # noqa: F401
    except ImportError:  # these tests take its class, and set ACCEPT
        sys.modules["expecttest"] = types.SimpleNamespace(TestCase=unittest.TestCase, ACCEPT=False)


prepare()

try:
    import torch  # noqa: E402
    import torch.distributed as dist  # noqa: E402
    from torch.testing._internal.distributed import distributed_test  # noqa: E402
except ImportError as error:
    print(f"skipped: {error} (tools/check installs python3-torch)")
    sys.exit(77)

import choir.torch  # noqa: E402, F401

init_process_group, new_group = dist.init_process_group, dist.new_group


def init_with_choir(backend=None, *args, **kwargs):
    return init_process_group("choir" if backend == AS else backend, *args, **kwargs)


def new_group_of_choir(*args, backend=None, **kwargs):
    return new_group(*args, backend="choir" if backend == AS else backend, **kwargs)


dist.init_process_group, dist.new_group = init_with_choir, new_group_of_choir


class C10d(distributed_test.TestDistBackend, distributed_test.DistributedTest._DistTestBase):
    def setUp(self):
        name = self._testMethodName
        for part, reason in WHY_NOT.items():
            if part in name:
                self.skipTest(reason)
        if torch.__version__.startswith("1.") and any(part in name for part in OLD_TORCH):
            self.skipTest("torch 1.13 fails in it by itself")
        super().setUp()
        self._start_processes(torch.multiprocessing.get_context("fork").Process)


if __name__ == "__main__":
    logging.disable(logging.INFO)
    torch.set_num_threads(1)
    given = sys.argv[1:]
    if not given and not os.environ.get("CHOIR_TEST_LONG"):
        given = [f"C10d.{name}" for name in QUICK]
    unittest.main(argv=[sys.argv[0], *given], verbosity=2)
