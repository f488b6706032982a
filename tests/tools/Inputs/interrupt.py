# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""interrupt.py SECONDS COMMAND...: what Ctrl-C does on a terminal after so many seconds: one SIGINT for the command
and every process that it started. Returns what the command returns."""
import os
import signal
import subprocess
import sys
import time

child = subprocess.Popen(sys.argv[2:], start_new_session=True)
time.sleep(float(sys.argv[1]))
os.killpg(child.pid, signal.SIGINT)
code = child.wait()
sys.exit(code if code >= 0 else 128 - code)
