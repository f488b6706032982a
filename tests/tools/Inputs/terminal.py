# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""terminal.py COLUMNS COMMAND...: runs a command on a terminal of that width; prints what it sent."""
import fcntl
import os
import pty
import struct
import sys
import termios

pid, terminal = pty.fork()
if pid == 0:
    size = struct.pack("HHHH", 24, int(sys.argv[1]), 0, 0)
    fcntl.ioctl(1, termios.TIOCSWINSZ, size)
    os.execvp(sys.argv[2], sys.argv[2:])
sent = b""
while True:
    try:
        part = os.read(terminal, 4096)
    except OSError:  # the other side has closed
        break
    if not part:
        break
    sent += part
_, status = os.waitpid(pid, 0)
sys.stdout.buffer.write(sent.replace(b"\r\n", b"\n"))
sys.exit(os.waitstatus_to_exitcode(status))
