// A matrix product of 504 x 512 x 512 as linalg.mmt4d, in the tiles of AVX-512's microkernels. See
// mmt4d.sh.
func.func @bf16(%a: memref<36x256x14x2xbf16>, %b: memref<16x256x32x2xbf16>, %c: memref<36x16x14x32xf32>)
    attributes {llvm.emit_c_interface} {
  linalg.mmt4d ins(%a, %b : memref<36x256x14x2xbf16>, memref<16x256x32x2xbf16>)
               outs(%c : memref<36x16x14x32xf32>)
  return
}

func.func @s8(%a: memref<36x128x14x4xi8>, %b: memref<16x128x32x4xi8>, %c: memref<36x16x14x32xi32>)
    attributes {llvm.emit_c_interface} {
  linalg.mmt4d ins(%a, %b : memref<36x128x14x4xi8>, memref<16x128x32x4xi8>)
               outs(%c : memref<36x16x14x32xi32>)
  return
}

func.func @f32(%a: memref<36x512x14x1xf32>, %b: memref<16x512x32x1xf32>, %c: memref<36x16x14x32xf32>)
    attributes {llvm.emit_c_interface} {
  linalg.mmt4d ins(%a, %b : memref<36x512x14x1xf32>, memref<16x512x32x1xf32>)
               outs(%c : memref<36x16x14x32xf32>)
  return
}

func.func @f16(%a: memref<36x512x14x1xf16>, %b: memref<16x512x32x1xf16>, %c: memref<36x16x14x32xf32>)
    attributes {llvm.emit_c_interface} {
  linalg.mmt4d ins(%a, %b : memref<36x512x14x1xf16>, memref<16x512x32x1xf16>)
               outs(%c : memref<36x16x14x32xf32>)
  return
}
