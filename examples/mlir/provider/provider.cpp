// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A compiler with microkernels of its own: mlir-opt with libkdl's passes and a dialect whose
// attribute provides them.
//
//     module attributes {kdl.ukernel_provider = #example.ukernels<"mma_f64.bc">} {...}
//
// Products of doubles call the microkernel in the file; for other types libkdl's own library is
// asked.
#include <kdl/mlir/Dialect.h>
#include <kdl/mlir/Passes.h>

#include "mlir/IR/DialectImplementation.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace mlir;

namespace example {

struct PathStorage : public AttributeStorage {
  using KeyTy = StringAttr;
  explicit PathStorage(StringAttr path) : path(path) {}
  bool operator==(const KeyTy &key) const { return key == path; }
  static PathStorage *construct(AttributeStorageAllocator &allocator, const KeyTy &key) {
    return new (allocator.allocate<PathStorage>()) PathStorage(key);
  }
  StringAttr path;
};

class UkernelsAttr : public Attribute::AttrBase<UkernelsAttr, Attribute, PathStorage,
                                                kdl::UkernelProviderInterface::Trait> {
public:
  using Base::Base;
  static constexpr StringLiteral name = "example.ukernels";

  StringAttr getPath() const { return getImpl()->path; }

  FailureOr<kdl::MmaUkernel> findMmaUkernel(const kdl::MmaProduct &product,
                                            std::string &why) const {
    if (!product.lhs.isF64() || !product.rhs.isF64() || !product.acc.isF64())
      return kdl::UkernelLibraryAttr::get(getContext(), "").findMmaUkernel(product, why);
    auto file = llvm::MemoryBuffer::getFile(getPath().getValue());
    if (!file) {
      why = getPath().str() + ": " + file.getError().message();
      return failure();
    }
    kdl::MmaUkernel found{};
    found.kind.ukernel = "example_mma_f64";
    found.bitcode = (*file)->getBuffer().str();
    found.tag = "example";
    found.rows = 3; // of 16 doubles: four registers each with AVX2, of which there are 16
    found.columns = 16;
    return found;
  }
};

class ExampleDialect : public Dialect {
public:
  explicit ExampleDialect(MLIRContext *context)
      : Dialect("example", context, TypeID::get<ExampleDialect>()) {
    getContext()->loadDialect<kdl::KdlDialect>(); // which has the interface
    addAttributes<UkernelsAttr>();
  }
  static constexpr StringLiteral getDialectNamespace() { return "example"; }

  Attribute parseAttribute(DialectAsmParser &parser, Type) const override {
    StringAttr path;
    if (parser.parseKeyword("ukernels") || parser.parseLess() || parser.parseAttribute(path) ||
        parser.parseGreater())
      return {};
    return UkernelsAttr::get(getContext(), path);
  }
  void printAttribute(Attribute attribute, DialectAsmPrinter &printer) const override {
    printer << "ukernels<" << cast<UkernelsAttr>(attribute).getPath() << ">";
  }
};

} // namespace example

int main(int argc, char **argv) {
  DialectRegistry registry;
  registerAllDialects(registry);
  registerAllExtensions(registry);
  kdl::registerDialect(registry);
  registry.insert<example::ExampleDialect>();
  registerAllPasses();
  kdl::registerPasses();
  return asMainReturnCode(
      MlirOptMain(argc, argv, "mlir-opt with microkernels of its own\n", registry));
}
