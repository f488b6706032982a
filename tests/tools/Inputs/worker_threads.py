# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""worker_threads.py COMMAND...: runs a command and prints the names of libkdl's threads that used CPU time in it, and its exit code."""
import glob
import subprocess
import sys
import time

seen = set()
process = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL)
while process.poll() is None:
    for task in glob.glob(f"/proc/{process.pid}/task/*"):
        try:
            with open(f"{task}/comm", encoding="utf-8") as name, open(f"{task}/schedstat", encoding="utf-8") as times:
                if int(times.read().split()[0]):
                    seen.add(name.read().strip())
        except (OSError, IndexError):
            pass  # it has ended
    time.sleep(0.002)
print(*sorted(name for name in seen if name.startswith("kdl-worker-")), f"exit {process.returncode}")
