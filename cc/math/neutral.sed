# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Takes out of IR which processor it is for.
/^target (datalayout|triple) = /d
/^!opencl\.ocl\.version = /d
s/ "target-(cpu|features)"="[^"]*"//g
s/ "frame-pointer"="[^"]*"//g
