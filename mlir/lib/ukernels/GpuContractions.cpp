// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ukernels/GpuContractions.h"

#include "../runtime/kdl_mlir.h"
#include "Dialect.h"
#include "ukernels/Contraction.h"
#include "ukernels/MatmulImages.h"
#include "ukernels/UnpackedContraction.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include <kdl/matmul_gpu.h>

using namespace mlir;
using namespace mlir::kdl;

//===----------------------------------------------------------------------===//
// Targets
//===----------------------------------------------------------------------===//

static bool isGpu(StringRef target) {
  return target.starts_with("sm_") || target.starts_with("gfx");
}

bool kdl::hasGpuTarget(StringRef target) {
  return llvm::any_of(llvm::split(target, ','), isGpu);
}

/// The device of a target: cuda:sm_90 for sm_90a.
static std::string deviceOf(StringRef target) {
  if (target.starts_with("sm_"))
    return ("cuda:" + target.rtrim("af")).str();
  if (target.starts_with("gfx"))
    return ("hip:" + target).str();
  return target == "host" ? std::string("host:") + getHostArch() : target.str();
}

LogicalResult kdl::checkGpuTargets(MLIRContext *context, StringRef pass,
                                   const UkernelSource &source) {
  for (StringRef target : llvm::split(source.target, ',')) {
    kdl_device *device = nullptr;
    bool isKnown = isGpu(target) || target == "host" || target.starts_with("host:");
    if (!isKnown || kdl_device_find(deviceOf(target).c_str(), &device) != KDL_OK)
      return emitError(UnknownLoc::get(context))
             << pass << ": found target=" << target << " among GPUs, expected sm_90a, gfx942, host "
             << "or host:x86-64-v4" << (isKnown ? std::string(": ") + kdl_error_message() : "");
  }
  return checkUkernelSource(context, pass, {source.library, ""});
}

//===----------------------------------------------------------------------===//
// The binary
//===----------------------------------------------------------------------===//

namespace {

/// The target attribute of an image of the matmul library.
Attribute targetOf(MLIRContext *context, const MatmulImage &image) {
  constexpr int optLevel = 3;
  StringRef arch = image.arch;
  if (StringRef(image.triple).starts_with("nvptx"))
    return NVVM::NVVMTargetAttr::get(context, optLevel, image.triple, arch, "");
  if (!llvm::Triple(image.triple).isAMDGPU())
    return HostTargetAttr::get(context, optLevel, image.triple, arch);
  auto [chip, id] = arch.split(':');
  SmallVector<std::string> features; // "xnack+" is the feature +xnack
  for (StringRef feature : llvm::split(id, ':')) {
    if (!feature.empty())
      features.push_back((feature.take_back() + feature.drop_back()).str());
  }
  return ROCDL::ROCDLTargetAttr::get(context, optLevel, image.triple, chip,
                                     llvm::join(features, ","));
}

Attribute makeObject(MLIRContext *context, const MatmulImage &image) {
  Builder builder(context);
  NamedAttrList properties;
  for (const auto &[key, value] : image.pairs)
    properties.set(key, builder.getStringAttr(value));
  auto format = image.kind == KDL_IMAGE_BITCODE ? gpu::CompilationTarget::Offload
                : image.kind == KDL_IMAGE_PTX   ? gpu::CompilationTarget::Assembly
                                                : gpu::CompilationTarget::Binary;
  return gpu::ObjectAttr::get(context, targetOf(context, image), format,
                              builder.getStringAttr(image.bytes), properties.getDictionary(context),
                              nullptr);
}

/// The binary with the kernels for a type on all targets, and the microkernels that the library has
/// with them.
FailureOr<gpu::BinaryOp> getBinary(ModuleOp module, const UnpackedContraction &product,
                                   const UkernelSource &source, std::string &why) {
  MLIRContext *context = module.getContext();
  std::string name = (KDL_MLIR_CONTRACTION + product.suffix).str();
  if (auto known = module.lookupSymbol<gpu::BinaryOp>(name))
    return known;
  SmallVector<MatmulTarget> targets;
  bool hasHost = false;
  for (StringRef target : llvm::split(source.target, ',')) {
    hasHost |= !isGpu(target);
    targets.push_back(isGpu(target)
                          ? MatmulTarget{deviceOf(target),
                                         ("kdl_gpu_matmul_" + product.suffix + "_tiles").str(),
                                         ("kdl_uk_gpu_mma_" + product.suffix).str()}
                          : MatmulTarget{deviceOf(target), ("kdl_matmul_" + product.suffix).str(),
                                         product.kind.ukernel});
  }
  FailureOr<SmallVector<MatmulImage>> images = findMatmulImages(targets, source.library, why);
  if (failed(images))
    return failure();
  SmallVector<Attribute> objects;
  for (const MatmulImage &image : *images)
    objects.push_back(makeObject(context, image));
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  auto select =
      RuntimeSelectAttr::get(context, Policy::best, hasHost ? Fallback::host : Fallback::error);
  module->setAttr(gpu::GPUDialect::getContainerModuleAttrName(), builder.getUnitAttr());
  return gpu::BinaryOp::create(builder, module.getLoc(), name, select,
                               builder.getArrayAttr(objects));
}

//===----------------------------------------------------------------------===//
// Matching
//===----------------------------------------------------------------------===//

/// A product with what can be part of its launch.
struct Match {
  UnpackedContraction product;
  linalg::FillOp fill;         // of the result with zeros; null: the product is added to it
  std::optional<Epilogue> end; // what follows
};

/// The fill with zeros that the result has from before; null if something else may write to it.
linalg::FillOp findZeroFill(linalg::LinalgOp op) {
  Value out = op->getOperand(2);
  for (Operation *before = op->getPrevNode(); before; before = before->getPrevNode()) {
    if (auto fill = dyn_cast<linalg::FillOp>(before); fill && fill.getOutputs()[0] == out) {
      Value with = fill.getInputs()[0];
      bool isZero = matchPattern(with, m_PosZeroFloat()) || matchPattern(with, m_Zero());
      return isZero ? fill : nullptr;
    }
    bool isApart = isMemoryEffectFree(before) || isa<memref::AllocOp, gpu::AllocOp>(before) ||
                   (isa<gpu::MemcpyOp, linalg::LinalgOp>(before) &&
                    !llvm::is_contained(before->getOperands(), out));
    if (!isApart)
      return nullptr;
  }
  return nullptr;
}

FailureOr<Match> match(linalg::LinalgOp op, std::string &why) {
  FailureOr<UnpackedContraction> product = matchUnpackedContraction(op, why);
  if (failed(product))
    return failure();
  if (product->type == KDL_MATMUL_F32_F32) {
    why = "found f32, expected bf16, f16 or i8: the microkernels of GPUs have no other operands";
    return failure();
  }
  if (product->batch.size() > 1) {
    why = "found more than one dimension of a batch";
    return failure();
  }
  linalg::FillOp fill = findZeroFill(op);
  return Match{*product, fill, matchEpilogue(op, product->out, /*adds=*/!fill)};
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

/// Of the launch that a kernel had.
struct Chain {
  Type tokenType;
  SmallVector<Value> dependencies;
};

class Launcher {
public:
  Launcher(linalg::LinalgOp op, const Match &found, gpu::BinaryOp binary, bool hostMemory)
      : builder(op), where(op.getLoc()), op(op), found(found), binary(binary),
        hostMemory(hostMemory) {
    if (found.end)
      builder.setInsertionPoint(found.end->op);
  }
  void launch(Chain &chain);

private:
  Value number(int64_t value) {
    return arith::ConstantIntOp::create(builder, where, builder.getI64Type(), value);
  }
  Value number(Value index) {
    return arith::IndexCastOp::create(builder, where, builder.getI64Type(), index);
  }
  Value size(int64_t known, unsigned operand, std::optional<unsigned> dim) {
    return ShapedType::isDynamic(known)
               ? number(memref::DimOp::create(builder, where, op->getOperand(operand), *dim))
               : number(known);
  }
  Value address(Value memref, Value offset);
  void addMatrix(Value memref, const UnpackedMatrix &dims);

  OpBuilder builder;
  Location where;
  linalg::LinalgOp op;
  const Match &found;
  gpu::BinaryOp binary;
  bool hostMemory;
  SmallVector<Value> arguments;
};

/// Erases memory that nothing uses but what frees it.
void eraseIfUnused(Operation *allocation) {
  if (!allocation || !isa<memref::AllocOp, memref::AllocaOp, gpu::AllocOp>(allocation))
    return;
  auto frees = [](Operation *user) {
    return isa<memref::DeallocOp>(user) ||
           (isa<gpu::DeallocOp>(user) && user->getNumResults() == 0);
  };
  if (allocation->getNumResults() != 1 || !llvm::all_of(allocation->getUsers(), frees))
    return;
  for (Operation *user : llvm::make_early_inc_range(allocation->getUsers()))
    user->erase();
  allocation->erase();
}

Value Launcher::address(Value memref, Value offset) {
  auto type = cast<MemRefType>(memref.getType());
  Value first = memref::ExtractAlignedPointerAsIndexOp::create(builder, where, memref);
  Value bytes = arith::ConstantIndexOp::create(builder, where, type.getElementTypeBitWidth() / 8);
  Value distance = arith::MulIOp::create(builder, where, offset, bytes);
  return number(arith::AddIOp::create(builder, where, first, distance));
}

/// Null: no matrix.
void Launcher::addMatrix(Value memref, const UnpackedMatrix &dims) {
  if (!memref) {
    arguments.append(4, number(int64_t(0)));
    return;
  }
  auto layout = memref::ExtractStridedMetadataOp::create(builder, where, memref);
  auto stride = [&](std::optional<unsigned> dim) -> Value {
    return dim ? number(layout.getStrides()[*dim]) : number(1);
  };
  Value batch =
      dims.batch.empty() ? number(int64_t(0)) : number(layout.getStrides()[dims.batch[0]]);
  arguments.append(
      {address(memref, layout.getOffset()), stride(dims.row), stride(dims.column), batch});
}

void Launcher::launch(Chain &chain) {
  const UnpackedContraction &p = found.product;
  Epilogue end = found.end.value_or(Epilogue{});
  Value result = end.op ? end.result : op->getOperand(2);
  Type element = cast<MemRefType>(result.getType()).getElementType();
  kdl_matmul_result as = element.isBF16()  ? KDL_MATMUL_RESULT_BF16
                         : element.isF16() ? KDL_MATMUL_RESULT_F16
                         : element.isF32() ? KDL_MATMUL_RESULT_F32
                                           : KDL_MATMUL_RESULT_ACC;
  addMatrix(op->getOperand(0), p.lhs);
  addMatrix(op->getOperand(1), p.rhs);
  addMatrix(result, p.out);
  addMatrix(found.fill ? end.residual : op->getOperand(2), p.out);
  arguments.append({size(p.m, 0, p.lhs.row), size(p.n, 1, p.rhs.column), size(p.k, 0, p.lhs.column),
                    p.batch.empty() ? number(1) : size(p.batch[0], 0, p.lhs.batch[0])});
  if (end.bias) {
    auto layout = memref::ExtractStridedMetadataOp::create(builder, where, end.bias);
    arguments.push_back(address(end.bias, layout.getOffset()));
  } else {
    arguments.push_back(number(int64_t(0)));
  }
  arguments.append({number(as), number(end.isRelu ? KDL_MATMUL_RELU : KDL_MATMUL_NO_ACTIVATION),
                    number(int64_t(hostMemory)),
                    arith::ConstantOp::create(builder, where, builder.getF32FloatAttr(end.scale))});
  assert(arguments.size() == KDL_MLIR_CONTRACTION_ARGS);
  Value one = arith::ConstantIndexOp::create(builder, where, 1);
  auto kernel =
      SymbolRefAttr::get(binary.getNameAttr(), {FlatSymbolRefAttr::get(binary.getNameAttr())});
  auto launch = gpu::LaunchFuncOp::create(builder, where, kernel, gpu::KernelDim3{one, one, one},
                                          gpu::KernelDim3{one, one, one}, Value(), arguments,
                                          chain.tokenType, chain.dependencies);
  if (chain.tokenType)
    chain.dependencies = {launch.getAsyncToken()};
  Operation *sums = op->getOperand(2).getDefiningOp();
  if (found.end)
    found.end->op->erase();
  op->erase();
  if (found.fill)
    found.fill->erase();
  eraseIfUnused(sums);
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

bool isProduct(linalg::LinalgOp op) {
  return linalg::isaContractionOpInterface(op) && op.hasPureBufferSemantics() && !matchMmt4d(op) &&
         !isa<linalg::Mmt4DOp, linalg::BatchMmt4DOp>(op.getOperation());
}

SmallVector<linalg::LinalgOp> productsOf(Block &block) {
  SmallVector<linalg::LinalgOp> found;
  for (auto op : block.getOps<linalg::LinalgOp>()) {
    if (isProduct(op))
      found.push_back(op);
  }
  return found;
}

/// Whether a kernel has only products and what becomes part of their launches.
LogicalResult checkKernel(gpu::GPUFuncOp kernel, ArrayRef<linalg::LinalgOp> products,
                          std::string &why) {
  llvm::SmallPtrSet<Operation *, 8> taken;
  for (linalg::LinalgOp op : products) {
    FailureOr<Match> found = match(op, why);
    if (failed(found))
      return failure();
    taken.insert(op);
    if (found->fill)
      taken.insert(found->fill);
    if (found->end)
      taken.insert(found->end->op);
  }
  if (!kernel.getBody().hasOneBlock()) {
    why = "found branches in the kernel, expected products alone";
    return failure();
  }
  for (Operation &op : kernel.getBody().front()) {
    if (taken.contains(&op) || isMemoryEffectFree(&op) || isa<gpu::ReturnOp, memref::AllocaOp>(op))
      continue;
    why = ("found " + op.getName().getStringRef() +
           " in the kernel, expected products, and zeros before and elementwise operations behind "
           "them: bias, residual, maximum with 0")
              .str();
    return failure();
  }
  return success();
}

class Contractions {
public:
  Contractions(ModuleOp module, const UkernelSource &source, const GpuContractionOptions &options)
      : module(module), source(source), options(options) {}

  LogicalResult run();

private:
  void report(Operation *op, StringRef why);
  LogicalResult lower(linalg::LinalgOp op, Chain &chain, std::string &why);
  void lowerKernel(gpu::GPUFuncOp kernel);

  ModuleOp module;
  const UkernelSource &source;
  const GpuContractionOptions &options;
  bool hasFailed = false;
};

void Contractions::report(Operation *op, StringRef why) {
  if (options.noSilentFallback) {
    op->emitError(op->getName().getStringRef()) << " has no microkernel: " << why;
    hasFailed = true;
  } else {
    op->emitRemark("stays ") << op->getName().getStringRef() << ": " << why;
  }
}

LogicalResult Contractions::lower(linalg::LinalgOp op, Chain &chain, std::string &why) {
  FailureOr<Match> found = match(op, why);
  if (failed(found))
    return failure();
  FailureOr<gpu::BinaryOp> binary = getBinary(module, found->product, source, why);
  if (failed(binary))
    return failure();
  Launcher(op, *found, *binary, options.hostMemory).launch(chain);
  return success();
}

/// The products of a kernel take the place of its launches: all groups compute them together, as
/// many as libkdl launches for the shape.
void Contractions::lowerKernel(gpu::GPUFuncOp kernel) {
  SmallVector<linalg::LinalgOp> products = productsOf(kernel.getBody().front());
  std::string why;
  if (products.empty())
    return;
  FailureOr<Match> first = match(products[0], why);
  if (failed(first) || failed(checkKernel(kernel, products, why)) ||
      failed(getBinary(module, first->product, source, why)))
    return report(products[0], why);
  SmallVector<gpu::LaunchFuncOp> launches;
  module.walk([&](gpu::LaunchFuncOp launch) {
    if (SymbolTable::lookupNearestSymbolFrom(launch, launch.getKernel()) == kernel)
      launches.push_back(launch);
  });
  for (gpu::LaunchFuncOp launch : launches) {
    Chain chain;
    if (Value token = launch.getAsyncToken())
      chain.tokenType = token.getType();
    llvm::append_range(chain.dependencies, launch.getAsyncDependencies());
    OpBuilder builder(launch);
    IRMapping mapping;
    mapping.map(kernel.getArguments().take_front(launch.getNumKernelOperands()),
                launch.getKernelOperands());
    SmallVector<linalg::LinalgOp> copies;
    for (Operation &op : kernel.getBody().front().without_terminator()) {
      Operation *copy = builder.clone(op, mapping);
      if (llvm::is_contained(products, dyn_cast<linalg::LinalgOp>(op)))
        copies.push_back(cast<linalg::LinalgOp>(copy));
    }
    for (linalg::LinalgOp copy : copies) {
      if (failed(lower(copy, chain, why)))
        return report(copy, why);
    }
    if (chain.tokenType)
      launch.getAsyncToken().replaceAllUsesWith(chain.dependencies[0]);
    launch->erase();
  }
  auto parent = kernel->getParentOfType<gpu::GPUModuleOp>();
  kernel->erase();
  if (parent.getBody()->empty())
    parent->erase();
}

LogicalResult Contractions::run() {
  SmallVector<gpu::GPUFuncOp> kernels;
  module.walk([&](gpu::GPUFuncOp kernel) {
    if (kernel.isKernel())
      kernels.push_back(kernel);
  });
  for (gpu::GPUFuncOp kernel : kernels)
    lowerKernel(kernel);
  SmallVector<linalg::LinalgOp> ops;
  module.walk([&](linalg::LinalgOp op) {
    if (isProduct(op) && !op->getParentOfType<gpu::GPUModuleOp>())
      ops.push_back(op);
  });
  for (linalg::LinalgOp op : ops) {
    std::string why;
    Chain synchronous;
    if (failed(lower(op, synchronous, why)))
      report(op, why);
  }
  return failure(hasFailed);
}

} // namespace

LogicalResult kdl::lowerGpuContractions(ModuleOp module, const UkernelSource &source,
                                        const GpuContractionOptions &options) {
  return Contractions(module, source, options).run();
}
