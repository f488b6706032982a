# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""truncate_while_read.py FILE FIFO: extracts image 0 of FILE into FIFO and truncates FILE between
the moment the image is mapped and the moment it is copied."""
import os
import subprocess
import sys
import time

library, fifo = sys.argv[1:]
os.mkfifo(fifo)
kdl = subprocess.Popen(["kdl", "extract", library, "--image=0", "-o", fifo], stderr=subprocess.PIPE)
# kdl opens the pipe after it has mapped the image, and waits there for a reader.
while True:
    if kdl.poll() is not None:
        sys.exit(f"kdl ended early: {kdl.stderr.read().decode()}")
    with open(f"/proc/{kdl.pid}/maps") as maps:
        mapped = os.path.realpath(library) in maps.read()
    if mapped:
        break
    time.sleep(0.01)
time.sleep(0.1)
os.truncate(library, 0)
with open(fifo, "rb") as reader:
    reader.read()
message = kdl.stderr.read().decode()
code = kdl.wait()
print(f"exit code {code}")
print(message, end="")
