# SPDX-License-Identifier: MIT
"""docs/launching.md and docs/troubleshooting.md say what happens: their commands are run, their sentences compared."""

import os
import re
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

from meetings import free_port
from test_launch import have_mpi

ROOT = Path(__file__).parents[2]


def blocks(page, kind):
    """The fenced blocks of a page of docs/."""
    return re.findall(rf"```{kind}\n(.*?)```", (ROOT / "docs" / page).read_text(), flags=re.S)


def run(command, **env):
    """A shell's output, from the project's folder, with this Python as python."""
    done = subprocess.run(
        ["sh", "-ec", f'python() {{ "{sys.executable}" "$@"; }}\n{command}'], cwd=ROOT, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, timeout=100, env=dict(os.environ, **env),
    )  # fmt: skip
    return done.returncode, done.stdout


class Launching(unittest.TestCase):
    def check(self, command, transport="[a-z ]+", **env):
        status, out = run(command, **env)
        self.assertEqual(status, 0, out)
        lines = sorted(line for line in out.splitlines() if line.startswith("rank "))
        self.assertEqual(len(lines), 2, out)
        for rank, line in enumerate(lines):
            self.assertRegex(line, rf"^rank {rank} of 2: 3; nodes \[2\] by {transport}; \d+ cores$")

    def test_module(self):
        lines = [line for block in blocks("launching.md", "sh") for line in block.splitlines()]
        found = [line for line in lines if line.endswith("python -m choir -n 2 docs/examples/launched.py")]
        self.assertEqual(len(found), 2)
        for line in found:
            self.check(line)

    def test_shell_loop(self):
        (found,) = [block for block in blocks("launching.md", "sh") if "RANK=0 python" in block]
        self.check(found.replace("29400", str(free_port())))

    def test_slurm_variables(self):
        each = "SLURM_PROCID={0} python docs/examples/launched.py"
        self.check(f"{each.format(0)} & {each.format(1)}; wait", SLURM_NTASKS="2", SLURM_STEP_ID="0",
                   MASTER_ADDR="127.0.0.1", MASTER_PORT=str(free_port()), CHOIR_SECRET="0123456789abcdef")  # fmt: skip

    @unittest.skipUnless(have_mpi() and shutil.which("mpiexec.mpich"), "there is no libchoir-mpi, or no mpiexec")
    def test_mpiexec(self):
        lines = [line for block in blocks("launching.md", "sh") for line in block.splitlines()]
        (found,) = [line for line in lines if line.startswith("mpiexec") and "launched.py" in line]
        self.check(found.replace(" python ", f" {sys.executable} "))

    def test_variables_exist(self):
        """What the pages call variables are read by somebody."""
        known = subprocess.run(
            ["grep", "-rhoE", r"\bCHOIR_[A-Z_]+\b", "src", "tools/python/choir"], cwd=ROOT, text=True,
            stdout=subprocess.PIPE,
        ).stdout.split()  # fmt: skip
        for page in ("launching.md", "troubleshooting.md"):
            for name in re.findall(r"\bCHOIR_[A-Z_]+\b", (ROOT / "docs" / page).read_text()):
                self.assertIn(name, known)


def told_by_either(line):
    """A sentence about calls that differ, without which of the two ranks found it: either may be the first."""
    return sorted(re.findall(r"rank \d calls .*?\)", line)) or line


class Troubleshooting(unittest.TestCase):
    def test_sentences(self):
        status, out = run("python docs/examples/trouble.py")
        self.assertEqual(status, 0, out)
        said = [re.sub(r"after \d+\.\d s", "after 1.0 s", line.strip()) for line in out.splitlines()]
        quoted = [
            line for block in blocks("troubleshooting.md", "") for line in re.sub(r"\n +", " ", block).splitlines()
        ]
        self.assertEqual(len(quoted), 4)
        for line in quoted:
            self.assertIn(told_by_either(line), map(told_by_either, said))

    def test_sentences_of_the_sources(self):
        """Those that need another MPI or launcher are at least the ones in the sources."""
        sources = "".join(path.read_text() for path in (ROOT / "src" / "mpi").glob("*.c"))
        sources += "".join(path.read_text() for path in (ROOT / "tools" / "python" / "choir").glob("*.py"))
        for words in ("MPI's world is this process alone, but", "srun offered no PMI",
                      "this mpi4py was built with Open MPI", "cannot be loaded",
                      "has initialised MPI itself or under mpiexec"):  # fmt: skip
            self.assertIn(words, (ROOT / "docs" / "troubleshooting.md").read_text())
            self.assertIn(words, sources)


if __name__ == "__main__":
    unittest.main()
