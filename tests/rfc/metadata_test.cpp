// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The check that tests/rfc/five-keys.patch adds to LLVM, against a table written from
// docs/metadata.md, and against libkdl: both must judge every binary alike. Binaries are written by
// LLVM's own OffloadBinary::write. With --time: what the check costs, beside parsing the binary.
#include "kdl_reference.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Object/OffloadMetadata.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include <chrono>

using namespace llvm;
using namespace llvm::object;

namespace {

//===----------------------------------------------------------------------===//
// Images: one of each form, which its devices take whatever the metadata says
//===----------------------------------------------------------------------===//

struct Image {
  ImageKind Kind;
  StringRef Triple;
  StringRef Arch;
  StringRef Bytes;
};

constexpr StringLiteral SPIRVBytes =
    StringLiteral::withInnerNUL("\x03\x02\x23\x07\x00\x00\x01\x00\0\0\0\0\x01\0\0\0\0\0\0\0");

const Image PTX{IMG_PTX, "nvptx64-nvidia-cuda", "sm_50",
                ".version 6.0\n.target sm_50\n.address_size 64\n"};
const Image Cubin{IMG_Cubin, "nvptx64-nvidia-cuda", "sm_90", "a cubin"};
const Image AMDSPIRV{IMG_SPIRV, "spirv64-amd-amdhsa", "amdgcnspirv", SPIRVBytes};
const Image SPIRV{IMG_SPIRV, "spirv64-unknown-unknown", "", SPIRVBytes};
const Image X86{IMG_Object, "x86_64-unknown-linux-gnu", "x86-64", "an object"};
const Image Arm{IMG_Object, "aarch64-unknown-linux-gnu", "armv8-a", "an object"};

//===----------------------------------------------------------------------===//
// Devices: how libkdl and LLVM spell them, and their tokens
//===----------------------------------------------------------------------===//

struct Device {
  const char *Spec;
  StringRef Arch;
  const Image &Portable;
  StringRef Features;
  StringRef OtherNames = {}; // of tokens the device has
};

const Device Turing{"cuda:sm_75", "sm_75", PTX,
                    "fp16+fp64+int8_dot+int64+int64_atomics+tensor_core_nv+cooperative_launch+"
                    "subgroups+subgroup_size_32+generic_pointer+images"};
const Device Ampere{"cuda:sm_80", "sm_80", PTX,
                    "fp16+bf16+tf32+fp64+int8_dot+int64+int64_atomics+tensor_core_nv+"
                    "async_copy_nv+cooperative_launch+subgroups+subgroup_size_32+"
                    "generic_pointer+images"};
const Device Hopper{"cuda:sm_90 driver=13.0", "sm_90a", PTX,
                    "fp16+bf16+tf32+fp8+fp64+int8_dot+int64+int64_atomics+tensor_core_nv+"
                    "async_copy_nv+tma_nv+wgmma_nv+cooperative_launch+clusters+subgroups+"
                    "subgroup_size_32+generic_pointer+images"};
const Device Thor{"cuda:sm_110", "sm_101", PTX,
                  "fp16+bf16+tf32+fp8+fp4+fp64+int8_dot+int64+int64_atomics+tensor_core_nv+"
                  "async_copy_nv+tma_nv+tcgen05_nv+cooperative_launch+clusters+subgroups+"
                  "subgroup_size_32+generic_pointer+images"};
const Device Blackwell{"cuda:sm_120", "sm_120", PTX,
                       "fp16+bf16+tf32+fp8+fp4+fp64+int8_dot+int64+int64_atomics+tensor_core_nv+"
                       "async_copy_nv+tma_nv+cooperative_launch+clusters+subgroups+"
                       "subgroup_size_32+generic_pointer+images"};
const Device Vega{"hip:gfx906:sramecc+:xnack-", "gfx906:sramecc+:xnack-", AMDSPIRV,
                  "fp16+fp64+int8_dot+int64+int64_atomics+cooperative_launch+subgroups+"
                  "subgroup_size_64+generic_pointer+images"};
const Device MI100{"hip:gfx908:sramecc+:xnack-", "gfx908:sramecc+:xnack-", AMDSPIRV,
                   "fp16+bf16+fp64+int8_dot+int64+int64_atomics+mfma_amd+cooperative_launch+"
                   "subgroups+subgroup_size_64+generic_pointer+images"};
const Device MI300{"hip:gfx942:sramecc+:xnack-", "gfx942:sramecc+:xnack-", AMDSPIRV,
                   "fp16+bf16+tf32+fp8+fp64+int8_dot+int64+int64_atomics+mfma_amd+"
                   "cooperative_launch+subgroups+subgroup_size_64+generic_pointer"};
const Device RDNA2{"hip:gfx1030", "gfx1030", AMDSPIRV,
                   "fp16+fp64+int8_dot+int64+int64_atomics+cooperative_launch+subgroups+"
                   "subgroup_size_32+subgroup_size_64+generic_pointer+images"};
const Device RDNA3{"hip:gfx1100", "gfx1100", AMDSPIRV,
                   "fp16+bf16+fp64+int8_dot+int64+int64_atomics+wmma_amd+cooperative_launch+"
                   "subgroups+subgroup_size_32+subgroup_size_64+generic_pointer+images"};
const Device GFX125{"hip:gfx1250", "gfx1250", AMDSPIRV,
                    "fp16+bf16+fp8+fp4+fp64+int8_dot+int64+int64_atomics+wmma_amd+"
                    "cooperative_launch+clusters+subgroups+subgroup_size_32+generic_pointer"};
const Device OpenCL{"opencl:spirv64 il=1.4 features=fp64+subgroups", "spirv64", SPIRV,
                    "fp64+subgroups"};
const Device Haswell{"host:x86-64-v3", "x86-64-v3", X86,
                     "cmov+cx8+fpu+fxsr+mmx+sce+sse+sse2+cmpxchg16b+lahf_sahf+sse3+ssse3+sse4_1+"
                     "sse4_2+popcnt+osxsave+movbe+lzcnt+avx+f16c+bmi1+fma+bmi2+avx2+xsave",
                     "fp64+int64"};
const Device Neoverse{"host:armv8.2-a+dotprod", "armv8.2-a+dotprod", Arm,
                      "lse+fp+simd+dotprod+rdm+crc+dpb", "fp64+int64+int8_dot"};

const Device *const Devices[] = {&Turing, &Ampere, &Hopper,  &Thor,    &Blackwell,
                                 &Vega,   &MI100,  &MI300,   &RDNA2,   &RDNA3,
                                 &GFX125, &OpenCL, &Haswell, &Neoverse};

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

using Keys = SmallVector<std::pair<StringRef, StringRef>, 3>;

struct Case {
  Keys Metadata;
  const Device &On;
  bool Compatible;
  uint32_t Priority = 0;
  const Image *Packed = nullptr; // where it is not the device's portable image
  bool Runs = true;              // what the triple and the arch say
};

const Case Cases[] = {
    // Nothing asked for.
    {{}, Hopper, true},
    {{}, MI300, true},
    {{}, Haswell, true},

    // min_sm: the device's compute capability is that or later, majors included.
    {{{"min_sm", "90"}}, Hopper, true},
    {{{"min_sm", "90"}}, Ampere, false},
    {{{"min_sm", "80"}}, Ampere, true},
    {{{"min_sm", "75"}}, Blackwell, true},
    {{{"min_sm", "121"}}, Blackwell, false},
    {{{"min_sm", "89"}}, Hopper, true},
    {{{"min_sm", "101"}}, Thor, true},
    {{{"min_sm", "110"}}, Thor, true},
    {{{"min_sm", "103"}}, Thor, true},
    {{{"min_sm", "120"}}, Thor, false},
    {{{"min_sm", "90"}}, MI300, true},
    {{{"min_sm", "90"}}, Haswell, true},

    // A must-check value that cannot be read rules the image out, on whatever device.
    {{{"min_sm", ""}}, Hopper, false},
    {{{"min_sm", "9"}}, Hopper, false},
    {{{"min_sm", "9.0"}}, Hopper, false},
    {{{"min_sm", "sm_90"}}, Hopper, false},
    {{{"min_sm", "90a"}}, Hopper, false},
    {{{"min_sm", "-90"}}, Hopper, false},
    {{{"min_sm", "99999999999999999999"}}, Hopper, false},
    {{{"min_sm", "2560"}}, Hopper, false},
    {{{"min_sm", "2560"}}, MI300, false},
    {{{"min_sm", "2559"}}, MI300, true},
    {{{"min_sm", "sm_90"}}, MI300, false},
    {{{"min_sm", "sm_90"}}, Haswell, false},

    // min_gfx: a minimum within one family, never across.
    {{{"min_gfx", "gfx908:cdna1"}}, MI300, true},
    {{{"min_gfx", "gfx908:cdna1"}}, MI100, true},
    {{{"min_gfx", "gfx90a:cdna2"}}, MI100, false},
    {{{"min_gfx", "gfx90a:cdna2"}}, MI300, true},
    {{{"min_gfx", "gfx950:cdna4"}}, MI300, false},
    {{{"min_gfx", "gfx90a:cdna2"}}, RDNA3, false},
    {{{"min_gfx", "gfx90a:cdna2"}}, Vega, false},
    {{{"min_gfx", "gfx900:gcn"}}, Vega, true},
    {{{"min_gfx", "gfx900:gcn"}}, MI100, false},
    {{{"min_gfx", "gfx1030:rdna2"}}, RDNA3, true},
    {{{"min_gfx", "gfx1030:rdna2"}}, RDNA2, true},
    {{{"min_gfx", "gfx1100:rdna3"}}, RDNA2, false},
    {{{"min_gfx", "gfx1100:rdna3"}}, MI300, false},
    {{{"min_gfx", "gfx1100:rdna3"}}, GFX125, false},
    {{{"min_gfx", "gfx1030"}}, RDNA3, true},
    {{{"min_gfx", "gfx90a"}}, RDNA3, false},
    {{{"min_gfx", "gfx90a:cdna2"}}, Hopper, true},
    {{{"min_gfx", "gfx90a:cdna3"}}, MI300, false},
    {{{"min_gfx", "gfx90a:cdna"}}, MI300, false},
    {{{"min_gfx", "gfx90a:"}}, MI300, false},
    {{{"min_gfx", "gfx90a:cdna2:xnack+"}}, MI300, false},
    {{{"min_gfx", "cdna2"}}, MI300, false},
    {{{"min_gfx", ""}}, MI300, false},
    {{{"min_gfx", "90a"}}, MI300, false},
    {{{"min_gfx", "gfx9999:rdna9"}}, RDNA3, false},
    {{{"min_gfx", "gfx9-generic"}}, Vega, false},
    {{{"min_gfx", "gfx1250"}}, GFX125, false},
    {{{"min_gfx", "gfx90a:cdna3"}}, Hopper, false},

    // requires_features: all of them; an unknown token is one the device lacks.
    {{{"requires_features", "bf16"}}, Ampere, true},
    {{{"requires_features", "bf16"}}, Turing, false},
    {{{"requires_features", "bf16+fp8"}}, Hopper, true},
    {{{"requires_features", "bf16,fp8"}}, Hopper, true},
    {{{"requires_features", "bf16+fp8"}}, Ampere, false},
    {{{"requires_features", "tensor_core_nv+fp8+wgmma_nv"}}, Hopper, true},
    {{{"requires_features", "wgmma_nv"}}, Blackwell, false},
    {{{"requires_features", "tcgen05_nv"}}, Thor, true},
    {{{"requires_features", "mfma_amd"}}, MI300, true},
    {{{"requires_features", "mfma_amd"}}, RDNA3, false},
    {{{"requires_features", "mfma_amd"}}, Hopper, false},
    {{{"requires_features", "wmma_amd+subgroup_size_32"}}, RDNA3, true},
    {{{"requires_features", "subgroup_size_32"}}, MI300, false},
    {{{"requires_features", "fp64"}}, OpenCL, true},
    {{{"requires_features", "fp16"}}, OpenCL, false},
    {{{"requires_features", "avx2+fma"}}, Haswell, true},
    {{{"requires_features", "fp64"}}, Haswell, true},
    {{{"requires_features", "int8_dot"}}, Haswell, false},
    {{{"requires_features", "avx512_vnni"}}, Haswell, false},
    {{{"requires_features", "amx_bf16"}}, Haswell, false},
    {{{"requires_features", "dotprod"}}, Neoverse, true},
    {{{"requires_features", "int8_dot"}}, Neoverse, true},
    {{{"requires_features", "sve"}}, Neoverse, false},
    {{{"requires_features", "avx2"}}, Neoverse, false},
    {{{"requires_features", "flux_capacitor"}}, Hopper, false},
    {{{"requires_features", "bf16+flux_capacitor"}}, Hopper, false},
    {{{"requires_features", ""}}, Hopper, false},
    {{{"requires_features", "+"}}, Hopper, false},
    {{{"requires_features", "bf16+"}}, Hopper, false},
    {{{"requires_features", "+bf16"}}, Hopper, false},
    {{{"requires_features", "bf16++fp8"}}, Hopper, false},
    {{{"requires_features", "bf16 + fp8"}}, Hopper, false},
    {{{"requires_features", "BF16"}}, Hopper, false},

    // Keys add up; unknown keys are ignored.
    {{{"min_sm", "90"}, {"requires_features", "fp8"}}, Hopper, true},
    {{{"min_sm", "90"}, {"requires_features", "fp4"}}, Hopper, false},
    {{{"min_sm", "80"}, {"min_gfx", "gfx90a:cdna2"}}, Hopper, true},
    {{{"min_sm", "80"}, {"min_gfx", "gfx90a:cdna2"}}, MI300, true},
    {{{"min_sm", "80"}, {"min_gfx", "gfx90a:cdna2"}}, MI100, false},
    {{{"colour", "red"}, {"kdl.future", "?"}}, Hopper, true},
    {{{"MIN_SM", "120"}, {"min_sm ", "120"}}, Hopper, true},

    // variant_priority and variant_tag never rule out.
    {{{"variant_priority", "10"}}, Hopper, true, 10},
    {{{"variant_priority", "4294967295"}}, Hopper, true, 4294967295U},
    {{{"variant_priority", "4294967296"}}, Hopper, true, 0},
    {{{"variant_priority", "-1"}}, Hopper, true, 0},
    {{{"variant_priority", "10x"}}, Hopper, true, 0},
    {{{"variant_priority", ""}}, Hopper, true, 0},
    {{{"variant_tag", "debug"}}, Hopper, true},
    {{{"variant_tag", ""}}, Hopper, true},

    // The triple and the arch have their say beside the metadata, and neither overrules the other.
    {{{"min_sm", "90"}}, Hopper, true, 0, &Cubin, true},
    {{{"min_sm", "90"}}, Blackwell, true, 0, &Cubin, false},
    {{{"min_sm", "120"}}, Hopper, false, 0, &Cubin, false},
    {{{"min_sm", "80"}}, Ampere, true, 0, &Cubin, false},
};

//===----------------------------------------------------------------------===//
// Judging
//===----------------------------------------------------------------------===//

unsigned Failures = 0;

std::string describe(const Keys &Metadata, const Device &On) {
  std::string Text;
  for (const auto &[Key, Value] : Metadata)
    Text += (Key + "=\"" + Value + "\" ").str();
  return Text + "on " + On.Spec;
}

void expect(bool Holds, const Twine &What) {
  if (Holds)
    return;
  if (++Failures <= 20)
    errs() << "FAIL: " << What << '\n';
}

SmallVector<StringRef> tokens(const Device &On) {
  SmallVector<StringRef> Tokens = {""}; // as a careless loader may list; no list names it
  On.Features.split(Tokens, '+');
  On.OtherNames.split(Tokens, '+', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  return Tokens;
}

SmallString<0> pack(const Image &Packed, const Keys &Metadata) {
  OffloadBinary::OffloadingImage Out;
  Out.TheImageKind = Packed.Kind;
  Out.StringData["triple"] = Packed.Triple;
  Out.StringData["arch"] = Packed.Arch;
  for (const auto &[Key, Value] : Metadata)
    Out.StringData[Key] = Value;
  Out.Image = MemoryBuffer::getMemBuffer(Packed.Bytes, "", /*RequiresNullTerminator=*/false);
  return OffloadBinary::write(Out);
}

struct Verdict {
  bool Compatible;
  uint32_t Priority;
};

Verdict askLLVM(StringRef Bytes, const Device &On, ArrayRef<StringRef> Features) {
  std::unique_ptr<MemoryBuffer> Buffer = MemoryBuffer::getMemBufferCopy(Bytes);
  std::unique_ptr<OffloadBinary> Binary = cantFail(OffloadBinary::create(*Buffer));
  return {isMetadataCompatible(*Binary, OffloadDeviceInfo{On.Arch, Features}),
          getVariantPriority(*Binary)};
}

reference_verdict askKDL(StringRef Bytes, const Device &On) {
  reference_verdict Verdict;
  expect(reference_judge(Bytes.data(), Bytes.size(), On.Spec, &Verdict),
         Twine("libkdl cannot read ") + On.Spec + ": " + Verdict.reasons);
  return Verdict;
}

void judge(const Case &C) {
  const Image &Packed = C.Packed ? *C.Packed : C.On.Portable;
  SmallString<0> Bytes = pack(Packed, C.Metadata);
  Verdict LLVM = askLLVM(Bytes, C.On, tokens(C.On));
  reference_verdict KDL = askKDL(Bytes, C.On);
  std::string What = describe(C.Metadata, C.On);
  expect(LLVM.Compatible == C.Compatible, "LLVM: " + What);
  expect(KDL.metadata_compatible == C.Compatible, "libkdl: " + What + ": " + KDL.reasons);
  expect(KDL.runs == (C.Compatible && C.Runs), "libkdl runs it: " + What + ": " + KDL.reasons);
  expect(LLVM.Priority == C.Priority, "LLVM, priority: " + What);
  expect(KDL.variant_priority == C.Priority, "libkdl, priority: " + What);
}

/// Every combination of these values on every device: no expectation but that both say the same.
unsigned compareAll() {
  static constexpr StringLiteral Absent("\1");
  static const StringRef MinSM[] = {Absent, "50", "90", "101", "120", "", "9", "090", " 90"};
  static const StringRef MinGFX[] = {
      Absent,          "gfx803:gcn",    "gfx906",       "gfx908:cdna1", "gfx942:cdna3",
      "gfx1030:rdna2", "gfx1201:rdna4", "gfx90c:cdna2", "gfx1250:",     ":rdna3"};
  static const StringRef Features[] = {Absent,  "fp64",     "bf16+fp8",  "bf16,mfma_amd",
                                       "avx2",  "wmma_amd", "subgroups", "simd",
                                       "fp64+", "no_such"};
  unsigned Count = 0;
  for (const Device *On : Devices) {
    SmallVector<StringRef> Tokens = tokens(*On);
    for (StringRef SM : MinSM)
      for (StringRef GFX : MinGFX)
        for (StringRef List : Features) {
          Keys Metadata;
          if (SM != Absent)
            Metadata.push_back({"min_sm", SM});
          if (GFX != Absent)
            Metadata.push_back({"min_gfx", GFX});
          if (List != Absent)
            Metadata.push_back({"requires_features", List});
          SmallString<0> Bytes = pack(On->Portable, Metadata);
          reference_verdict KDL = askKDL(Bytes, *On);
          expect(askLLVM(Bytes, *On, Tokens).Compatible == KDL.runs,
                 "LLVM and libkdl differ: " + describe(Metadata, *On) + ": libkdl says " +
                     (KDL.runs ? "yes" : KDL.reasons));
          ++Count;
        }
  }
  return Count;
}

/// The family of every processor that both libraries know.
unsigned compareFamilies() {
  unsigned Count = 0;
  const char *Processor;
  for (size_t I = 0; const char *Family = reference_amd_family(I, &Processor); ++I) {
    if (AMDGPU::parseArchAMDGCN(Processor) == AMDGPU::GK_NONE)
      continue;
    StringRef LLVM = metadata::getAMDGPUFamily(Processor);
    expect(LLVM == Family, Twine("family of ") + Processor + ": LLVM says '" + LLVM +
                               "', libkdl says '" + Family + "'");
    ++Count;
  }
  return Count;
}

/// libkdl's picture of LLVM's own rule, which its policy "first" is compared with.
unsigned compareTargetRule() {
  static const char *const Triples[] = {"nvptx64-nvidia-cuda", "nvptx64",
                                        "amdgcn-amd-amdhsa",   "x86_64-unknown-linux-gnu",
                                        "x86_64-pc-linux-gnu", ""};
  static const char *const Archs[] = {
      "",       "generic",       "sm_80",         "sm_90",           "gfx90a",
      "gfx942", "gfx90a:xnack+", "gfx90a:xnack-", "gfx90a:sramecc+", "gfx90a:sramecc-:xnack+",
      ":",      "gfx9-generic",  "gfx90a:foo+",   "gfx90a:foo-",     "gfx90a:xnack+:sramecc-"};
  unsigned Count = 0;
  for (const char *LeftTriple : Triples)
    for (const char *LeftArch : Archs)
      for (const char *RightTriple : Triples)
        for (const char *RightArch : Archs) {
          bool LLVM = areTargetsCompatible(OffloadFile::TargetID(LeftTriple, LeftArch),
                                           OffloadFile::TargetID(RightTriple, RightArch));
          expect(LLVM == reference_targets_compatible(LeftTriple, LeftArch, RightTriple, RightArch),
                 Twine("areTargetsCompatible: ") + LeftTriple + " " + LeftArch + ", " +
                     RightTriple + " " + RightArch + ": LLVM says " + (LLVM ? "yes" : "no"));
          ++Count;
        }
  return Count;
}

//===----------------------------------------------------------------------===//
// Cost
//===----------------------------------------------------------------------===//

/// Nanoseconds per call: the fastest of several rounds.
template <typename Call> double nanoseconds(Call Function) {
  using Clock = std::chrono::steady_clock;
  constexpr unsigned Rounds = 20, Calls = 50000;
  double Best = 1e9;
  for (unsigned Round = 0; Round < Rounds; ++Round) {
    Clock::time_point Start = Clock::now();
    for (unsigned I = 0; I < Calls; ++I)
      Function();
    std::chrono::duration<double, std::nano> Spent = Clock::now() - Start;
    Best = std::min(Best, Spent.count() / Calls);
  }
  return Best;
}

void timeCheck(StringRef What, const Keys &Metadata, const Device &On) {
  SmallVector<StringRef> Tokens = tokens(On);
  SmallString<0> Bytes = pack(On.Portable, Metadata);
  std::unique_ptr<MemoryBuffer> Buffer = MemoryBuffer::getMemBufferCopy(Bytes);
  std::unique_ptr<OffloadBinary> Binary = cantFail(OffloadBinary::create(*Buffer));
  volatile bool Sink;
  double Check = nanoseconds(
      [&] { Sink = isMetadataCompatible(*Binary, OffloadDeviceInfo{On.Arch, Tokens}); });
  double Parse = nanoseconds([&] { cantFail(OffloadBinary::create(*Buffer)); });
  (void)Sink;
  outs() << formatv("{0,-44} check {1,6:F1} ns   parse {2,6:F1} ns\n", What, Check, Parse);
}

} // namespace

int main(int ArgCount, char **Args) {
  if (ArgCount == 2 && StringRef(Args[1]) == "--time") {
    timeCheck("no key", {}, Hopper);
    timeCheck("min_sm", {{"min_sm", "90"}}, Hopper);
    timeCheck("min_gfx", {{"min_gfx", "gfx90a:cdna2"}}, MI300);
    timeCheck("requires_features, two tokens", {{"requires_features", "bf16+wgmma_nv"}}, Hopper);
    timeCheck(
        "all three",
        {{"min_sm", "90"}, {"min_gfx", "gfx90a:cdna2"}, {"requires_features", "bf16+wgmma_nv"}},
        Hopper);
    return 0;
  }
  for (const Device *On : Devices)
    expect(On->Features == reference_features(On->Spec),
           Twine("tokens of ") + On->Spec + ": libkdl says " + reference_features(On->Spec));
  for (const Case &C : Cases)
    judge(C);
  unsigned Combinations = compareAll();
  unsigned Families = compareFamilies();
  expect(Families >= 45, "too few processors were compared: " + Twine(Families));
  unsigned Targets = compareTargetRule();
  outs() << std::size(Cases) << " cases, " << Combinations << " combinations, " << Families
         << " processors, " << Targets << " pairs of targets, " << Failures << " failures\n";
  return Failures != 0;
}
