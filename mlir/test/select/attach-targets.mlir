// RUN: mlir-opt %s --pass-pipeline='builtin.module(kdl-attach-targets{targets=sm_70,sm_80,sm_90,sm_90a,sm_100f,sm_121,sm_90:ptx84,gfx942,gfx90a:sramecc-:xnack+,spirv,portable,host,host:x86-64-v4})' \
// RUN:   | FileCheck %s
// RUN: mlir-opt %s --pass-pipeline='builtin.module(kdl-attach-targets{targets=sm_60 O=1})' \
// RUN:   | FileCheck %s --check-prefix=LEVEL

// Each with the PTX version that introduced it.
// CHECK: gpu.module @none [#nvvm.target<O = 3, chip = "sm_70", features = "+ptx60">,
// CHECK-SAME: #nvvm.target<O = 3, chip = "sm_80", features = "+ptx70">,
// CHECK-SAME: #nvvm.target<O = 3, chip = "sm_90", features = "+ptx78">,
// CHECK-SAME: #nvvm.target<O = 3, chip = "sm_90a", features = "+ptx80">,
// CHECK-SAME: #nvvm.target<O = 3, chip = "sm_100f", features = "+ptx88">,
// CHECK-SAME: #nvvm.target<O = 3, chip = "sm_121", features = "+ptx88">,
// CHECK-SAME: #nvvm.target<O = 3, chip = "sm_90", features = "+ptx84">,
// CHECK-SAME: #rocdl.target<O = 3, chip = "gfx942">,
// CHECK-SAME: #rocdl.target<O = 3, chip = "gfx90a", features = "-sramecc,+xnack">,
// CHECK-SAME: #xevm.target<O = 3>,
// CHECK-SAME: #kdl.portable,
// CHECK-SAME: #kdl.host,
// CHECK-SAME: #kdl.host<arch = "x86-64-v4">]
// LEVEL: gpu.module @none [#nvvm.target<O = 1, chip = "sm_60", features = "+ptx60">]
gpu.module @none {}

// Existing targets stay, and are not added twice.
// CHECK: gpu.module @some [#rocdl.target<O = 3, chip = "gfx942">, #nvvm.target<O = 3, chip = "sm_70"
// CHECK-NOT: gfx942
gpu.module @some [#rocdl.target<O = 3, chip = "gfx942">] {}

// RUN: not mlir-opt %s --pass-pipeline='builtin.module(kdl-attach-targets)' 2>&1 \
// RUN:   | FileCheck %s --check-prefix=EMPTY
// EMPTY: error: kdl-attach-targets: found no targets, expected targets=sm_90,...

// RUN: not mlir-opt %s --pass-pipeline='builtin.module(kdl-attach-targets{targets=host O=4})' 2>&1 \
// RUN:   | FileCheck %s --check-prefix=HIGH
// HIGH: error: kdl-attach-targets: found O=4, expected 0 to 3

// RUN: not mlir-opt %s --pass-pipeline='builtin.module(kdl-attach-targets{targets=sm_90,h100})' 2>&1 \
// RUN:   | FileCheck %s --check-prefix=NAME -DNAME=h100 -DWHY=
// RUN: not mlir-opt %s --pass-pipeline='builtin.module(kdl-attach-targets{targets=sm_91})' 2>&1 \
// RUN:   | FileCheck %s --check-prefix=NAME -DNAME=sm_91 '-DWHY= of the unknown processor "sm_91"'
// RUN: not mlir-opt %s --pass-pipeline='builtin.module(kdl-attach-targets{targets=sm_55})' 2>&1 \
// RUN:   | FileCheck %s --check-prefix=NAME -DNAME=sm_55 '-DWHY= of the unknown processor "sm_55"'
// RUN: not mlir-opt %s --pass-pipeline='builtin.module(kdl-attach-targets{targets=sm_80a})' 2>&1 \
// RUN:   | FileCheck %s --check-prefix=NAME -DNAME=sm_80a '-DWHY= of the unknown processor "sm_80a"'
// RUN: not mlir-opt %s --pass-pipeline='builtin.module(kdl-attach-targets{targets=sm_90:84})' 2>&1 \
// RUN:   | FileCheck %s --check-prefix=NAME -DNAME=sm_90:84 -DWHY=
// RUN: not mlir-opt %s --pass-pipeline='builtin.module(kdl-attach-targets{targets=gfx90a:xnack})' 2>&1 \
// RUN:   | FileCheck %s --check-prefix=NAME -DNAME=gfx90a:xnack -DWHY=
// RUN: not mlir-opt %s --pass-pipeline='builtin.module(kdl-attach-targets{targets=gfx1})' 2>&1 \
// RUN:   | FileCheck %s --check-prefix=NAME -DNAME=gfx1 '-DWHY= of the unknown processor "gfx1"'
// RUN: not mlir-opt %s --pass-pipeline='builtin.module(kdl-attach-targets{targets=sm_90:ptx10})' 2>&1 \
// RUN:   | FileCheck %s --check-prefix=NAME -DNAME=sm_90:ptx10 '-DWHY= of a PTX version below ptx78, which introduced sm_90'
// RUN: not mlir-opt %s --pass-pipeline='builtin.module(kdl-attach-targets{targets=sm_90:ptx999})' 2>&1 \
// RUN:   | FileCheck %s --check-prefix=NAME -DNAME=sm_90:ptx999 '-DWHY= of a PTX version that LLVM does not know'
// NAME: error: kdl-attach-targets: found target "[[NAME]]"[[WHY]], expected one as sm_90, sm_90a, sm_90:ptx84, gfx942, gfx90a:xnack+, spirv, portable, host or host:x86-64-v4
