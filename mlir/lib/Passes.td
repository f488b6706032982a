// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef KDL_PASSES_TD
#define KDL_PASSES_TD

include "mlir/Pass/PassBase.td"

// Passes that name no operation run on any one, as MLIR's canonicalizer does: on a function, or on a
// module for all of its functions. The others change symbols of a module.

def KdlMarkRuntimeSelect : Pass<"kdl-mark-runtime-select"> {
  let summary = "Select among the objects of a gpu.binary at run time";
  let description = [{
    Sets the handler of each gpu.binary to `#kdl.runtime_select` if it has at least `min-objects`
    objects and the default handler.
  }];
  let options = [
    Option<"policy", "policy", "std::string", "\"best\"", "best, first, capability or adaptive">,
    Option<"fallback", "fallback", "std::string", "\"error\"", "error or host">,
    Option<"minObjects", "min-objects", "unsigned", "2", "skip binaries with fewer objects">,
  ];
  let dependentDialects = ["::mlir::kdl::KdlDialect"];
}

def KdlPackObjects : Pass<"kdl-pack-objects"> {
  let summary = "Pack all objects of a gpu.binary into one, for tools that load no plugins";
  let description = [{
    Replaces the objects of each gpu.binary by one object, whose bytes are an OffloadBinary of all
    of them, and its handler by MLIR's `#gpu.select_object`. Stock `mlir-translate` and
    `mlir-runner` accept such a module, and libkdl_mlir_runtime selects from it. Unlike with
    `#kdl.runtime_select`, each launch looks its kernel up, and a launch without a stream creates
    one and waits for it.
  }];
}

def KdlLinkObjects : Pass<"kdl-link-objects", "::mlir::ModuleOp"> {
  let summary = "Link the objects of a module into it, for tools that load no plugins";
  let description = [{
    Translates the module to LLVM IR, as `kdl-mlir translate` does, and imports the result: a module
    of the LLVM dialect alone. The objects of its functions are linked into it, microkernels are
    inlined, and a gpu.binary under `#kdl.runtime_select` is lowered. Stock `mlir-translate` and
    `mlir-runner` accept such a module. They refuse one that still has objects (`#kdl.object`),
    whose functions would stay undefined. Run it last.
  }];
}

def KdlAttachTargets : Pass<"kdl-attach-targets"> {
  let summary = "Attach targets of several vendors to every gpu.module, by name";
  let description = [{
    Takes one list instead of an attach pass per vendor. A target is one of

    | name | target |
    |---|---|
    | `sm_90`, `sm_90a`, `sm_90:ptx84` | an NVIDIA architecture, with the least PTX version that supports it, or the given one |
    | `gfx942`, `gfx90a:xnack+` | an AMD processor or target ID |
    | `spirv` | SPIR-V for drivers that accept it, mainly Intel's |
    | `portable` | bitcode that `kdl-ld` makes an image of for the device, when it is loaded |
    | `host`, `host:x86-64-v4` | a CPU |

    Existing targets of a module stay, and are not added twice.
  }];
  let options = [
    ListOption<"targets", "targets", "std::string", "names of targets">,
    Option<"optLevel", "O", "int", "3", "optimization level, 0 to 3">,
  ];
  let dependentDialects = ["::mlir::kdl::KdlDialect", "::mlir::NVVM::NVVMDialect",
                           "::mlir::ROCDL::ROCDLDialect", "::mlir::xevm::XeVMDialect"];
}

defvar compilingOptions = [
  Option<"linker", "linker", "std::string", "\"\"",
         "ld.lld, for AMD code objects and host objects; default: search for it">,
  Option<"barePointers", "bare-pointers", "bool", "false",
         "pass memrefs of static shape to kernels as one pointer each">,
];

def KdlCompileTargets : Pass<"kdl-compile-targets", "::mlir::ModuleOp"> {
  let summary = "Compile every gpu.module for each of its targets";
  let description = [{
    A gpu.module that was lowered for one vendor cannot be compiled for another. This pass lowers a
    copy of the module per target, compiles it, and replaces the target by `#kdl.compiled`, which
    `gpu-module-to-binary` turns into an object. It expects modules as `gpu-kernel-outlining` leaves
    them, in the dialects gpu, memref, scf, affine, arith, math and vector.

    Objects for NVIDIA are cubins if ptxas is found, else PTX. A target `#kdl.variant` has properties
    for its object. Those of all objects may be in a dictionary `kdl.properties` on the gpu.module:
    `min_sm` is for NVIDIA's objects then, `min_gfx` for AMD's, and `requires_features` only for
    modules whose targets are all GPUs, or all CPUs of one architecture.
  }];
  let options = compilingOptions # [
    Option<"cudaToolkit", "cuda-toolkit", "std::string", "\"\"",
           "CUDA's folder, with bin/ptxas; default: search for it">,
    Option<"rocmBitcode", "rocm-bitcode", "std::string", "\"\"",
           "folder of AMD's device libraries (ockl.bc); default: search for it">,
    Option<"ptx", "ptx", "bool", "false", "emit PTX for NVIDIA even if ptxas is found">,
  ];
}

def KdlHostObject : Pass<"kdl-host-object", "::mlir::ModuleOp"> {
  let summary = "Compile every gpu.module for a CPU as well";
  let description = [{
    Adds `#kdl.compiled` with an object for the CPU to the targets of each gpu.module, so that its
    binary runs on machines without a GPU. Run it before any pass that lowers the module for a GPU;
    the pipeline needs no other change.
  }];
  let options = compilingOptions # [
    Option<"arch", "arch", "std::string", "\"\"", "CPU, as in #kdl.host">,
    Option<"optLevel", "O", "int", "3", "optimization level, 0 to 3">,
  ];
}

def KdlAsyncMemory : Pass<"kdl-async-memory"> {
  let summary = "Make blocking gpu.alloc, dealloc, memcpy and memset asynchronous, and wait";
  let description = [{
    MLIR's `gpu-to-llvm` lowers these operations only if they are `async`, and leaves others
    unlowered. Run this pass before it.
  }];
  let dependentDialects = ["::mlir::gpu::GPUDialect"];
}

def KdlDeferWaits : Pass<"kdl-defer-waits", "::mlir::ModuleOp"> {
  let summary = "Wait for launches without a stream as late as possible";
  let description = [{
    A gpu.launch_func without `async` blocks. Under `#kdl.runtime_select` such launches run in order
    on one queue, so the host only has to wait before an operation that can observe the kernels'
    effects: one that may read or write memory, a call, another kind of launch, a return. This pass
    moves the waits there, notably out of loops. It runs on functions of the LLVM dialect: run it
    last, but before `kdl-link-objects`.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

defvar ukernelOptions = [
  Option<"library", "library", "std::string", "\"\"",
         "a library of microkernels; default: libkdl's own">,
  Option<"noSilentFallback", "no-silent-fallback", "bool", "false",
         "an operation without a microkernel is an error">,
  Option<"target", "target", "std::string", "\"\"",
         "the CPU: host for this one, or a spec such as host:x86-64-v4+avx512_bf16; default: the "
         "least one that libkdl is built for">,
];

def KdlDataTile : Pass<"kdl-data-tile", "::mlir::ModuleOp"> {
  let summary = "Turn contractions into pack, mmt4d and unpack";
  let description = [{
    `linalg.matmul`, `batch_matmul`, `matvec`, `vecmat`, their batched, transposed and quantised
    forms, `linalg.contract` and every `linalg.generic` that multiplies and adds with one dimension
    each of rows, columns and K, on tensors, become `linalg.pack` of both operands, `linalg.mmt4d`
    or `linalg.batch_mmt4d`, and `linalg.unpack`. The product gets the layout of its operands as an
    attribute, `kdl.mma_layout`. The tile sizes come from the microkernel that
    `kdl-lower-mmt4d-to-ukernels` with the same options will call: one of the module's functions,
    of its provider (`kdl.ukernel_provider`), or of `library`. Rows are divided evenly. A
    product that the costs of the target estimate as faster transposed, such as one of few
    columns, is.

    | operands | K0 | conversion |
    |---|---|---|
    | bf16, bf16 to f32 | 2 | |
    | f32, f32 to f32 | 1 | |
    | f16, f16 to f32 | 1 | the left operand becomes f32 |
    | i8, i8 to i32, signed or not | 4 | the left operand becomes unsigned, the right one signed; the initial accumulators correct for that and for zero points |

    The last two have operand types that `linalg.mmt4d` does not support, and become a
    `linalg.generic` with its loops. So do products whose microkernel takes several words of K at a time
    (AMX, BFMMLA, USMMLA): their operands have a dimension more. Other types, whose operands are
    extended to that of the accumulator, have no microkernel unless the provider has one: they get
    K0 = 1, tiles that fit in the registers of the target, a layout with `vector_bytes`, for which
    `kdl-lower-mmt4d-to-ukernels` creates vector code, and a remark. Constant operands are packed, and their columns summed, at
    compile time. An unsupported contraction stays unchanged, with a remark that gives the reason,
    or an error with `no-silent-fallback`.

    A product whose left operand is the result of another one, directly or through elementwise
    operations, takes it in tiles if the rows of both are divided alike and the first one's columns
    are full panels: a result tile of M0 rows and N0 columns is N0 / K0 steps of M0 rows. The
    product is then a `linalg.generic` of the operands `[M1][K1][M0][steps][K0]` and
    `[N1][K1][steps][N0][K0]`, and the elementwise operations are on tiles. Otherwise the result is
    unpacked, and packed once, in the loops of both products.

    With `leave-plain`, a product that tiling would not speed up stays for `kdl-lower-contractions`:
    neither operand is constant, the right one is not invariant in a loop around it, and it is known
    to have 32 rows or fewer, or has no elementwise producer or consumer that would be fused.
    With a microkernel that takes 16 words at a time (AMX), every product of 96 rows or more stays.
    Elements of a batch that are known to be small (fewer than 16384 multiplications, or 8 columns
    or fewer) are tiled nevertheless; a batch of several dimensions always stays.
  }];
  let options = ukernelOptions # [
    Option<"leavePlain", "leave-plain", "bool", "false",
           "leave products that tiling would not speed up to kdl-lower-contractions">,
  ];
  let dependentDialects = ["::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
                           "::mlir::kdl::KdlDialect", "::mlir::linalg::LinalgDialect",
                           "::mlir::tensor::TensorDialect"];
}

def KdlFuseTiles : Pass<"kdl-fuse-tiles"> {
  let summary = "Create loops over the tiles of mmt4d, and fuse its producers and consumers";
  let description = [{
    An mmt4d whose result is only unpacked becomes an `scf.forall` over blocks of rows, or of
    columns if there are few rows, with loops over panels and tiles in it. Fused into these loops
    are

    - the pack of the left operand, one block that fits in L2 at a time, and an elementwise
      producer,
    - the initial accumulators: zeros, or a packed operand and corrections,
    - the unpack, and elementwise operations that are the only users of its result: bias,
      activation, residual. A result that another product takes in tiles is not unpacked.

    The right operand is packed before the loops, for all blocks; if there are few rows, one panel
    at a time in the loops. Remaining elementwise operations are fused with each other. The result
    is on tensors.
  }];
  let options = [
    Option<"target", "target", "std::string", "\"\"",
           "the CPU, as for kdl-data-tile: its caches decide the size of blocks">,
  ];
  let dependentDialects = ["::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect", "::mlir::scf::SCFDialect",
                           "::mlir::tensor::TensorDialect"];
}

def KdlDecomposeLinalg : Pass<"kdl-decompose-linalg"> {
  let summary = "Decompose operations of linalg that are several loops: softmax and Winograd's transforms";
  let description = [{
    By MLIR's own decompositions, on tensors; a softmax of memrefs becomes one of tensors.
  }];
  let dependentDialects = ["::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
                           "::mlir::bufferization::BufferizationDialect", "::mlir::linalg::LinalgDialect",
                           "::mlir::math::MathDialect", "::mlir::memref::MemRefDialect",
                           "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect"];
}

def KdlLowerConvolutions : Pass<"kdl-lower-convolutions"> {
  let summary = "Lower convolutions to products of matrices, before tiling";
  let description = [{
    The patches of the input become a matrix, some rows of the image at a time, so that it stays in
    a cache; a filter of one element needs no copy. Batches and groups are loops around the product.
    Convolutions that are no products, as depthwise ones and pooling, and those of dynamic sizes
    get an order of loops that LLVM vectorises.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
                           "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect"];
}

def KdlMarkManualDeallocation : Pass<"kdl-mark-manual-deallocation"> {
  let summary = "Mark the memory that a module frees itself, before bufferization";
  let description = [{
    `kdl-deallocate-buffers` does not change functions without tensors. In a function with tensors,
    a `memref.alloc` keeps its `memref.dealloc`, if it has one.
  }];
}

def KdlLowerExpandShapes : Pass<"kdl-lower-expand-shapes"> {
  let summary = "Lower memref.expand_shape with two dynamic sizes in a group to casts";
  let description = [{
    Uses the sizes that the operation names. MLIR's `expand-strided-metadata` crashes on such
    operations.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect"];
}

def KdlDeallocateBuffers : Pass<"kdl-deallocate-buffers"> {
  let summary = "Free the buffers that bufferization created";
  let description = [{
    Runs MLIR's ownership-based deallocation on functions in which `kdl-mark-manual-deallocation`
    found tensors.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::bufferization::BufferizationDialect",
                           "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect"];
}

def KdlApproximateMath : Pass<"kdl-approximate-math"> {
  let summary = "Approximate exp, tanh and erf of f32 by polynomials, and let sums be reordered";
  let description = [{
    LLVM vectorises the polynomials, while it would call the C library for the functions. Results
    differ from the C library's in the last bits. Additions of linalg's reductions get the flag
    `reassoc`, without which LLVM does not vectorise them.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
                           "::mlir::vector::VectorDialect"];
}

def KdlLowerMinMax : Pass<"kdl-lower-min-max"> {
  let summary = "Lower arith.maximumf and minimumf of f32 and f64 to LLVM intrinsics";
  let description = [{
    LLVM vectorises a loop over `llvm.intr.maximum`, but not over the comparisons and NaN handling
    that `arith-expand` creates for `arith.maximumf`. The results are the same.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

def KdlRefuseUnsupported : Pass<"kdl-refuse-unsupported", "::mlir::ModuleOp"> {
  let summary = "Refuse arithmetic on types that LLVM lacks, and contractions left without a microkernel";
  let description = [{
    Arithmetic on numbers of 8 bits or fewer is an error at the operation; they may be copied. With
    `no-silent-fallback` so is each contraction and convolution that would become plain loops.
  }];
  let options = ukernelOptions;
}

def KdlLowerMath : Pass<"kdl-lower-math", "::mlir::ModuleOp"> {
  let summary = "Lower what MLIR's conversion of math to LLVM leaves: to libm, scalars and arith";
  let description = [{
    `erf`, `erfc`, `cbrt`, `acosh`, `asinh` and `atanh` become calls of libm, and so do `expm1` and
    `log1p`, which `convert-math-to-llvm` computes as `exp(x) - 1` and `log(x + 1)`: of f16 and bf16
    in f32. `isinf`, `isnormal` and `clampf` become LLVM intrinsics and comparisons, vectors of more
    or fewer dimensions than one become scalars. For `ipowi` and `fpowi`, `convert-math-to-funcs`
    follows.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::arith::ArithDialect",
                           "::mlir::func::FuncDialect", "::mlir::math::MathDialect",
                           "::mlir::vector::VectorDialect"];
}

def KdlHoistAllocas : Pass<"kdl-hoist-allocas"> {
  let summary = "Move stack allocations out of loops";
  let description = [{
    Moves a `memref.alloca` of static size from loops and branches of scf to the start of its
    function. In a loop, each iteration would use more stack, and LLVM would keep values in memory
    that could be in registers. Run it when no loop will be parallelised any more: after
    `kdl-outline-parallel`.
  }];
}

def KdlFuseForalls : Pass<"kdl-fuse-foralls"> {
  let summary = "Fuse independent scf.forall loops over the same number of blocks";
  let description = [{
    Fuses loops on tensors in the same block that do not depend on each other: the products of one
    matrix by several, as in attention. Threads then join once, not after each loop. Run it after
    the last pass that merges equal empty tensors: each result gets its own.
  }];
  let dependentDialects = ["::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect"];
}

def KdlCloneFills : Pass<"kdl-clone-fills"> {
  let summary = "Clone linalg.fill for each of its users";
  let description = [{
    `cse` merges equal fills, and bufferization then creates one buffer and copies of it. A fill
    costs less than a copy, and later passes optimise a fill with one user. Run it after the last
    `cse` on tensors.
  }];
  let dependentDialects = ["::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect"];
}

def KdlOwnResults : Pass<"kdl-own-results"> {
  let summary = "Make the results of public functions memory that the caller frees";
  let description = [{
    Bufferization may write to an argument, and then drops the result that it became. This pass marks
    the tensors that public functions take as read-only, and copies those that they return unchanged,
    so that the caller's tensors stay as they are and each result is an allocation of its own. Run it
    before bufferization.
  }];
  let dependentDialects = ["::mlir::bufferization::BufferizationDialect"];
}

def KdlLowerCopies : Pass<"kdl-lower-copies"> {
  let summary = "Lower memref.copy of buffers with gaps to linalg";
  let description = [{
    MLIR lowers `memref.copy` to `memcpy` if both buffers lie without gaps, else to a call of a
    function of its own runtime library. This pass makes a `linalg.generic` of the latter.
  }];
  let dependentDialects = ["::mlir::linalg::LinalgDialect"];
}

def KdlDistributeLoops : Pass<"kdl-distribute-loops"> {
  let summary = "Divide linalg operations among threads along their outermost loops";
  let description = [{
    For operations on memrefs outside of `scf.forall`, and for `memref.copy`: the outermost loops
    that are parallel and of static size become an `scf.forall` over about 16 parts. Consecutive
    operations over the same loops share one `scf.forall` if each part only accesses what the same
    part of the others wrote: the operations of a softmax or a layer norm. Each element is computed
    as before, from the same numbers in the same order.

    Unchanged are loops with less work than `least-work`, with reductions or dynamic sizes
    outermost, with two results in the same memory, with results in memory that is read elsewhere,
    and with layouts in which elements might have the same address. No operation moves past a call
    or past an operation that may use the same memory.
  }];
  let options = [
    Option<"leastWork", "least-work", "int64_t", "131072",
           "the least work to divide, in estimated operations on an element: 1 for each operand and "
           "operation, 4 for a division, 16 for a function; 131072 take about 2 us with AVX-512">,
  ];
  let dependentDialects = ["::mlir::affine::AffineDialect", "::mlir::linalg::LinalgDialect",
                           "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect"];
}

def KdlOutlineParallel : Pass<"kdl-outline-parallel", "::mlir::ModuleOp"> {
  let summary = "Outline the body of each outermost scf.forall";
  let description = [{
    For loops on memrefs: moves the body into a function of the iteration's number, and replaces the
    loop by a call that represents all iterations. `kdl-lower-parallel-calls` lowers that call after
    the conversion to the LLVM dialect.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::func::FuncDialect"];
}

def KdlLowerParallelCalls : Pass<"kdl-lower-parallel-calls", "::mlir::ModuleOp"> {
  let summary = "Lower the calls of kdl-outline-parallel to libkdl's threads";
  let description = [{
    Calls `kdl_mlir_parallel` of libkdl_mlir_runtime with the number of iterations, a function that
    runs one of them, and its arguments. The runtime divides the iterations among the threads of the
    host device, like the groups of a launch (`KDL_HOST_THREADS`); the caller alone runs a short
    loop.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

def KdlLowerContractions : Pass<"kdl-lower-contractions", "::mlir::ModuleOp"> {
  let summary = "Lower contractions on unpacked operands to the matmul library's kernels";
  let description = [{
    `linalg.matmul`, `matvec`, `vecmat`, transposed forms, `linalg.contract` and generic ones, on
    memrefs of any strides, of bf16, f16, f32 or signed i8, become calls of
    `kdl_matmul_plain_TYPE_part`, or of `kdl_matmul_pack_TYPE_part` and `kdl_matmul_TYPE_part`: the
    functions of the matmul library, whose rules also choose between the two. For a
    dynamic size the choice happens at run time, in `kdl_matmul_TYPE_dynamic_scratch`, `_parts` and
    `_part`, in loops over as much as these take at a time. A fill with zeros just before is
    dropped. The callee has its object in `kdl.object`, and `kdl.calls` names the microkernel that
    is linked into it: the module's own, else the best of the library for the target. With `threads`
    the product is computed in parts, in an `scf.forall`. If it has few rows and columns and a long
    K, they are parts of K, and a second `scf.forall` adds up their sums; the sizes alone decide.
    The environment variable `KDL_MATMUL_WHOLE_K=1` prevents it.

    A batch of any number of dimensions is a loop around these calls. With `threads`, one thread
    computes each element if there are at least as many elements as parts of a single one.

    An unsupported contraction stays unchanged, with a remark that gives the reason, or an error
    with `no-silent-fallback`. This includes a microkernel that takes 16 steps at a time and has no
    function for blocks, or is the module's own.
  }];
  let options = ukernelOptions # [
    Option<"threads", "threads", "bool", "false", "compute in parts that may run in parallel">,
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::func::FuncDialect",
                           "::mlir::kdl::KdlDialect", "::mlir::LLVM::LLVMDialect",
                           "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect"];
}

def KdlLowerMmt4dToUkernels : Pass<"kdl-lower-mmt4d-to-ukernels", "::mlir::ModuleOp"> {
  let summary = "Lower linalg.mmt4d to loops around a microkernel";
  let description = [{
    `linalg.mmt4d` on memrefs becomes two loops over the outer tiles, which call a microkernel of
    `<kdl/mma.h>` for the loop over K. The microkernel is an object of the module
    (`#kdl.object`), which the callee names: the user's for a function of the module, else the best
    of a library for the target, by libkdl's rules. The translation to LLVM IR links it; `kdl-mlir
    translate`, `kdl-mlir run` and `kdl-link-objects` inline it.

    | operands | K0 | microkernel |
    |---|---|---|
    | bf16, bf16 to f32 | 2 | `kdl_uk_mma_f32_bf16` |
    | i8, i8 to i32 | 4 | `kdl_uk_mma_s32_u8s8`, with a correction for its unsigned operand |
    | f32, f32 to f32 | 1 | `kdl_uk_mma_f32_f32` |
    | f16, f16 to f32 | 1 | `kdl_uk_mma_f32_f16`, with the left operand converted to f32 first |

    An operation with `kdl.vector_bytes`, as `kdl-data-tile` creates it for other types, becomes loops
    of vector code instead.

    If a `linalg.fill` or another elementwise operation just before initialises the accumulator of a
    single tile, it becomes one store per vector, which LLVM keeps in registers.

    N0 is a multiple of 16; M0, N0 and K0 are static, the outer sizes need not be. An unsupported
    operation stays unchanged, with a remark that gives the reason, or an error with
    `no-silent-fallback`.

    Microkernels for AMX take K in blocks of 16 steps, up to 32 rows and 32 columns: the left
    operand is packed again, and so are the remaining steps of the right one. A program with such a
    microkernel requests permission from the system when it starts. A function of the module gets
    operands in this form if it has the attribute `kdl.tiles`.

    With GPUs among the targets (`target=sm_90a,gfx942,host`), `linalg.matmul`, other contractions of
    bf16, f16 and i8 on memrefs, and the kernels of gpu.modules that have nothing else, become
    launches of the matmul library's kernels. These are in a `gpu.binary` of the program, as
    bitcode: libkdl links the microkernel of the device when it loads them. Zeros before and
    elementwise operations behind the product (scale, bias, residual, maximum with 0) are part of the
    launch. `library` is the matmul library then, which may have microkernels of its own, or be
    linked ahead of time. Operands are in device memory; with `host-memory`, those that the program
    did not allocate by `gpu.alloc` are in the host's, and are copied if the device is a GPU.
  }];
  let options = ukernelOptions # [
    Option<"hostMemory", "host-memory", "bool", "false",
           "operands of products on GPUs are in the host's memory">,
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::func::FuncDialect",
                           "::mlir::gpu::GPUDialect", "::mlir::kdl::KdlDialect",
                           "::mlir::LLVM::LLVMDialect", "::mlir::memref::MemRefDialect",
                           "::mlir::NVVM::NVVMDialect", "::mlir::ROCDL::ROCDLDialect",
                           "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"];
}

#endif
