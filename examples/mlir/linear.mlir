func.func private @printMemrefF32(tensor<*xf32>)

func.func @linear(%x: tensor<64x128xf32>, %weights: tensor<128x100xf32>, %bias: tensor<100xf32>) -> tensor<64x100xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<64x100xf32>
  %start = linalg.fill ins(%zero : f32) outs(%empty : tensor<64x100xf32>) -> tensor<64x100xf32>
  %sum = linalg.matmul ins(%x, %weights : tensor<64x128xf32>, tensor<128x100xf32>) outs(%start : tensor<64x100xf32>) -> tensor<64x100xf32>
  %relu = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]} ins(%sum, %bias : tensor<64x100xf32>, tensor<100xf32>) outs(%empty : tensor<64x100xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %0 = arith.addf %a, %b : f32
    %1 = arith.maximumf %0, %zero : f32
    linalg.yield %1 : f32
  } -> tensor<64x100xf32>
  return %relu : tensor<64x100xf32>
}

func.func @main() -> i32 {
  %x = arith.constant dense<0.5> : tensor<64x128xf32>
  %weights = arith.constant dense<2.0> : tensor<128x100xf32>
  %bias = arith.constant dense<-28.0> : tensor<100xf32>
  %y = call @linear(%x, %weights, %bias) : (tensor<64x128xf32>, tensor<128x100xf32>, tensor<100xf32>) -> tensor<64x100xf32>
  %any = tensor.cast %y : tensor<64x100xf32> to tensor<*xf32>
  call @printMemrefF32(%any) : (tensor<*xf32>) -> ()
  %done = arith.constant 0 : i32
  return %done : i32
}
