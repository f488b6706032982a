# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""processes.py left COMMAND...: runs COMMAND and prints whether a process that it started outlived it.
processes.py died PIPE COMMAND...: starts COMMAND, which must wait for PIPE, kills the last process in the chain that it
started by SIGKILL, and prints how COMMAND ended.
processes.py user COMMAND...: runs COMMAND as a user that is not root, or ends with 77 where that one cannot reach it."""
import os
import select
import shutil
import signal
import subprocess
import sys


def left(command):
    end, held = os.pipe()
    os.set_inheritable(held, True)
    ran = subprocess.run(command, close_fds=False)
    os.close(held)
    gone = bool(select.select([end], [], [], 30)[0])
    print("status", ran.returncode, "and nothing left" if gone else "and a process left")
    return not gone


def last_child(process):
    with open(f"/proc/{process}/task/{process}/children") as file:
        children = file.read().split()
    return last_child(children[-1]) if children else int(process)


def died(pipe, command):
    os.mkfifo(pipe)
    started = subprocess.Popen(command)
    writer = os.open(pipe, os.O_WRONLY)  # returns when COMMAND has opened it to read
    os.kill(last_child(started.pid), signal.SIGKILL)
    print("ended with", started.wait())
    os.close(writer)
    return 0


def user(command):
    if os.getuid() == 0:
        os.setgroups([])
        os.setresgid(65534, 65534, 65534)
        os.setresuid(65534, 65534, 65534)
    path = shutil.which(command[0])
    return subprocess.run(command).returncode if path and os.access(".", os.R_OK | os.X_OK) else 77


if sys.argv[1] == "user":
    sys.exit(user(sys.argv[2:]))
sys.exit(left(sys.argv[2:]) if sys.argv[1] == "left" else died(sys.argv[2], sys.argv[3:]))
