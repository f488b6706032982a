# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Removes from IR the processor that it is for.
/^target (datalayout|triple) = /d
/^!opencl\.ocl\.version = /d
s/ "target-(cpu|features)"="[^"]*"//g
s/ "frame-pointer"="[^"]*"//g
# Functions that cc/math/library.c defines in place of libdevice's.
s/^define (dso_local |hidden )*(.*)@__nv_/define internal \2@__nv_/
s/@__nv_/@kdl_nv_/g
