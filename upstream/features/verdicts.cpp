// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the patches say of every processor beside what libkdl says, which has keys and tokens of its own for the same things. A
// requirement is written in both vocabularies, and each is asked of each device. Differences must be in the list of explained ones.
#include "kdl_reference.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Object/OffloadBinary.h"
#include "llvm/Object/OffloadMetadata.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/TargetParser/NVPTXTargetParser.h"
#include "llvm/TargetParser/Triple.h"
#include "llvm/TargetParser/X86TargetParser.h"
#include <map>

using namespace llvm;
using namespace llvm::object;

namespace {

struct Requirement {
  std::string Key, Value; // libkdl's
  std::string Features;   // LLVM's
};

struct Device {
  std::string Spec, Arch; // libkdl's, LLVM's
  StringMap<bool> Features;
};

struct Explanation {
  StringRef Value;    // of libkdl's key; "*" for all
  StringRef Devices;  // names, separated by spaces; "*" for all
  StringRef Because;
};

constexpr StringLiteral SPIRVBytes = StringLiteral::withInnerNUL("\x03\x02\x23\x07\x00\x00\x01\x00\0\0\0\0\x01\0\0\0\0\0\0\0");

std::string write(StringRef Triple, StringRef Arch, ImageKind Kind, StringRef Bytes, StringRef Key, StringRef Value) {
  OffloadBinary::OffloadingImage Data;
  Data.TheImageKind = Kind;
  Data.StringData["triple"] = Triple;
  Data.StringData["arch"] = Arch;
  Data.StringData[Key] = Value;
  Data.Image = MemoryBuffer::getMemBuffer(Bytes, "", false);
  return OffloadBinary::write(Data).str().str();
}

unsigned Compared, Unexplained;
std::map<std::pair<std::string, std::string>, std::vector<std::string>> Differences;

void compare(ArrayRef<Device> Devices, ArrayRef<Requirement> Requirements, ArrayRef<Explanation> Explained, StringRef Triple,
             StringRef Arch, ImageKind Kind, StringRef Bytes) {
  for (const Requirement &R : Requirements)
    for (const Device &D : Devices) {
      std::string Theirs = write(Triple, Arch, Kind, Bytes, R.Key, R.Value);
      std::string Ours = write(Triple, Arch, Kind, Bytes, RequiresFeaturesKey, R.Features);
      reference_verdict Reference;
      if (!reference_judge(Theirs.data(), Theirs.size(), D.Spec.c_str(), &Reference)) {
        outs() << "libkdl cannot judge " << D.Spec << ": " << Reference.reasons << "\n";
        ++Unexplained;
        continue;
      }
      auto Buffer = MemoryBuffer::getMemBufferCopy(Ours);
      auto Binaries = cantFail(OffloadBinary::create(*Buffer));
      bool Runs = isMetadataCompatible(*Binaries.front(), D.Features);
      ++Compared;
      if (Runs == Reference.metadata_compatible)
        continue;
      const Explanation *Found = find_if(Explained, [&](const Explanation &E) {
        SmallVector<StringRef> Names;
        E.Devices.split(Names, ' ');
        return (E.Value == "*" || E.Value == R.Value) && (E.Devices == "*" || is_contained(Names, StringRef(D.Arch)));
      });
      bool Known = Found != Explained.end();
      Unexplained += !Known;
      Differences[{R.Key + "=" + R.Value + " | " + R.Features + " | " + (Runs ? "LLVM" : "libkdl"),
                   Known ? Found->Because.str() : "UNEXPLAINED"}]
          .push_back(D.Arch);
    }
}

//===----------------------------------------------------------------------===//

const Explanation AMDExplained[] = {
#include "verdicts_amd.inc"
};
const Explanation NVIDIAExplained[] = {
#include "verdicts_nvidia.inc"
};
const Explanation HostExplained[] = {
#include "verdicts_host.inc"
};

} // namespace

int main() {
  std::vector<Device> AMD, NVIDIA;
  const char *Name;
  for (size_t I = 0; reference_amd_family(I, &Name); ++I)
    if (!StringRef(Name).contains("generic"))
      AMD.push_back({"hip:" + std::string(Name), Name, getOffloadTargetFeatures(Triple("amdgcn-amd-amdhsa"), Name)});
  std::vector<Requirement> ComputeCapabilities;
  for (unsigned I = NVPTX::GK_NONE + 1; I <= NVPTX::GK_LAST; ++I) {
    auto Kind = static_cast<NVPTX::GPUKind>(I);
    if (NVPTX::isFamilySpecificArch(Kind) || NVPTX::getSmVersion(Kind) < 500)
      continue;
    std::string Arch = NVPTX::getArchName(Kind).str();
    NVIDIA.push_back({"cuda:" + Arch, Arch, getOffloadTargetFeatures(Triple("nvptx64-nvidia-cuda"), Arch)});
    ComputeCapabilities.push_back({"min_sm", Arch.substr(3), Arch});
  }

  // Names of LLVM that libkdl takes as they are, and two that neither takes any more.
  std::vector<Requirement> Names;
  for (StringRef Feature : {"mai-insts", "fp8-insts", "xf32-insts", "gfx940-insts", "gfx950-insts", "sm_70", "sm_80", "sm_89", "sm_90", "sm_90a",
                            "sm_100", "xnack", "sramecc"})
    Names.push_back({"requires_features", Feature.str(), Feature.str()});

  // Minimums, and features that both have a name for.
  const Requirement AMDRequirements[] = {
      {"min_gfx", "gfx908:cdna1", "mai-insts"},          {"min_gfx", "gfx90a:cdna2", "gfx90a-insts"},
      {"min_gfx", "gfx942:cdna3", "gfx940-insts"},       {"min_gfx", "gfx950:cdna4", "gfx950-insts"},
      {"min_gfx", "gfx1010:rdna1", "gfx10-insts"},       {"min_gfx", "gfx1030:rdna2", "gfx10-3-insts"},
      {"min_gfx", "gfx1100:rdna3", "gfx11-insts"},       {"min_gfx", "gfx1200:rdna4", "gfx12-insts"},
      {"requires_features", "mfma_amd", "mai-insts"},    {"requires_features", "tf32", "xf32-insts"},
      {"requires_features", "fp8", "fp8-conversion-insts"}, {"requires_features", "fp16", "16-bit-insts"},
      {"requires_features", "wmma_amd", "wmma-256b-insts"}, {"requires_features", "subgroup_size_64", "wavefrontsize64"},
      {"requires_features", "subgroup_size_32", "wavefrontsize32"}, {"requires_features", "images", "image-insts"},
      {"requires_features", "flux_capacitor", "flux-capacitor"},
  };
  const Requirement NVIDIAFeatures[] = {
      {"requires_features", "bf16", "sm_80"},     {"requires_features", "tf32", "sm_80"},   {"requires_features", "fp8", "sm_89"},
      {"requires_features", "clusters", "sm_90"}, {"requires_features", "tma_nv", "sm_90"}, {"requires_features", "wgmma_nv", "sm_90a"},
      {"requires_features", "async_copy_nv", "sm_80"}, {"requires_features", "fp16", "sm_53"}, {"requires_features", "tensor_core_nv", "sm_70"},
      {"requires_features", "flux_capacitor", "flux-capacitor"},
  };
  compare(AMD, AMDRequirements, AMDExplained, "spirv64-amd-amdhsa", "amdgcnspirv", IMG_SPIRV, SPIRVBytes);
  compare(AMD, Names, AMDExplained, "spirv64-amd-amdhsa", "amdgcnspirv", IMG_SPIRV, SPIRVBytes);
  StringRef PTX = ".version 6.0\n.target sm_50\n.address_size 64\n";
  compare(NVIDIA, ComputeCapabilities, NVIDIAExplained, "nvptx64-nvidia-cuda", "sm_50", IMG_PTX, PTX);
  compare(NVIDIA, Names, NVIDIAExplained, "nvptx64-nvidia-cuda", "sm_50", IMG_PTX, PTX);
  compare(NVIDIA, NVIDIAFeatures, NVIDIAExplained, "nvptx64-nvidia-cuda", "sm_50", IMG_PTX, PTX);

  // CPUs: libkdl takes LLVM's names, so that each is asked with the same value.
  std::vector<Device> CPUs;
  std::vector<Requirement> CPURequirements;
  for (StringRef CPU : {"x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4"}) {
    SmallVector<StringRef> Names;
    X86::getFeaturesForCPU(CPU, Names);
    CPUs.push_back({"host:" + CPU.str(), CPU.str(), {}});
    for (StringRef Feature : Names) {
      CPUs.back().Features[Feature] = true;
      if (none_of(CPURequirements, [&](const Requirement &R) { return R.Features == Feature; }))
        CPURequirements.push_back({"requires_features", Feature.str(), Feature.str()});
    }
  }
  for (StringRef Feature : {"avx512vnni", "avx512bf16", "amx-tile", "amx-int8", "aes", "sha", "vaes"})
    CPURequirements.push_back({"requires_features", Feature.str(), Feature.str()});
  compare(CPUs, CPURequirements, HostExplained, "x86_64-unknown-linux-gnu", "x86-64", IMG_Object, "an object");

  outs() << "| libkdl's | LLVM's | runs only by | on | because |\n|---|---|---|---|---|\n";
  for (const auto &[What, Names] : Differences)
    outs() << "| " << What.first << " | " << join(Names, " ") << " | " << What.second << " |\n";
  outs() << Compared << " verdicts on " << AMD.size() + NVIDIA.size() + CPUs.size() << " processors, " << Unexplained << " differences unexplained\n";
  return Unexplained != 0;
}
