// Loops on tensors over the same number of blocks are fused if they are independent, and each writes to its own buffer.
// RUN: mlir-opt %s --pass-pipeline='builtin.module(kdl-fuse-foralls)' -split-input-file | FileCheck %s

// CHECK-LABEL: func.func @siblings(
// CHECK-DAG: %[[A:.*]] = tensor.empty() : tensor<4xf32>
// CHECK-DAG: %[[B:.*]] = tensor.empty() : tensor<4xf32>
// CHECK: %[[R:.*]]:2 = scf.forall (%{{.*}}) in (4) shared_outs(%{{.*}} = %[[A]], %{{.*}} = %[[B]])
// CHECK: math.exp
// CHECK: math.tanh
// CHECK: scf.forall.in_parallel
// CHECK-COUNT-2: tensor.parallel_insert_slice
// CHECK: %[[T:.*]] = linalg.map { math.exp } ins(%[[R]]#0
// CHECK: %[[U:.*]] = linalg.map { math.exp } ins(%[[R]]#1
// CHECK-NOT: scf.forall
// CHECK: return %[[T]], %[[U]]
func.func @siblings(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %e = tensor.empty() : tensor<4xf32>
  %a = scf.forall (%i) in (4) shared_outs(%o = %e) -> (tensor<4xf32>) {
    %0 = tensor.extract %x[%i] : tensor<4xf32>
    %1 = math.exp %0 : f32
    %2 = tensor.from_elements %1 : tensor<1xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %2 into %o[%i] [1] [1] : tensor<1xf32> into tensor<4xf32>
    }
  }
  %t = linalg.map { math.exp } ins(%a : tensor<4xf32>) outs(%e : tensor<4xf32>)
  %y = tensor.cast %x : tensor<4xf32> to tensor<?xf32>
  %b = scf.forall (%i) in (4) shared_outs(%o = %e) -> (tensor<4xf32>) {
    %0 = tensor.extract %y[%i] : tensor<?xf32>
    %1 = math.tanh %0 : f32
    %2 = tensor.from_elements %1 : tensor<1xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %2 into %o[%i] [1] [1] : tensor<1xf32> into tensor<4xf32>
    }
  }
  %u = linalg.map { math.exp } ins(%b : tensor<4xf32>) outs(%e : tensor<4xf32>)
  return %t, %u : tensor<4xf32>, tensor<4xf32>
}

// -----

// A loop that needs the other's result, through an operation between them, or has another number of blocks, stays.
// CHECK-LABEL: func.func @apart(
// CHECK: scf.forall (%{{.*}}) in (4)
// CHECK: linalg.map { math.exp }
// CHECK: scf.forall (%{{.*}}) in (4)
// CHECK: scf.forall (%{{.*}}) in (2)
// CHECK: return
func.func @apart(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %e = tensor.empty() : tensor<4xf32>
  %a = scf.forall (%i) in (4) shared_outs(%o = %e) -> (tensor<4xf32>) {
    %0 = tensor.extract_slice %x[%i] [1] [1] : tensor<4xf32> to tensor<1xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %0 into %o[%i] [1] [1] : tensor<1xf32> into tensor<4xf32>
    }
  }
  %t = linalg.map { math.exp } ins(%a : tensor<4xf32>) outs(%e : tensor<4xf32>)
  %b = scf.forall (%i) in (4) shared_outs(%o = %e) -> (tensor<4xf32>) {
    %0 = tensor.extract_slice %t[%i] [1] [1] : tensor<4xf32> to tensor<1xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %0 into %o[%i] [1] [1] : tensor<1xf32> into tensor<4xf32>
    }
  }
  %c = scf.forall (%i) in (2) shared_outs(%o = %e) -> (tensor<4xf32>) {
    %0 = tensor.extract_slice %x[%i] [1] [1] : tensor<4xf32> to tensor<1xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %0 into %o[%i] [1] [1] : tensor<1xf32> into tensor<4xf32>
    }
  }
  return %b, %c : tensor<4xf32>, tensor<4xf32>
}

// A load does not pass the store before it.
// CHECK-LABEL: func.func @memory(
// CHECK: scf.forall
// CHECK: memref.store
// CHECK: memref.load
// CHECK: scf.forall
func.func @memory(%a: tensor<64xf32>, %c: memref<f32>, %x: f32) -> (tensor<64xf32>, tensor<64xf32>) {
  %e = tensor.empty() : tensor<64xf32>
  %r = scf.forall (%i) in (8) shared_outs(%o = %e) -> (tensor<64xf32>) {
    %at = affine.apply affine_map<(d0) -> (d0 * 8)>(%i)
    %s = tensor.extract_slice %a[%at] [8] [1] : tensor<64xf32> to tensor<8xf32>
    scf.forall.in_parallel { tensor.parallel_insert_slice %s into %o[%at] [8] [1] : tensor<8xf32> into tensor<64xf32> }
  }
  memref.store %x, %c[] : memref<f32>
  %v = memref.load %c[] : memref<f32>
  %e2 = tensor.empty() : tensor<64xf32>
  %f = linalg.fill ins(%v : f32) outs(%e2 : tensor<64xf32>) -> tensor<64xf32>
  %r2 = scf.forall (%i) in (8) shared_outs(%o = %e2) -> (tensor<64xf32>) {
    %at = affine.apply affine_map<(d0) -> (d0 * 8)>(%i)
    %s = tensor.extract_slice %f[%at] [8] [1] : tensor<64xf32> to tensor<8xf32>
    scf.forall.in_parallel { tensor.parallel_insert_slice %s into %o[%at] [8] [1] : tensor<8xf32> into tensor<64xf32> }
  }
  return %r, %r2 : tensor<64xf32>, tensor<64xf32>
}
