func.func @block(%x_m: memref<64x128xf32>, %gain1_m: memref<128xf32>, %shift1_m: memref<128xf32>, %wq_m: memref<128x128xf32>, %wk_m: memref<128x128xf32>, %wv_m: memref<128x128xf32>, %wo_m: memref<128x128xf32>, %bo_m: memref<128xf32>, %gain2_m: memref<128xf32>, %shift2_m: memref<128xf32>, %w1_m: memref<128x512xf32>, %b1_m: memref<512xf32>, %w2_m: memref<512x128xf32>, %b2_m: memref<128xf32>, %out_m: memref<64x128xf32>) attributes {llvm.emit_c_interface} {
  %x = bufferization.to_tensor %x_m restrict : memref<64x128xf32> to tensor<64x128xf32>
  %gain1 = bufferization.to_tensor %gain1_m restrict : memref<128xf32> to tensor<128xf32>
  %shift1 = bufferization.to_tensor %shift1_m restrict : memref<128xf32> to tensor<128xf32>
  %wq = bufferization.to_tensor %wq_m restrict : memref<128x128xf32> to tensor<128x128xf32>
  %wk = bufferization.to_tensor %wk_m restrict : memref<128x128xf32> to tensor<128x128xf32>
  %wv = bufferization.to_tensor %wv_m restrict : memref<128x128xf32> to tensor<128x128xf32>
  %wo = bufferization.to_tensor %wo_m restrict : memref<128x128xf32> to tensor<128x128xf32>
  %bo = bufferization.to_tensor %bo_m restrict : memref<128xf32> to tensor<128xf32>
  %gain2 = bufferization.to_tensor %gain2_m restrict : memref<128xf32> to tensor<128xf32>
  %shift2 = bufferization.to_tensor %shift2_m restrict : memref<128xf32> to tensor<128xf32>
  %w1 = bufferization.to_tensor %w1_m restrict : memref<128x512xf32> to tensor<128x512xf32>
  %b1 = bufferization.to_tensor %b1_m restrict : memref<512xf32> to tensor<512xf32>
  %w2 = bufferization.to_tensor %w2_m restrict : memref<512x128xf32> to tensor<512x128xf32>
  %b2 = bufferization.to_tensor %b2_m restrict : memref<128xf32> to tensor<128xf32>
  %v1 = arith.constant 1.280000000e+02 : f32
  %v2 = arith.constant 1.000000000e-05 : f32
  %v3 = tensor.empty() : tensor<64xf32>
  %v4 = arith.constant 0.000000000e+00 : f32
  %v5 = linalg.fill ins(%v4 : f32) outs(%v3 : tensor<64xf32>) -> tensor<64xf32>
  %v6 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<64x128xf32>) outs(%v5 : tensor<64xf32>) {
  ^bb0(%a0: f32, %a1: f32):
    %s = arith.addf %a0, %a1 : f32
    linalg.yield %s : f32
  } -> tensor<64xf32>
  %v7 = tensor.empty() : tensor<64x128xf32>
  %v8 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%x, %v6 : tensor<64x128xf32>, tensor<64xf32>) outs(%v7 : tensor<64x128xf32>) {
  ^bb0(%a0: f32, %a1: f32, %a2: f32):
    %m = arith.divf %a1, %v1 : f32
    %s = arith.subf %a0, %m : f32
    linalg.yield %s : f32
  } -> tensor<64x128xf32>
  %v9 = tensor.empty() : tensor<64x128xf32>
  %v10 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v8 : tensor<64x128xf32>) outs(%v9 : tensor<64x128xf32>) {
  ^bb0(%a0: f32, %a1: f32):
    %s = arith.mulf %a0, %a0 : f32
    linalg.yield %s : f32
  } -> tensor<64x128xf32>
  %v11 = tensor.empty() : tensor<64xf32>
  %v12 = arith.constant 0.000000000e+00 : f32
  %v13 = linalg.fill ins(%v12 : f32) outs(%v11 : tensor<64xf32>) -> tensor<64xf32>
  %v14 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%v10 : tensor<64x128xf32>) outs(%v13 : tensor<64xf32>) {
  ^bb0(%a0: f32, %a1: f32):
    %s = arith.addf %a0, %a1 : f32
    linalg.yield %s : f32
  } -> tensor<64xf32>
  %v15 = tensor.empty() : tensor<64x128xf32>
  %v16 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v8, %v14, %gain1, %shift1 : tensor<64x128xf32>, tensor<64xf32>, tensor<128xf32>, tensor<128xf32>) outs(%v15 : tensor<64x128xf32>) {
  ^bb0(%a0: f32, %a1: f32, %a2: f32, %a3: f32, %a4: f32):
    %v = arith.divf %a1, %v1 : f32
    %e = arith.addf %v, %v2 : f32
    %r = math.rsqrt %e : f32
    %n = arith.mulf %a0, %r : f32
    %g = arith.mulf %n, %a2 : f32
    %s = arith.addf %g, %a3 : f32
    linalg.yield %s : f32
  } -> tensor<64x128xf32>
  %v17 = tensor.empty() : tensor<64x128xf32>
  %v18 = arith.constant 0.000000000e+00 : f32
  %v19 = linalg.fill ins(%v18 : f32) outs(%v17 : tensor<64x128xf32>) -> tensor<64x128xf32>
  %v20 = linalg.matmul ins(%v16, %wq : tensor<64x128xf32>, tensor<128x128xf32>) outs(%v19 : tensor<64x128xf32>) -> tensor<64x128xf32>
  %v21 = tensor.expand_shape %v20 [[0], [1, 2]] output_shape [64, 4, 32] : tensor<64x128xf32> into tensor<64x4x32xf32>
  %v23 = tensor.empty() : tensor<4x64x32xf32>
  %v22 = linalg.transpose ins(%v21 : tensor<64x4x32xf32>) outs(%v23 : tensor<4x64x32xf32>) permutation = [1, 0, 2]
  %v24 = tensor.empty() : tensor<64x128xf32>
  %v25 = arith.constant 0.000000000e+00 : f32
  %v26 = linalg.fill ins(%v25 : f32) outs(%v24 : tensor<64x128xf32>) -> tensor<64x128xf32>
  %v27 = linalg.matmul ins(%v16, %wk : tensor<64x128xf32>, tensor<128x128xf32>) outs(%v26 : tensor<64x128xf32>) -> tensor<64x128xf32>
  %v28 = tensor.expand_shape %v27 [[0], [1, 2]] output_shape [64, 4, 32] : tensor<64x128xf32> into tensor<64x4x32xf32>
  %v30 = tensor.empty() : tensor<4x64x32xf32>
  %v29 = linalg.transpose ins(%v28 : tensor<64x4x32xf32>) outs(%v30 : tensor<4x64x32xf32>) permutation = [1, 0, 2]
  %v31 = tensor.empty() : tensor<64x128xf32>
  %v32 = arith.constant 0.000000000e+00 : f32
  %v33 = linalg.fill ins(%v32 : f32) outs(%v31 : tensor<64x128xf32>) -> tensor<64x128xf32>
  %v34 = linalg.matmul ins(%v16, %wv : tensor<64x128xf32>, tensor<128x128xf32>) outs(%v33 : tensor<64x128xf32>) -> tensor<64x128xf32>
  %v35 = tensor.expand_shape %v34 [[0], [1, 2]] output_shape [64, 4, 32] : tensor<64x128xf32> into tensor<64x4x32xf32>
  %v37 = tensor.empty() : tensor<4x64x32xf32>
  %v36 = linalg.transpose ins(%v35 : tensor<64x4x32xf32>) outs(%v37 : tensor<4x64x32xf32>) permutation = [1, 0, 2]
  %v38 = tensor.empty() : tensor<4x64x64xf32>
  %v39 = arith.constant 0.000000000e+00 : f32
  %v40 = linalg.fill ins(%v39 : f32) outs(%v38 : tensor<4x64x64xf32>) -> tensor<4x64x64xf32>
  %v41 = linalg.batch_matmul indexing_maps = [affine_map<(b, m, n, k) -> (b, m, k)>, affine_map<(b, m, n, k) -> (b, n, k)>, affine_map<(b, m, n, k) -> (b, m, n)>] ins(%v22, %v29 : tensor<4x64x32xf32>, tensor<4x64x32xf32>) outs(%v40 : tensor<4x64x64xf32>) -> tensor<4x64x64xf32>
  %v42 = arith.constant 1.767766923e-01 : f32
  %v43 = tensor.empty() : tensor<4x64x64xf32>
  %v44 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%v41 : tensor<4x64x64xf32>) outs(%v43 : tensor<4x64x64xf32>) {
  ^bb0(%a0: f32, %a1: f32):
    %s = arith.mulf %a0, %v42 : f32
    linalg.yield %s : f32
  } -> tensor<4x64x64xf32>
  %v45 = tensor.empty() : tensor<4x64xf32>
  %v46 = arith.constant -1.000000000e+30 : f32
  %v47 = linalg.fill ins(%v46 : f32) outs(%v45 : tensor<4x64xf32>) -> tensor<4x64xf32>
  %v48 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%v44 : tensor<4x64x64xf32>) outs(%v47 : tensor<4x64xf32>) {
  ^bb0(%a0: f32, %a1: f32):
    %s = arith.maximumf %a0, %a1 : f32
    linalg.yield %s : f32
  } -> tensor<4x64xf32>
  %v49 = tensor.empty() : tensor<4x64x64xf32>
  %v50 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%v44, %v48 : tensor<4x64x64xf32>, tensor<4x64xf32>) outs(%v49 : tensor<4x64x64xf32>) {
  ^bb0(%a0: f32, %a1: f32, %a2: f32):
    %d = arith.subf %a0, %a1 : f32
    %s = math.exp %d : f32
    linalg.yield %s : f32
  } -> tensor<4x64x64xf32>
  %v51 = tensor.empty() : tensor<4x64xf32>
  %v52 = arith.constant 0.000000000e+00 : f32
  %v53 = linalg.fill ins(%v52 : f32) outs(%v51 : tensor<4x64xf32>) -> tensor<4x64xf32>
  %v54 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%v50 : tensor<4x64x64xf32>) outs(%v53 : tensor<4x64xf32>) {
  ^bb0(%a0: f32, %a1: f32):
    %s = arith.addf %a0, %a1 : f32
    linalg.yield %s : f32
  } -> tensor<4x64xf32>
  %v55 = tensor.empty() : tensor<4x64x64xf32>
  %v56 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%v50, %v54 : tensor<4x64x64xf32>, tensor<4x64xf32>) outs(%v55 : tensor<4x64x64xf32>) {
  ^bb0(%a0: f32, %a1: f32, %a2: f32):
    %s = arith.divf %a0, %a1 : f32
    linalg.yield %s : f32
  } -> tensor<4x64x64xf32>
  %v57 = tensor.empty() : tensor<4x64x32xf32>
  %v58 = arith.constant 0.000000000e+00 : f32
  %v59 = linalg.fill ins(%v58 : f32) outs(%v57 : tensor<4x64x32xf32>) -> tensor<4x64x32xf32>
  %v60 = linalg.batch_matmul ins(%v56, %v36 : tensor<4x64x64xf32>, tensor<4x64x32xf32>) outs(%v59 : tensor<4x64x32xf32>) -> tensor<4x64x32xf32>
  %v62 = tensor.empty() : tensor<64x4x32xf32>
  %v61 = linalg.transpose ins(%v60 : tensor<4x64x32xf32>) outs(%v62 : tensor<64x4x32xf32>) permutation = [1, 0, 2]
  %v63 = tensor.collapse_shape %v61 [[0], [1, 2]] : tensor<64x4x32xf32> into tensor<64x128xf32>
  %v64 = tensor.empty() : tensor<64x128xf32>
  %v65 = arith.constant 0.000000000e+00 : f32
  %v66 = linalg.fill ins(%v65 : f32) outs(%v64 : tensor<64x128xf32>) -> tensor<64x128xf32>
  %v67 = linalg.matmul ins(%v63, %wo : tensor<64x128xf32>, tensor<128x128xf32>) outs(%v66 : tensor<64x128xf32>) -> tensor<64x128xf32>
  %v68 = tensor.empty() : tensor<64x128xf32>
  %v69 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v67, %bo, %x : tensor<64x128xf32>, tensor<128xf32>, tensor<64x128xf32>) outs(%v68 : tensor<64x128xf32>) {
  ^bb0(%a0: f32, %a1: f32, %a2: f32, %a3: f32):
    %b = arith.addf %a0, %a1 : f32
    %s = arith.addf %b, %a2 : f32
    linalg.yield %s : f32
  } -> tensor<64x128xf32>
  %v70 = arith.constant 1.280000000e+02 : f32
  %v71 = arith.constant 1.000000000e-05 : f32
  %v72 = tensor.empty() : tensor<64xf32>
  %v73 = arith.constant 0.000000000e+00 : f32
  %v74 = linalg.fill ins(%v73 : f32) outs(%v72 : tensor<64xf32>) -> tensor<64xf32>
  %v75 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%v69 : tensor<64x128xf32>) outs(%v74 : tensor<64xf32>) {
  ^bb0(%a0: f32, %a1: f32):
    %s = arith.addf %a0, %a1 : f32
    linalg.yield %s : f32
  } -> tensor<64xf32>
  %v76 = tensor.empty() : tensor<64x128xf32>
  %v77 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v69, %v75 : tensor<64x128xf32>, tensor<64xf32>) outs(%v76 : tensor<64x128xf32>) {
  ^bb0(%a0: f32, %a1: f32, %a2: f32):
    %m = arith.divf %a1, %v70 : f32
    %s = arith.subf %a0, %m : f32
    linalg.yield %s : f32
  } -> tensor<64x128xf32>
  %v78 = tensor.empty() : tensor<64x128xf32>
  %v79 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v77 : tensor<64x128xf32>) outs(%v78 : tensor<64x128xf32>) {
  ^bb0(%a0: f32, %a1: f32):
    %s = arith.mulf %a0, %a0 : f32
    linalg.yield %s : f32
  } -> tensor<64x128xf32>
  %v80 = tensor.empty() : tensor<64xf32>
  %v81 = arith.constant 0.000000000e+00 : f32
  %v82 = linalg.fill ins(%v81 : f32) outs(%v80 : tensor<64xf32>) -> tensor<64xf32>
  %v83 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%v79 : tensor<64x128xf32>) outs(%v82 : tensor<64xf32>) {
  ^bb0(%a0: f32, %a1: f32):
    %s = arith.addf %a0, %a1 : f32
    linalg.yield %s : f32
  } -> tensor<64xf32>
  %v84 = tensor.empty() : tensor<64x128xf32>
  %v85 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v77, %v83, %gain2, %shift2 : tensor<64x128xf32>, tensor<64xf32>, tensor<128xf32>, tensor<128xf32>) outs(%v84 : tensor<64x128xf32>) {
  ^bb0(%a0: f32, %a1: f32, %a2: f32, %a3: f32, %a4: f32):
    %v = arith.divf %a1, %v70 : f32
    %e = arith.addf %v, %v71 : f32
    %r = math.rsqrt %e : f32
    %n = arith.mulf %a0, %r : f32
    %g = arith.mulf %n, %a2 : f32
    %s = arith.addf %g, %a3 : f32
    linalg.yield %s : f32
  } -> tensor<64x128xf32>
  %v86 = tensor.empty() : tensor<64x512xf32>
  %v87 = arith.constant 0.000000000e+00 : f32
  %v88 = linalg.fill ins(%v87 : f32) outs(%v86 : tensor<64x512xf32>) -> tensor<64x512xf32>
  %v89 = linalg.matmul ins(%v85, %w1 : tensor<64x128xf32>, tensor<128x512xf32>) outs(%v88 : tensor<64x512xf32>) -> tensor<64x512xf32>
  %v90 = arith.constant 4.471500000e-02 : f32
  %v91 = arith.constant 7.978845608e-01 : f32
  %v92 = arith.constant 1.000000000e+00 : f32
  %v93 = arith.constant 5.000000000e-01 : f32
  %v94 = tensor.empty() : tensor<64x512xf32>
  %v95 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v89, %b1 : tensor<64x512xf32>, tensor<512xf32>) outs(%v94 : tensor<64x512xf32>) {
  ^bb0(%a0: f32, %a1: f32, %a2: f32):
    %b = arith.addf %a0, %a1 : f32
    %2 = arith.mulf %b, %b : f32
    %3 = arith.mulf %2, %b : f32
    %4 = arith.mulf %3, %v90 : f32
    %5 = arith.addf %b, %4 : f32
    %6 = arith.mulf %5, %v91 : f32
    %7 = math.tanh %6 : f32
    %8 = arith.addf %7, %v92 : f32
    %9 = arith.mulf %b, %v93 : f32
    %s = arith.mulf %9, %8 : f32
    linalg.yield %s : f32
  } -> tensor<64x512xf32>
  %v96 = tensor.empty() : tensor<64x128xf32>
  %v97 = arith.constant 0.000000000e+00 : f32
  %v98 = linalg.fill ins(%v97 : f32) outs(%v96 : tensor<64x128xf32>) -> tensor<64x128xf32>
  %v99 = linalg.matmul ins(%v95, %w2 : tensor<64x512xf32>, tensor<512x128xf32>) outs(%v98 : tensor<64x128xf32>) -> tensor<64x128xf32>
  %v100 = tensor.empty() : tensor<64x128xf32>
  %v101 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v99, %b2, %v69 : tensor<64x128xf32>, tensor<128xf32>, tensor<64x128xf32>) outs(%v100 : tensor<64x128xf32>) {
  ^bb0(%a0: f32, %a1: f32, %a2: f32, %a3: f32):
    %b = arith.addf %a0, %a1 : f32
    %s = arith.addf %b, %a2 : f32
    linalg.yield %s : f32
  } -> tensor<64x128xf32>
  bufferization.materialize_in_destination %v101 in restrict writable %out_m : (tensor<64x128xf32>, memref<64x128xf32>) -> ()
  return
}
