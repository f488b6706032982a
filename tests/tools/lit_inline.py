# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""lit_inline.py LIT ARGUMENT...: runs lit without its pool of worker processes.

CTest runs one test at a time through lit, so a pool gains nothing; and Python's needs semaphores,
that is, a /dev/shm to write to, which an unprivileged build in a bare chroot does not have.

Nor does it keep the times of tests: several lits at once would read and write one file, and one
that reads half a line ends there.
"""

import multiprocessing
import runpy
import sys
import types


class Done:
    def __init__(self, value):
        self.value = value

    def get(self, timeout=None):
        return self.value


class InlinePool:
    def __init__(self, processes, initializer, initargs):
        initializer(*initargs)

    def apply_async(self, func, args, callback):
        value = func(*args)
        callback(value)
        return Done(value)

    def close(self):
        pass

    terminate = join = close


times = types.ModuleType("lit.TestTimes")
times.read_test_times = lambda suite, lit_config=None: {} # LLVM 24 passes the second
times.record_test_times = lambda tests, lit_config: None

multiprocessing.Pool = InlinePool
sys.modules["lit.TestTimes"] = times
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
