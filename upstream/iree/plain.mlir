// The same product, left to IREE.
func.func @run(%lhs: tensor<480x512xf32>, %rhs: tensor<512x512xf32>, %acc: tensor<480x512xf32>) -> tensor<480x512xf32> {
  %0 = linalg.matmul ins(%lhs, %rhs : tensor<480x512xf32>, tensor<512x512xf32>) outs(%acc : tensor<480x512xf32>) -> tensor<480x512xf32>
  return %0 : tensor<480x512xf32>
}
