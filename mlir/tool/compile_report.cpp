// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What became of the operations of linalg, by what passes did to them.
#include "compile.h"

#include "Attributes.h"
#include "Dialect.h"
#include "ukernels/Contraction.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassInstrumentation.h"

#include <map>
#include <mutex>

using namespace mlir;
using namespace mlir::kdl;

namespace {

enum class Fate { Unused, Microkernel, Vectors, Loops };

struct Known {
  std::string name, place, type; // "linalg.conv_2d", "model.mlir:10:5", "f32"
  bool isProduct;
  Fate fate = Fate::Unused;
  std::string why = {};
};

constexpr StringLiteral numberKey = "kdl.operation";

/// The number of the operation of the input that one with this location comes from.
std::optional<size_t> numberOf(Location where) {
  std::optional<size_t> found;
  where->walk([&](Location part) {
    auto fused = dyn_cast<FusedLoc>(part);
    auto data = fused ? dyn_cast_or_null<DictionaryAttr>(fused.getMetadata()) : nullptr;
    if (auto number = data ? data.getAs<IntegerAttr>(numberKey) : nullptr) {
      found = static_cast<size_t>(number.getInt());
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  return found;
}

/// Whether the operation multiplies and adds: a product of matrices or a convolution.
bool multiplies(linalg::LinalgOp op) {
  StringRef name = op->getName().getStringRef();
  return linalg::isaContractionOpInterface(op) || isMmt4d(op) ||
         (linalg::isaConvolutionOpInterface(op) && !name.starts_with("linalg.pooling")) ||
         isa<linalg::QuantizedMatmulOp, linalg::QuantizedBatchMatmulOp>(op.getOperation());
}

std::string placeOf(Location where) {
  std::string place;
  if (auto file = where->findInstanceOf<FileLineColLoc>())
    llvm::raw_string_ostream(place)
        << file.getFilename().getValue() << ":" << file.getLine() << ":" << file.getColumn();
  return place;
}

} // namespace

struct kdl::Report::Operations {
  std::mutex lock; // passes on functions run in threads
  std::vector<Known> all;

  Known *find(Location where) {
    std::optional<size_t> number = numberOf(where);
    return number && *number < all.size() ? &all[*number] : nullptr;
  }
};

namespace {

/// Compares what products a function or a module has before and after a pass.
class Watch : public PassInstrumentation {
public:
  explicit Watch(Report::Operations &operations) : operations(operations) {}

  void runBeforePass(Pass *pass, Operation *op) override {
    StringRef name = pass->getArgument();
    if (name == "convert-linalg-to-loops")
      mark(op, [](linalg::LinalgOp) { return Fate::Loops; });
    else if (name == "kdl-lower-contractions")
      mark(op, [](linalg::LinalgOp left) {
        return isMmt4d(left) || left->hasAttr(noUkernelAttr) ? Fate::Unused : Fate::Microkernel;
      });
    else if (name == "kdl-lower-mmt4d-to-ukernels")
      mark(op, [](linalg::LinalgOp left) {
        auto layout = left->getAttrOfType<MmaLayoutAttr>(layoutAttr);
        return !isMmt4d(left)                      ? Fate::Unused
               : layout && layout.getVectorBytes() ? Fate::Vectors
                                                   : Fate::Microkernel;
      });
  }

private:
  /// What a pass is about to make of an operation. The operations that it leaves get another fate
  /// before a later pass, at the latest that to loops.
  void mark(Operation *op, function_ref<Fate(linalg::LinalgOp)> become) {
    std::lock_guard<std::mutex> guard(operations.lock);
    op->walk([&](linalg::LinalgOp left) {
      Known *known = operations.find(left->getLoc());
      Fate fate = known && (!known->isProduct || multiplies(left)) ? become(left) : Fate::Unused;
      if (fate != Fate::Unused)
        known->fate = fate;
    });
  }

  Report::Operations &operations;
};

void writeCounts(raw_ostream &out, const std::vector<const Known *> &found) {
  std::map<std::string, size_t> types;
  for (const Known *known : found)
    ++types[known->type];
  StringRef separator = ": ";
  for (const auto &[type, count] : types) {
    out << separator << count << " " << type;
    separator = ", ";
  }
}

} // namespace

kdl::Report::Report(ModuleOp module)
    : operations(std::make_unique<Operations>()), context(module.getContext()) {
  auto index = IndexType::get(context);
  module.walk([&](linalg::LinalgOp op) {
    if (op->getNumOperands() == 0)
      return;
    std::string type;
    llvm::raw_string_ostream(type) << getElementTypeOrSelf(op->getOperand(0).getType());
    auto number = IntegerAttr::get(index, static_cast<int64_t>(operations->all.size()));
    operations->all.push_back(
        {op->getName().getStringRef().str(), placeOf(op.getLoc()), type, multiplies(op)});
    op->setLoc(FusedLoc::get(
        {op.getLoc()},
        DictionaryAttr::get(context, NamedAttribute(StringAttr::get(context, numberKey), number)),
        context));
  });
  handler = context->getDiagEngine().registerHandler([this](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() != DiagnosticSeverity::Remark)
      return failure();
    std::lock_guard<std::mutex> guard(operations->lock);
    if (Known *known = operations->find(diagnostic.getLocation()))
      known->why = StringRef(diagnostic.str()).split(": ").second.str();
    return success();
  });
}

kdl::Report::~Report() {
  context->getDiagEngine().eraseHandler(handler);
}

void kdl::Report::watch(PassManager &passes) {
  passes.addInstrumentation(std::make_unique<Watch>(*operations));
}

std::string kdl::Report::text() const {
  std::map<Fate, std::vector<const Known *>> products;
  size_t others = 0, count = 0;
  for (const Known &known : operations->all) {
    if (known.isProduct && known.fate != Fate::Unused) {
      products[known.fate].push_back(&known);
      ++count;
    } else if (!known.isProduct && known.fate == Fate::Loops) {
      ++others;
    }
  }
  std::string text;
  llvm::raw_string_ostream out(text);
  auto write = [&](Fate fate, StringRef how) {
    const std::vector<const Known *> &found = products[fate];
    if (found.empty())
      return;
    out << found.size() << " of " << count << " products and convolutions " << how;
    writeCounts(out, found);
    out << "\n";
    for (const Known *known : found) {
      if (fate == Fate::Microkernel)
        break;
      out << "  " << known->place << (known->place.empty() ? "" : ": ") << known->name
          << (known->why.empty() ? "" : ": ") << known->why << "\n";
    }
  };
  write(Fate::Loops, "as plain loops");
  write(Fate::Vectors, "by vector code");
  write(Fate::Microkernel, "by microkernels");
  if (count == 0)
    out << "no products of matrices and no convolutions\n";
  if (others)
    out << others << " other operations as loops, which LLVM vectorises if it can\n";
  return text;
}
