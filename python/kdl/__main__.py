# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""python -m kdl: the command."""
from ._command import main

main()
