# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The kernel that sequence_peers.py has Warp launch: Warp reads it from a file of its own."""

import warp


@warp.kernel
def nothing(x: warp.array(dtype=float)):
    i = warp.tid()
