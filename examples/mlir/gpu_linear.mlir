// y = max(x w + bias, 0) in bf16, on the device that the program finds: a GPU by its tensor cores, or the CPU. docs/mlir.md.
func.func private @printMemrefF32(memref<*xf32>)

func.func @linear(%x: memref<192x256xbf16>, %w: memref<256x320xbf16>, %bias: memref<320xf32>, %y: memref<192x320xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%y : memref<192x320xf32>)
  linalg.matmul ins(%x, %w : memref<192x256xbf16>, memref<256x320xbf16>) outs(%y : memref<192x320xf32>)
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%bias : memref<320xf32>) outs(%y : memref<192x320xf32>) {
  ^bb0(%b: f32, %sum: f32):
    %0 = arith.addf %sum, %b : f32
    %1 = arith.maximumf %0, %zero : f32
    linalg.yield %1 : f32
  }
  return
}

func.func @main() {
  %half = arith.constant 0.5 : bf16
  %two = arith.constant 2.0 : bf16
  %minus = arith.constant -156.0 : f32
  %hx = memref.alloc() : memref<192x256xbf16>
  %hw = memref.alloc() : memref<256x320xbf16>
  %hb = memref.alloc() : memref<320xf32>
  %hy = memref.alloc() : memref<192x320xf32>
  linalg.fill ins(%half : bf16) outs(%hx : memref<192x256xbf16>)
  linalg.fill ins(%two : bf16) outs(%hw : memref<256x320xbf16>)
  linalg.fill ins(%minus : f32) outs(%hb : memref<320xf32>)
  %x = gpu.alloc() : memref<192x256xbf16>
  %w = gpu.alloc() : memref<256x320xbf16>
  %b = gpu.alloc() : memref<320xf32>
  %y = gpu.alloc() : memref<192x320xf32>
  gpu.memcpy %x, %hx : memref<192x256xbf16>, memref<192x256xbf16>
  gpu.memcpy %w, %hw : memref<256x320xbf16>, memref<256x320xbf16>
  gpu.memcpy %b, %hb : memref<320xf32>, memref<320xf32>
  call @linear(%x, %w, %b, %y) : (memref<192x256xbf16>, memref<256x320xbf16>, memref<320xf32>, memref<192x320xf32>) -> ()
  gpu.memcpy %hy, %y : memref<192x320xf32>, memref<192x320xf32>
  %any = memref.cast %hy : memref<192x320xf32> to memref<*xf32>
  call @printMemrefF32(%any) : (memref<*xf32>) -> ()
  return
}
