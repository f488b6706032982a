// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef KDL_PASSES_TD
#define KDL_PASSES_TD

include "mlir/Pass/PassBase.td"

def KdlMarkRuntimeSelect : Pass<"kdl-mark-runtime-select", "::mlir::ModuleOp"> {
  let summary = "Lets every gpu.binary with two or more objects be chosen from at run time";
  let description = [{
    Gives `#kdl.runtime_select` to each gpu.binary that has at least `min-objects` objects and no
    handler of its own.
  }];
  let options = [
    Option<"policy", "policy", "std::string", "\"best\"", "best, first or capability">,
    Option<"fallback", "fallback", "std::string", "\"error\"", "error or host">,
    Option<"minObjects", "min-objects", "unsigned", "2", "leave binaries with fewer objects alone">,
  ];
  let dependentDialects = ["::mlir::kdl::KdlDialect"];
}

def KdlPackObjects : Pass<"kdl-pack-objects", "::mlir::ModuleOp"> {
  let summary = "Packs all objects of a gpu.binary into one, for tools that load no plugins";
  let description = [{
    Replaces the objects of each gpu.binary by one whose bytes are an OffloadBinary of them all, and
    its handler by MLIR's own, `#gpu.select_object`. Stock `mlir-translate` and `mlir-runner` take
    such a module, and libkdl_mlir_runtime chooses from it: at the price of a look-up per launch, and
    of a stream and a wait for launches without one, which `#kdl.runtime_select` does without.
  }];
}

def KdlAttachTargets : Pass<"kdl-attach-targets", "::mlir::ModuleOp"> {
  let summary = "Attaches targets of several vendors to every gpu.module, by their names";
  let description = [{
    One list instead of an attach pass per vendor. A target is

    | name | is |
    |---|---|
    | `sm_90`, `sm_90a`, `sm_90:ptx84` | an NVIDIA architecture, with the least PTX version that has it, or the one named |
    | `gfx942`, `gfx90a:xnack+` | an AMD processor or target ID |
    | `spirv` | SPIR-V for drivers that take it, Intel's above all |
    | `host`, `host:x86-64-v4` | a CPU |

    Targets that a module has already are kept, and not added twice.
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
         "ld.lld, for AMD code objects and host objects; searched for where it is not given">,
  Option<"barePointers", "bare-pointers", "bool", "false",
         "pass memrefs of static shape to kernels as one pointer each">,
];

def KdlCompileTargets : Pass<"kdl-compile-targets", "::mlir::ModuleOp"> {
  let summary = "Compiles every gpu.module for each of its targets";
  let description = [{
    A gpu.module that was lowered for one vendor cannot be compiled for another. This pass lowers a
    copy of the module per target, compiles it, and leaves `#kdl.compiled` in the target's place,
    which `gpu-module-to-binary` then turns into an object. Modules are to be given as they come out
    of `gpu-kernel-outlining`, in the dialects gpu, memref, scf, affine, arith, math and vector.

    Objects for NVIDIA are cubins where ptxas is found, else PTX. A dictionary `kdl.properties` on a
    gpu.module goes into the properties of its objects.
  }];
  let options = compilingOptions # [
    Option<"cudaToolkit", "cuda-toolkit", "std::string", "\"\"",
           "CUDA's folder, with bin/ptxas; searched for where it is not given">,
    Option<"rocmBitcode", "rocm-bitcode", "std::string", "\"\"",
           "folder of AMD's device libraries (ockl.bc); searched for where it is not given">,
    Option<"ptx", "ptx", "bool", "false", "leave code for NVIDIA as PTX, also where ptxas is found">,
  ];
}

def KdlHostObject : Pass<"kdl-host-object", "::mlir::ModuleOp"> {
  let summary = "Compiles every gpu.module for a CPU as well";
  let description = [{
    Leaves `#kdl.compiled` with an object for the CPU among the targets of each gpu.module, so that
    its binary runs where there is no GPU. To be run before anything lowers the module for a GPU;
    whatever else the pipeline does may stay as it is.
  }];
  let options = compilingOptions # [
    Option<"arch", "arch", "std::string", "\"\"", "CPU, as in #kdl.host">,
    Option<"optLevel", "O", "int", "3", "optimization level, 0 to 3">,
  ];
}

def KdlAsyncMemory : Pass<"kdl-async-memory", "::mlir::ModuleOp"> {
  let summary = "Gives gpu.alloc, dealloc, memcpy and memset that block a stream, and waits for it";
  let description = [{
    MLIR's `gpu-to-llvm` lowers these only where they are `async`, and leaves others as they are. To be
    run before it.
  }];
  let dependentDialects = ["::mlir::gpu::GPUDialect"];
}

def KdlDeferWaits : Pass<"kdl-defer-waits", "::mlir::ModuleOp"> {
  let summary = "Lets launches without a stream be waited for as late as can be";
  let description = [{
    A gpu.launch_func without `async` blocks. Under `#kdl.runtime_select` such launches run in order
    on one queue, so that the host need not stop before it reaches something that could see what the
    kernels did: an operation that may read or write memory, a call, another kind of launch, a return.
    This pass moves the waits there, out of loops above all. It works on functions of the LLVM
    dialect, so it comes last.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

defvar ukernelOptions = [
  Option<"library", "library", "std::string", "\"\"",
         "a library of microkernels; default: libkdl's own">,
  Option<"noSilentFallback", "no-silent-fallback", "bool", "false",
         "an operation without a microkernel is an error">,
  Option<"target", "target", "std::string", "\"\"",
         "the CPU: host for this one, or a spec as host:x86-64-v4+avx512_bf16; default: the least "
         "one that is built for">,
];

def KdlDataTile : Pass<"kdl-data-tile", "::mlir::ModuleOp"> {
  let summary = "Turns products of matrices into pack, mmt4d and unpack";
  let description = [{
    `linalg.matmul`, `batch_matmul`, `matvec`, `vecmat`, their batched, transposed and quantised
    forms, `linalg.contract` and every `linalg.generic` that multiplies and adds in one dimension of
    rows, columns and K each, on tensors, become `linalg.pack` of both operands, `linalg.mmt4d` or
    `linalg.batch_mmt4d`, and `linalg.unpack`. The tiles are those of the microkernel that
    `kdl-lower-mmt4d-to-ukernels` with the same options will call: asked of it, not of a table. Rows
    are divided evenly; a right operand of 8 columns or fewer is the left one of the transposed
    product.

    | operands | K0 | what is added |
    |---|---|---|
    | bf16, bf16 to f32 | 2 | |
    | f32, f32 to f32 | 1 | |
    | f16, f16 to f32 | 1 | the left operand becomes f32 |
    | i8, i8 to i32, signed or not | 4 | the left operand becomes unsigned, the right one signed; what that and zero points add to the result is where the sums start |

    The last two multiply operands that `linalg.mmt4d` has not, in a `linalg.generic` of its loops.
    Constant operands are packed, and their columns added up, here. What does not fit stays as it is,
    with a remark that says why, or is an error with `no-silent-fallback`.

    A product whose left operand is the result of another one, through elementwise operations or none,
    takes it in tiles, where the rows of both are divided alike and the first one's columns are whole
    panels: a tile of sums of M0 rows and N0 columns is N0 / K0 steps of M0 rows. It is a
    `linalg.generic` of the operands `[M1][K1][M0][steps][K0]` and `[N1][K1][steps][N0][K0]` then, and
    the elementwise operations are on tiles. Elsewhere the result is unpacked, and packed once, by the
    loops of both.

    With `leave-plain`, a product that tiles would not make faster stays for `kdl-lower-contractions`:
    neither operand is constant, the right one is not the same in a loop around it, and it is known to
    have 32 rows or fewer, or has no elementwise operation before or behind it that would be fused.
    Elements of a batch that are known to be small (fewer than 16384 multiplications, or 8 columns
    or fewer) are made in tiles all the same; a batch of several dimensions stays always.
  }];
  let options = ukernelOptions # [
    Option<"leavePlain", "leave-plain", "bool", "false",
           "leave products to kdl-lower-contractions that tiles would not make faster">,
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
                           "::mlir::tensor::TensorDialect"];
}

def KdlFuseTiles : Pass<"kdl-fuse-tiles", "::mlir::ModuleOp"> {
  let summary = "Makes loops over the tiles of mmt4d, with its neighbours inside";
  let description = [{
    An mmt4d whose result is only unpacked becomes an `scf.forall` over blocks of rows, or of columns
    where there are few rows, and in it loops over panels and tiles. In these are, too,

    - the pack of the left operand, a block that stays in L2 at a time, and an elementwise operation
      before it,
    - where the sums start: zeros, or a packed operand and corrections,
    - the unpack, and elementwise operations that alone use its result: bias, activation, residual.
      A result that another product takes in tiles is not unpacked.

    The right operand is packed before the loops, for all blocks; where there are few rows, a panel at
    a time in them. Elementwise operations that are left are fused with each other. Everything stays
    on tensors.
  }];
  let options = [
    Option<"library", "library", "std::string", "\"\"",
           "a library of microkernels; default: libkdl's own">,
    Option<"target", "target", "std::string", "\"\"", "the CPU, as for kdl-data-tile">,
  ];
  let dependentDialects = ["::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect", "::mlir::scf::SCFDialect",
                           "::mlir::tensor::TensorDialect"];
}

def KdlMarkManualDeallocation : Pass<"kdl-mark-manual-deallocation", "::mlir::ModuleOp"> {
  let summary = "Marks the memory that a module frees itself, before tensors become buffers";
  let description = [{
    A function without tensors keeps its memory management as it is: `kdl-deallocate-buffers` leaves it alone.
    In one with tensors a `memref.alloc` that is freed there by a `memref.dealloc` stays so.
  }];
}

def KdlLowerExpandShapes : Pass<"kdl-lower-expand-shapes", "::mlir::ModuleOp"> {
  let summary = "Casts in place of memref.expand_shape with two dynamic sizes in a group";
  let description = [{
    The sizes are those that the operation names. MLIR's `expand-strided-metadata` crashes at such.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect"];
}

def KdlDeallocateBuffers : Pass<"kdl-deallocate-buffers", "::mlir::ModuleOp"> {
  let summary = "Frees the buffers that tensors became";
  let description = [{
    MLIR's ownership-based deallocation, of the functions that `kdl-mark-manual-deallocation` found tensors in.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::bufferization::BufferizationDialect",
                           "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect"];
}

def KdlApproximateMath : Pass<"kdl-approximate-math", "::mlir::ModuleOp"> {
  let summary = "Replaces exp, tanh and erf of f32 by MLIR's polynomials, and adds up in any order";
  let description = [{
    LLVM makes vectors of polynomials, and calls of the C library of the functions. Results differ
    from the C library's in the last bits. Sums of linalg's reductions get the flag `reassoc`, without
    which they are made one after the other.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
                           "::mlir::vector::VectorDialect"];
}

def KdlLowerMinMax : Pass<"kdl-lower-min-max", "::mlir::ModuleOp"> {
  let summary = "Replaces arith.maximumf and minimumf of f32 and f64 by LLVM's own operations";
  let description = [{
    LLVM makes vectors of a loop over `llvm.intr.maximum`, and none of the comparisons that
    `arith-expand` makes of `arith.maximumf`, in which NaN has to be seen to. The results are the same.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

def KdlHoistAllocas : Pass<"kdl-hoist-allocas", "::mlir::ModuleOp"> {
  let summary = "Moves memory on the stack out of loops";
  let description = [{
    A `memref.alloca` of static size in the loops and branches of scf goes to where its function begins.
    Where it stands, each turn of a loop would take more of the stack, and LLVM keep in memory what
    could be registers. To be run where no loop is made parallel any more: behind
    `kdl-outline-parallel`.
  }];
}

def KdlFuseForalls : Pass<"kdl-fuse-foralls", "::mlir::ModuleOp"> {
  let summary = "Makes one scf.forall of several over as many blocks";
  let description = [{
    Of loops on tensors in the same block, of which none needs another's result: the products of one
    matrix by several, as in attention. Threads meet once behind them, not behind each. To be run
    where the same empty tensors are not made one any more: each result gets its own.
  }];
  let dependentDialects = ["::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect"];
}

def KdlCloneFills : Pass<"kdl-clone-fills", "::mlir::ModuleOp"> {
  let summary = "Fills a tensor for each operation that starts from it";
  let description = [{
    `cse` makes one `linalg.fill` of several, and bufferization a buffer and copies of that. A fill costs
    less than a copy, and what writes to it alone can be seen to. To be run behind the last `cse` on
    tensors.
  }];
  let dependentDialects = ["::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect"];
}

def KdlDistributeLoops : Pass<"kdl-distribute-loops", "::mlir::ModuleOp"> {
  let summary = "Divides operations of linalg among threads along their outermost loops";
  let description = [{
    Of operations on memrefs outside `scf.forall`, and of `memref.copy`: the outermost loops that are
    parallel and of static size become an `scf.forall` over about 16 parts. Operations that come in turn
    over the same loops are in one `scf.forall` where each part meets what the same part of the others
    wrote, and nothing else: the operations of a softmax or a layer norm. Each element is computed
    as before, from the same numbers in the same order.

    What is left as it is: loops over less work than `least-work`, with reductions or dynamic sizes
    outermost, with two results in the same memory, with results in memory that is read elsewhere, and with
    layouts in which elements might have the same address. Calls, and whatever may use the same
    memory, are not moved past.
  }];
  let options = [
    Option<"leastWork", "least-work", "int64_t", "131072",
           "what is divided, in estimated operations on an element: 1 for each operand and operation, 4 "
           "for a division, 16 for a function; 131072 take about 2 us with AVX-512">,
  ];
  let dependentDialects = ["::mlir::affine::AffineDialect", "::mlir::linalg::LinalgDialect",
                           "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect"];
}

def KdlOutlineParallel : Pass<"kdl-outline-parallel", "::mlir::ModuleOp"> {
  let summary = "Makes a function of the body of each outermost scf.forall";
  let description = [{
    Of loops on memrefs: the iterations are numbered, and a call stands for all of them, which
    `kdl-lower-parallel-calls` completes after the conversion to the LLVM dialect.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::func::FuncDialect"];
}

def KdlLowerParallelCalls : Pass<"kdl-lower-parallel-calls", "::mlir::ModuleOp"> {
  let summary = "Lets libkdl's threads run what kdl-outline-parallel left";
  let description = [{
    `kdl_mlir_parallel` of libkdl_mlir_runtime gets the number of iterations, a function that runs one
    of them, and the values that it needs. It divides them among the threads of the host device, as a
    launch of so many groups is (`KDL_HOST_THREADS`); a short loop is run by its caller alone.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

def KdlLowerContractions : Pass<"kdl-lower-contractions", "::mlir::ModuleOp"> {
  let summary = "Lowers products of matrices as they lie to the matmul library's kernels";
  let description = [{
    `linalg.matmul`, `matvec`, `vecmat`, transposed forms, `linalg.contract` and generic ones, on
    memrefs of any strides, of bf16, f16, f32 or signed i8, become calls of
    `kdl_matmul_plain_TYPE_part`, or of `kdl_matmul_pack_TYPE_part` and `kdl_matmul_TYPE_part`: the
    functions behind `<kdl/matmul.h>`, which decides, too. Where a size is dynamic, it decides when
    the program runs, in `kdl_matmul_TYPE_dynamic_scratch`, `_parts` and `_part`, in loops over as
    much as these take at a time. A fill with zeros just before is not needed. Their bitcode is in `kdl.bitcode` of what is called, and `kdl.calls` names the microkernel
    that is linked into it: the module's own, else the best of the library for the target. With
    `threads` they are made in parts, in an `scf.forall`.

    A batch of any number of dimensions is a loop around these calls. With `threads` its elements are
    divided among them, each made by one, where there are as many as a single one would have parts.

    What does not fit stays as it is, with a remark that says why, or is an error with
    `no-silent-fallback`: so does what has a microkernel that takes 16 steps at a time and no
    function for blocks, or one of the module's own that does.
  }];
  let options = ukernelOptions # [
    Option<"threads", "threads", "bool", "false", "in parts that may run at the same time">,
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::func::FuncDialect",
                           "::mlir::kdl::KdlDialect", "::mlir::LLVM::LLVMDialect",
                           "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect"];
}

def KdlLowerMmt4dToUkernels : Pass<"kdl-lower-mmt4d-to-ukernels", "::mlir::ModuleOp"> {
  let summary = "Lowers linalg.mmt4d to loops around a microkernel";
  let description = [{
    `linalg.mmt4d` on memrefs becomes two loops over the outer tiles, which call a microkernel of
    `<kdl/mma.h>` for the loop over K. The microkernel is bitcode in the attribute `kdl.bitcode` of
    the function that is called: one that the module brings, else the best of a library for the
    target, by libkdl's own rules. `kdl-mlir translate` and `kdl-mlir run` link and inline it.

    | operands | K0 | microkernel |
    |---|---|---|
    | bf16, bf16 to f32 | 2 | `kdl_uk_mma_f32_bf16` |
    | i8, i8 to i32 | 4 | `kdl_uk_mma_s32_u8s8`, with what its unsigned operand adds taken off again |
    | f32, f32 to f32 | 1 | `kdl_uk_mma_f32_f32` |
    | f16, f16 to f32 | 1 | `kdl_uk_mma_f32_f16`, with the left operand converted to f32 first |

    Where what a single tile is added to is written just before, by `linalg.fill` or another elementwise
    operation, that becomes a store for each vector, which LLVM makes registers of.

    N0 is a multiple of 16; M0, N0 and K0 are static, the outer sizes need not be. What does not fit
    stays as it is, with a remark that says why, or is an error there with `no-silent-fallback`.

    Microkernels for AMX take K in blocks of 16 steps, up to 32 rows and 32 columns: the left operand
    is packed anew, and so is what is left over of the right one. A program that has one asks the
    system for permission when it starts. A function that the module brings is given operands like
    that where it has the attribute `kdl.tiles`.
  }];
  let options = ukernelOptions;
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::func::FuncDialect",
                           "::mlir::kdl::KdlDialect", "::mlir::LLVM::LLVMDialect",
                           "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect",
                           "::mlir::vector::VectorDialect"];
}

#endif
