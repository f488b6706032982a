# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""split_interrupted.py FILE FOLDER: ends `kdl split FILE -o FOLDER` by signals, while it fills the folder beside FOLDER: nothing may be
left of that."""
import glob
import os
import signal
import subprocess
import sys

file, folder = sys.argv[1:]
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, signal.SIG_DFL)  # by lit: what is started here shall not ignore them
    for _ in range(100):  # it may be done before the signal comes
        process = subprocess.Popen(["kdl", "split", file, "-o", folder], stdout=subprocess.DEVNULL)
        while process.poll() is None and not glob.glob(folder + "*"):
            pass
        process.send_signal(number)
        code = process.wait()
        left = glob.glob(folder + ".*")
        if left:
            sys.exit(f"signal {number}: exit code {code}, left: {left}")
        if code == -number:
            break
        for name in os.listdir(folder):
            os.unlink(os.path.join(folder, name))
        os.rmdir(folder)
    else:
        sys.exit(f"signal {number}: it never ended by it")
