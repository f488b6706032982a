# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Removes from IR the processor that it is for.
/^target (datalayout|triple) = /d
/^!opencl\.ocl\.version = /d
s/ "target-(cpu|features)"="[^"]*"//g
s/ "frame-pointer"="[^"]*"//g
