// For kdl-mlir compile: linear_model.c calls it.
func.func @linear(%x: tensor<?x128xf32>) -> tensor<?x100xf32> {
  %weights = arith.constant dense<2.0> : tensor<128x100xf32>
  %bias = arith.constant dense<-28.0> : tensor<100xf32>
  %zero = arith.constant 0.0 : f32
  %first = arith.constant 0 : index
  %rows = tensor.dim %x, %first : tensor<?x128xf32>
  %empty = tensor.empty(%rows) : tensor<?x100xf32>
  %start = linalg.fill ins(%zero : f32) outs(%empty : tensor<?x100xf32>) -> tensor<?x100xf32>
  %sum = linalg.matmul ins(%x, %weights : tensor<?x128xf32>, tensor<128x100xf32>) outs(%start : tensor<?x100xf32>) -> tensor<?x100xf32>
  %relu = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]} ins(%sum, %bias : tensor<?x100xf32>, tensor<100xf32>) outs(%empty : tensor<?x100xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %0 = arith.addf %a, %b : f32
    %1 = arith.maximumf %0, %zero : f32
    linalg.yield %1 : f32
  } -> tensor<?x100xf32>
  return %relu : tensor<?x100xf32>
}
