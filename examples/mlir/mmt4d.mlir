func.func @matmul(%a: memref<?x?x4x2xbf16>, %b: memref<?x?x32x2xbf16>, %c: memref<?x?x4x32xf32>) {
  linalg.mmt4d ins(%a, %b : memref<?x?x4x2xbf16>, memref<?x?x32x2xbf16>) outs(%c : memref<?x?x4x32xf32>)
  return
}
