// The dialect's attributes on operations of other dialects: a wrong name, operation or value is an error, not ignored.
// RUN: mlir-opt %s -split-input-file -verify-diagnostics

// expected-error@+1 {{kdl.bitcode: found 3 : i32, expected bitcode, or a list of it}}
func.func private @number() attributes {kdl.bitcode = 3 : i32}

// -----

// expected-error@+1 {{kdl.bitcode: found [], expected bitcode, or a list of it}}
func.func private @empty() attributes {kdl.bitcode = []}

// -----

// expected-error@+1 {{kdl.bitcode: found ["BC", 3 : i32], expected bitcode, or a list of it}}
llvm.func @list() attributes {kdl.bitcode = ["BC", 3 : i32]}

// -----

// expected-error@+1 {{kdl.bitcode: found it on 'builtin.module', expected it on a function}}
module attributes {kdl.bitcode = "BC"} {
}

// -----

// expected-error@+1 {{kdl.bytecode: found an unknown attribute, expected one of kdl.properties, kdl.for_target, kdl.objects,}}
func.func private @misspelt() attributes {kdl.bytecode = "BC"}

// -----

// expected-error@+1 {{kdl.function: found @name, expected a string}}
func.func private @name() attributes {kdl.function = @name}

// -----

// expected-error@+1 {{kdl.variant: found unit, expected a string}}
func.func private @variant() attributes {kdl.variant}

// -----

// expected-error@+1 {{kdl.tiles: found true, expected no value}}
func.func private @tiles() attributes {kdl.tiles = true}

// -----

// expected-error@+1 {{kdl.calls: found "kdl_uk_mma_f32_f32", expected the symbol of a function}}
func.func private @calls() attributes {kdl.calls = "kdl_uk_mma_f32_f32"}

// -----

// expected-error@+1 {{kdl.parallel_body: found @module::@body, expected the symbol of a function}}
func.func private @parallel() attributes {kdl.parallel_body = @module::@body}

// -----

// expected-error@+1 {{kdl.for_target: found it on 'func.func', expected it on a module}}
func.func private @target() attributes {kdl.for_target}

// -----

// expected-error@+1 {{kdl.properties: found it on 'builtin.module', expected it on a gpu.module}}
module attributes {kdl.properties = {variant_tag = "debug"}} {
}

// -----

func.func @frees(%a: memref<4xf32>) {
  // expected-error@+1 {{kdl.frees_by_hand: found it on 'memref.dealloc', expected it on a function}}
  memref.dealloc %a {kdl.frees_by_hand} : memref<4xf32>
  return
}

// -----

func.func @stays(%a: memref<4x4xf32>) {
  // expected-error@+1 {{kdl.stays: found "why", expected no value}}
  linalg.matmul {kdl.stays = "why"} ins(%a, %a : memref<4x4xf32>, memref<4x4xf32>) outs(%a : memref<4x4xf32>)
  return
}

// -----

func.func @wait() {
  // expected-error@+1 {{kdl.deferred: found it on 'gpu.wait', expected it on a gpu.launch_func}}
  gpu.wait {kdl.deferred}
  return
}

// -----

// expected-error@+1 {{kdl.objects: found "name", expected a list of #kdl.object}}
module attributes {kdl.objects = "name"} {
}

// -----

// expected-error@+1 {{kdl.objects: found two objects "a"}}
module attributes {kdl.objects = [#kdl.object<"a", dense<[66, 67]> : tensor<2xi8>>, #kdl.object<"a", dense<[66, 68]> : tensor<2xi8>>]} {
}

// -----

// expected-error@+1 {{kdl.objects: found no bytes of the object "a"}}
module attributes {kdl.objects = [#kdl.object<"a", dense_resource<absent> : tensor<2xi8>>]} {
}

// -----

// expected-error@+1 {{found an empty name}}
module attributes {kdl.objects = [#kdl.object<"", dense<[66, 67]> : tensor<2xi8>>]} {
}

// -----

// expected-error@+1 {{found 'tensor<2xi16>', expected bytes, as tensor<1024xi8>}}
module attributes {kdl.objects = [#kdl.object<"a", dense<[66, 67]> : tensor<2xi16>>]} {
}

// -----

module attributes {kdl.objects = [#kdl.object<"a", dense<[66, 67]> : tensor<2xi8>>]} {
  // expected-error@+1 {{kdl.object: found "b", expected the name of an object in kdl.objects of the module}}
  func.func private @other() attributes {kdl.object = "b"}
}

// -----

// expected-error@+1 {{kdl.object: found 3 : i32, expected a name, or a list of names}}
func.func private @number() attributes {kdl.object = 3 : i32}

// -----

// expected-error@+1 {{kdl.mma_layout: found it on 'func.func', expected it on an operation of linalg}}
func.func private @vectors() attributes {kdl.mma_layout = #kdl.mma_layout<intrinsics_m = 8, intrinsics_n = 1, vector_bytes = 64>}

// -----

// expected-error@+1 {{kdl.ukernel_provider: found "mine.offload", expected a provider of microkernels, such as #kdl.ukernel_library}}
module attributes {kdl.ukernel_provider = "mine.offload"} {}
