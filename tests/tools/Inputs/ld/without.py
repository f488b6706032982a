# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""without.py NUMBER... -- COMMAND...: runs the command where system calls of these numbers fail as
on a kernel that does not have them."""
import ctypes
import errno
import os
import struct
import sys

split = sys.argv.index("--")
numbers = [int(word) for word in sys.argv[1:split]]


def step(code, value, yes=0, no=0):
    return struct.pack("HBBI", code, yes, no, value)


steps = [step(0x20, 0)]  # the system call's number
for place, number in enumerate(numbers):
    steps.append(step(0x15, number, len(numbers) - place, 0))
steps.append(step(0x06, 0x7FFF0000))  # allowed
steps.append(step(0x06, 0x00050000 | errno.ENOSYS))
code = ctypes.create_string_buffer(b"".join(steps))


class Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("steps", ctypes.c_void_p)]


program = Program(len(steps), ctypes.addressof(code))
libc = ctypes.CDLL(None, use_errno=True)
no_new_privileges, seccomp, filter_mode = 38, 22, 2
libc.prctl(no_new_privileges, 1, 0, 0, 0)
if libc.prctl(seccomp, filter_mode, ctypes.byref(program), 0, 0) != 0:
    sys.exit("without.py: this kernel has no seccomp filters")
os.execvp(sys.argv[split + 1], sys.argv[split + 1:])
