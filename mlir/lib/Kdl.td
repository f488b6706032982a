// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The dialect kdl: attributes only.
#ifndef KDL_TD
#define KDL_TD

include "mlir/Dialect/GPU/IR/CompilationAttrInterfaces.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/DialectBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/Interfaces.td"

def Kdl_Dialect : Dialect {
  let name = "kdl";
  let cppNamespace = "::mlir::kdl";
  let summary = "Selection among the objects of a gpu.binary at run time";
  let useDefaultAttributePrinterParser = 1;
  let hasOperationAttrVerify = 1;
}

class Kdl_Attr<string className, string attrMnemonic, list<Trait> traits = []>
    : AttrDef<Kdl_Dialect, className, traits> {
  let mnemonic = attrMnemonic;
}

// The numbers are those of kdl_policy in <kdl/kdl.h> and of kdl_mlir_fallback in
// mlir/runtime/kdl_mlir.h: the host module contains them.
def Kdl_Policy : I32Enum<"Policy", "policy", [
    I32EnumCase<"best", 0>, I32EnumCase<"first", 1>, I32EnumCase<"capability", 2>,
    I32EnumCase<"adaptive", 3>]> {
  let cppNamespace = "::mlir::kdl";
}
def Kdl_Fallback : I32Enum<"Fallback", "fallback", [
    I32EnumCase<"error", 0>, I32EnumCase<"host", 1>]> {
  let cppNamespace = "::mlir::kdl";
}

def Kdl_RuntimeSelectAttr : Kdl_Attr<"RuntimeSelect", "runtime_select", [
    OffloadingTranslationAttrTrait,
    DeclareAttrInterfaceMethods<OffloadingLLVMTranslationAttrInterface>]> {
  let summary = "Keeps every object of a gpu.binary and selects one at run time";
  let description = [{
    The translation embeds all objects in the host module as one OffloadBinary, which a constructor
    registers without calling a driver. The first launch of a kernel selects an image for the device,
    loads it and stores its handle; later launches load that handle and call it.

    `policy` orders the images that run on the device: `best` by their `variant_priority`, then by
    how well they fit; `first` by their order in the binary; `capability` by how well they fit, then
    by priority; `adaptive` as `best`, until launches have shown which one is the fastest for
    problems of their size (docs/adaptive.md). `fallback` is whether the CPU may run the kernels if no GPU can.

    ```mlir
    gpu.binary @kernels <#kdl.runtime_select<policy = best, fallback = host>> [
      #gpu.object<#nvvm.target<chip = "sm_90">, bin = "...">,
      #gpu.object<#rocdl.target<chip = "gfx942">, properties = {variant_priority = 2 : i32},
                  bin = "...">,
      #gpu.object<#kdl.host<arch = "x86-64-v3">, bin = "...">]
    ```
  }];
  let parameters = (ins
    DefaultValuedParameter<"Policy", "Policy::best">:$policy,
    DefaultValuedParameter<"Fallback", "Fallback::error">:$fallback
  );
  let assemblyFormat = "(`<` struct($policy, $fallback)^ `>`)?";
}

def Kdl_HostTargetAttr : Kdl_Attr<"HostTarget", "host",
    [DeclareAttrInterfaceMethods<GPUTargetAttrInterface>]> {
  let summary = "A CPU, as a target of a gpu.module";
  let description = [{
    Objects for this target are shared objects that follow `<kdl/host_abi.h>`. `arch` is an
    architecture level or CPU as in `-march`. The passes `kdl-compile-targets` and
    `kdl-host-object` create the objects, from a gpu.module that is not lowered yet.
  }];
  let parameters = (ins
    DefaultValuedParameter<"int", "3", "optimization level">:$O,
    StringRefParameter<"target triple", "::mlir::kdl::getHostTriple()">:$triple,
    StringRefParameter<"architecture", "::mlir::kdl::getHostArch()">:$arch
  );
  let builders = [AttrBuilder<(ins "int":$O, "StringRef":$arch), [{
    return $_get($_ctxt, O, getHostTriple(), arch);
  }]>];
  let assemblyFormat = "(`<` struct($O, $triple, $arch)^ `>`)?";
  let genVerifyDecl = 1;
}

def Kdl_PortableTargetAttr : Kdl_Attr<"PortableTarget", "portable",
    [DeclareAttrInterfaceMethods<GPUTargetAttrInterface>]> {
  let summary = "Every device that kdl-ld lowers for, as a target of a gpu.module";
  let description = [{
    Objects for this target are portable images (docs/portable.md): bitcode that names no device.
    `kdl-ld` lowers one for the device at hand when it is loaded, where no other object fits. The
    pass `kdl-compile-targets` creates the objects, from a gpu.module that is not lowered yet.
  }];
}

def Kdl_CompiledAttr : Kdl_Attr<"Compiled", "compiled",
    [DeclareAttrInterfaceMethods<GPUTargetAttrInterface>]> {
  let summary = "A target of a gpu.module with a compiled object";
  let description = [{
    `gpu-module-to-binary` compiles a module once per target, but at that point the module is lowered
    for one vendor. This attribute is a target that holds an object compiled earlier, which
    `gpu-module-to-binary` uses unchanged.

    ```mlir
    gpu.module @kernels [#nvvm.target, #kdl.compiled<#gpu.object<#kdl.host, bin = "...">>] {...}
    ```
  }];
  let parameters = (ins "::mlir::gpu::ObjectAttr":$object);
  let assemblyFormat = "`<` qualified($object) `>`";
}

def Kdl_ObjectAttr : Kdl_Attr<"Object", "object"> {
  let summary = "An object file that defines functions of a module";
  let description = [{
    A module has a list of them, `kdl.objects`. A function without a body is defined in the one that
    its attribute `kdl.object` names. The bytes are LLVM bitcode, usually as a resource of the file,
    which is not part of the module's text.

    ```mlir
    module attributes {kdl.objects = [#kdl.object<"avx512", dense_resource<avx512> : tensor<9216xi8>>]} {
      func.func private @kdl_uk_mma_f32_f32(...) attributes {kdl.object = "avx512"}
    }
    {-# dialect_resources: { builtin: { avx512: "0x08000000..." } } #-}
    ```
  }];
  let parameters = (ins "::mlir::StringAttr":$name, "::mlir::ElementsAttr":$data);
  let assemblyFormat = "`<` $name `,` $data `>`";
  let genVerifyDecl = 1;
}

def Kdl_MmaLayoutAttr : Kdl_Attr<"MmaLayout", "mma_layout"> {
  let summary = "The layout of a product's operands in tiles, and the microkernel that takes it";
  let description = [{
    The attribute `kdl.mma_layout` of a `linalg.mmt4d`, a `linalg.batch_mmt4d` or a `linalg.generic`
    with their loops. The units are those of `<kdl/mma.h>`: a word has `values` elements along K, a
    vector 16 words, and a tile of the result `intrinsics_m` rows of `intrinsics_n` vectors.
    A microkernel takes `intrinsics_k` words of each row at a time.

    | operand | dimensions |
    |---|---|
    | left | `[M1][K1][intrinsics_m][values]` |
    | right | `[N1][K1][intrinsics_n * 16][values]` |
    | left, with `intrinsics_k` above 1 | `[M1][K1][intrinsics_m][intrinsics_k][values]` |
    | right, with `intrinsics_k` above 1 | `[N1][K1][intrinsics_k][intrinsics_n * 16][values]` |
    | result | `[M1][N1][intrinsics_m][intrinsics_n * 16]` |

    A batch has one more dimension in front. Without a microkernel, the loop over K is code in vectors of
    `vector_bytes` bytes.

    ```mlir
    linalg.mmt4d {kdl.mma_layout = #kdl.mma_layout<ukernel = "kdl_uk_mma_f32_bf16",
                                                   intrinsics_m = 14, intrinsics_n = 2, values = 2>}
      ins(%a, %b : tensor<8x32x14x2xbf16>, tensor<4x32x32x2xbf16>) outs(%c : tensor<8x4x14x32xf32>)
      -> tensor<8x4x14x32xf32>
    ```
  }];
  let parameters = (ins
    StringRefParameter<"the microkernel", "\"\"">:$ukernel,
    "int64_t":$intrinsics_m,
    "int64_t":$intrinsics_n,
    DefaultValuedParameter<"int64_t", "1">:$intrinsics_k,
    DefaultValuedParameter<"int64_t", "1">:$values,
    DefaultValuedParameter<"int64_t", "0">:$vector_bytes
  );
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    int64_t getRows() const { return getIntrinsicsM(); }
    int64_t getPanelColumns() const { return getIntrinsicsN() * 16; }
    /// Whether the operands have several words of a row side by side, in a dimension of their own.
    bool hasStepBlocks() const { return getIntrinsicsK() > 1; }
    /// Checks the operands of an operation of linalg.
    ::llvm::LogicalResult verifyOperands(
        ::llvm::function_ref<::mlir::InFlightDiagnostic()> emitError, ::mlir::Operation *op) const;
  }];
}

def Kdl_UkernelProviderInterface : AttrInterface<"UkernelProviderInterface"> {
  let cppNamespace = "::mlir::kdl";
  let description = [{
    Where the microkernels of a module come from: its attribute `kdl.ukernel_provider`. A compiler
    implements this for an attribute of its own dialect, and then `kdl-data-tile` tiles for its
    microkernels and `kdl-lower-mmt4d-to-ukernels` calls them. `#kdl.ukernel_library` is the
    implementation for files.
  }];
  let methods = [
    InterfaceMethod<[{
        The microkernel for a product, which is described in `<kdl/mlir/UkernelProvider.h>`; otherwise
        says why there is none.
      }],
      "::mlir::FailureOr<::mlir::kdl::MmaUkernel>", "findMmaUkernel",
      (ins "const ::mlir::kdl::MmaProduct &":$product, "::std::string &":$why)>,
  ];
}

def Kdl_UkernelLibraryAttr : Kdl_Attr<"UkernelLibrary", "ukernel_library",
    [DeclareAttrInterfaceMethods<Kdl_UkernelProviderInterface>]> {
  let summary = "A library of microkernels: a file of images that libkdl can open";
  let description = [{
    The best image for the CPU that provides the microkernel, by libkdl's rules. A microkernel's name
    has the types of the accumulators and operands: `kdl_uk_mma_f32_bf16`, `kdl_uk_mma_f64_f64`,
    `kdl_uk_mma_s32_u8s16`. Without a path it is libkdl's own library.

    ```mlir
    module attributes {kdl.ukernel_provider = #kdl.ukernel_library<"mine.offload">} {...}
    ```
  }];
  let parameters = (ins StringRefParameter<"path", "\"\"">:$path);
  let assemblyFormat = "(`<` $path^ `>`)?";
}

def Kdl_VariantAttr : Kdl_Attr<"Variant", "variant",
    [DeclareAttrInterfaceMethods<GPUTargetAttrInterface>]> {
  let summary = "A target of a gpu.module with properties for its object";
  let description = [{
    The object for the target gets the properties, which become keys of its image
    (docs/metadata.md). Two variants of one target differ in them.

    ```mlir
    gpu.module @kernels [
      #nvvm.target<chip = "sm_90">,
      #kdl.variant<#kdl.host<arch = "x86-64-v3">, {requires_features = ["avx512f"]}>] {...}
    ```
  }];
  let parameters = (ins "::mlir::Attribute":$target, "::mlir::DictionaryAttr":$properties);
  let assemblyFormat = "`<` $target `,` $properties `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// The object with the properties of this variant.
    ::mlir::gpu::ObjectAttr addProperties(::mlir::gpu::ObjectAttr object) const;
  }];
}

#endif
