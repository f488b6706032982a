// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Dialect.h"
#include "Passes.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"
#include "mlir/Dialect/LLVMIR/XeVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"

namespace mlir::kdl {
#define GEN_PASS_DEF_KDLATTACHTARGETS
#include "KdlPasses.h.inc"
} // namespace mlir::kdl

using namespace mlir;
using namespace mlir::kdl;

namespace {

/// The PTX ISA version that introduced an architecture. A later version would prevent older drivers
/// from loading PTX that does not need it.
struct LeastPTX {
  unsigned chip;
  unsigned plain;       // sm_90
  unsigned accelerated; // sm_90a; 0: none
  unsigned family;      // sm_100f; 0: none
};
constexpr LeastPTX leastPTX[] = {
#define KDL_NVPTX(number, plain, a, f, ...) {number, plain, a, f},
#define KDL_NVPTX_RENAMED(number, current, plain, a, f) {number, plain, a, f},
#include "lib/inspect/nvptx.def"
};
/// No target is made for earlier ones.
constexpr unsigned oldestChip = 50, oldestPTX = 60;

/// 0 if the name is not an architecture.
unsigned findLeastPTX(StringRef chip) {
  StringRef digits = chip.drop_front(StringRef("sm_").size());
  char suffix = digits.empty() || llvm::isDigit(digits.back()) ? '\0' : digits.back();
  unsigned number;
  if (digits.drop_back(suffix != '\0').getAsInteger(10, number) || number < oldestChip)
    return 0;
  for (const LeastPTX &row : leastPTX) {
    if (row.chip != number)
      continue;
    unsigned least = suffix == '\0'  ? row.plain
                     : suffix == 'a' ? row.accelerated
                     : suffix == 'f' ? row.family
                                     : 0;
    return least ? std::max(least, oldestPTX) : 0;
  }
  return 0;
}

/// Whether LLVM's backend has this version; it ignores others with a note on standard error.
bool knowsPTX(unsigned version) {
  llvm::InitializeAllTargetInfos();
  llvm::InitializeAllTargetMCs();
  std::string error;
  llvm::Triple triple("nvptx64-nvidia-cuda");
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target)
    return true; // nothing is compiled then, which is another error
  std::unique_ptr<llvm::MCSubtargetInfo> info(target->createMCSubtargetInfo(triple, "", ""));
  return hasFeature(*info, "ptx" + std::to_string(version));
}

/// `why` is the problem with a well-formed name.
Attribute parseNVIDIA(MLIRContext *context, StringRef name, int optLevel, std::string &why) {
  auto [chip, version] = name.split(':');
  unsigned least = findLeastPTX(chip), asked = least;
  if (least == 0)
    why = (" of the unknown processor \"" + chip + "\"").str();
  if (least == 0 ||
      (!version.empty() && (!version.consume_front("ptx") || version.getAsInteger(10, asked))))
    return {};
  if (asked < least)
    why = (" of a PTX version below ptx" + Twine(least) + ", which introduced " + chip).str();
  else if (!knowsPTX(asked))
    why = " of a PTX version that LLVM does not know";
  if (!why.empty())
    return {};
  return NVVM::NVVMTargetAttr::get(context, optLevel, "nvptx64-nvidia-cuda", chip,
                                   "+ptx" + std::to_string(asked));
}

/// A target ID: "gfx90a:sramecc+:xnack-".
Attribute parseAMD(MLIRContext *context, StringRef name, int optLevel, std::string &why) {
  auto [chip, rest] = name.split(':');
  if (!isAMDGPUProcessor(chip)) {
    why = (" of the unknown processor \"" + chip + "\"").str();
    return {};
  }
  SmallVector<std::string> features;
  for (StringRef feature : llvm::split(rest, ':')) {
    if (feature.empty())
      continue;
    if (!feature.ends_with("+") && !feature.ends_with("-"))
      return {};
    features.push_back((feature.take_back() + feature.drop_back()).str());
  }
  return ROCDL::ROCDLTargetAttr::get(context, optLevel, "amdgcn-amd-amdhsa", chip,
                                     llvm::join(features, ","));
}

Attribute parseTarget(MLIRContext *context, StringRef name, int optLevel, std::string &why) {
  if (name.starts_with("sm_"))
    return parseNVIDIA(context, name, optLevel, why);
  if (name.starts_with("gfx"))
    return parseAMD(context, name, optLevel, why);
  if (name == "spirv")
    return xevm::XeVMTargetAttr::get(context, optLevel);
  if (name == "portable")
    return PortableTargetAttr::get(context);
  if (name == "host")
    return HostTargetAttr::get(context, optLevel, getHostArch());
  if (name.consume_front("host:") && !name.empty())
    return HostTargetAttr::get(context, optLevel, name);
  return {};
}

struct AttachTargets : public kdl::impl::KdlAttachTargetsBase<AttachTargets> {
  using Base::Base;

  void runOnOperation() override {
    SmallVector<Attribute> wanted;
    if (optLevel < 0 || optLevel > 3) {
      getOperation()->emitError("kdl-attach-targets: found O=")
          << optLevel.getValue() << ", expected 0 to 3";
      return signalPassFailure();
    }
    for (const std::string &name : targets) {
      std::string why;
      Attribute target = parseTarget(&getContext(), name, optLevel, why);
      if (!target) {
        getOperation()->emitError("kdl-attach-targets: found target \"")
            << name << "\"" << why
            << ", expected one as sm_90, sm_90a, sm_90:ptx84, gfx942, gfx90a:xnack+, spirv, "
               "portable, host or host:x86-64-v4";
        return signalPassFailure();
      }
      wanted.push_back(target);
    }
    if (wanted.empty()) {
      getOperation()->emitError("kdl-attach-targets: found no targets, expected targets=sm_90,...");
      return signalPassFailure();
    }
    getOperation()->walk([&](gpu::GPUModuleOp module) {
      llvm::SmallSetVector<Attribute, 8> all;
      if (ArrayAttr before = module.getTargetsAttr())
        all.insert_range(before);
      all.insert_range(wanted);
      module.setTargetsAttr(ArrayAttr::get(&getContext(), all.getArrayRef()));
      return WalkResult::skip();
    });
  }
};

} // namespace
