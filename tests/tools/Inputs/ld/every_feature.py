# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""every_feature.py FEATURES.def ARCH COMMAND...: runs the command with --for= a CPU of the ARCH and
every feature that the table has a token for. Nothing may be said on the way: LLVM tells of names
that it does not know, and goes on."""

import re
import subprocess
import sys

table, arch, *command = sys.argv[1:]
tokens = re.findall(r'KDL_\w+_FEATURE\(\w+, "([^"]+)"', open(table).read())
spec = f"host:{arch}+" + "+".join(tokens)
done = subprocess.run(command + [f"--for={spec}"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
print(len(tokens), "features:", done.stdout.decode() or "nothing was said")
sys.exit(done.returncode)
