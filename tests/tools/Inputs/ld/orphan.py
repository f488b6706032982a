# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""orphan.py FOLDER COMMAND...: starts COMMAND, which must wait for the pipe FOLDER/pipe, in a process that is then
killed, and tells whether COMMAND outlived it."""
import os
import select
import signal
import sys

folder, command = sys.argv[1], sys.argv[2:]
os.mkfifo(f"{folder}/pipe")
end, alive = os.pipe()
parent = os.fork()
if parent == 0:
    os.close(end)
    os.set_inheritable(alive, True)
    if os.fork() == 0:
        os.execvp(command[0], command)
    os.close(alive)
    signal.pause()
os.close(alive)

writer = os.open(f"{folder}/pipe", os.O_WRONLY)  # returns when COMMAND has opened it to read
if select.select([end], [], [], 0)[0]:
    sys.exit("COMMAND ended before its parent did")
os.kill(parent, signal.SIGKILL)
os.waitpid(parent, 0)
ended = bool(select.select([end], [], [], 30)[0])
print("ended with its parent" if ended else "outlived its parent")
os.close(writer)
sys.exit(not ended)
