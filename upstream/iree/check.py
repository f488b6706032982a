# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# check.py FOLDER: runs FOLDER/m.vmfb and compares the product with NumPy's.
import sys
import numpy as np
import iree.runtime as rt

config = rt.Config("local-sync")
context = rt.SystemContext(config=config)
context.add_vm_module(rt.VmModule.mmap(context.instance, sys.argv[1] + "/m.vmfb"))
random = np.random.default_rng(1)
a = random.integers(-3, 4, (480, 512)).astype(np.float32)
b = random.integers(-3, 4, (512, 512)).astype(np.float32)
lhs = np.ascontiguousarray(a.reshape(80, 6, 512).transpose(0, 2, 1))
rhs = np.ascontiguousarray(b.reshape(512, 32, 16).transpose(1, 0, 2))
acc = np.ones((80, 32, 6, 16), np.float32)
out = context.modules.module.run(lhs, rhs, acc).to_host()
wrong = np.count_nonzero(out.transpose(0, 2, 1, 3).reshape(480, 512) != a @ b + 1)
print(f"{wrong} of {480 * 512} values are wrong")
sys.exit(1 if wrong else 0)
