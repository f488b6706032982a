// A toolkit that is named and has no ptxas is an error.
// RUN: not mlir-opt %s -o /dev/null --pass-pipeline='builtin.module(kdl-attach-targets{targets=sm_90},kdl-compile-targets{cuda-toolkit=/nonexistent})' 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: cuda-toolkit.mlir:[[#@LINE+26]]:3: error: cuda-toolkit: found no bin/ptxas in /nonexistent
// RUN: mlir-opt %s --pass-pipeline='builtin.module(kdl-attach-targets{targets=sm_90},kdl-compile-targets{cuda-toolkit=/nonexistent ptx=true})' | FileCheck %s --check-prefix=PTX
// PTX: assembly = "

// An architecture that ptxas does not know, as CUDA 13's does not know sm_70, is kept as PTX; the other targets keep their objects.
// RUN: rm -rf %t && mkdir -p %t/bin
// RUN: echo '#!/bin/sh' > %t/bin/ptxas
// RUN: echo 'case "$*" in *sm_70*) echo "ptxas fatal   : Value sm_70 is not defined for option '"'gpu-name'"'"; exit 1;; esac' >> %t/bin/ptxas
// RUN: echo 'while [ "$1" != -o ] && [ "$1" != --output-file ]; do shift; done; echo a cubin of $0 > "$2"' >> %t/bin/ptxas
// RUN: chmod +x %t/bin/ptxas
// RUN: mlir-opt %s --pass-pipeline='builtin.module(kdl-attach-targets{targets=sm_70,sm_90},kdl-compile-targets{cuda-toolkit=%t})' -o %t/out.mlir 2> %t/err
// RUN: FileCheck %s --check-prefix=KEPT --input-file=%t/out.mlir
// KEPT: chip = "sm_70"{{.*}}, assembly = "
// KEPT-SAME: .target sm_70
// KEPT-SAME: chip = "sm_90"
// KEPT-SAME: bin = "a cubin of
// RUN: FileCheck %s --check-prefix=SAID --input-file=%t/err
// SAID: warning: ptxas does not know sm_70: the object is PTX, which the driver compiles

// Other errors of ptxas stay errors.
// RUN: echo '#!/bin/sh' > %t/bin/ptxas
// RUN: echo 'echo "ptxas fatal: the disk is full"; exit 1' >> %t/bin/ptxas
// RUN: not mlir-opt %s -o /dev/null --pass-pipeline='builtin.module(kdl-attach-targets{targets=sm_70},kdl-compile-targets{cuda-toolkit=%t})' 2>&1 | FileCheck %s --check-prefix=FULL
// FULL: the disk is full

module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @twice(%y: memref<?xf32>) kernel {
      %i = gpu.block_id x
      %v = memref.load %y[%i] : memref<?xf32>
      %w = arith.addf %v, %v : f32
      memref.store %w, %y[%i] : memref<?xf32>
      gpu.return
    }
  }
}
