// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The C header of a model.
#include "compile.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace mlir::kdl;

namespace {

constexpr char preamble[] =
    R"(#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Tensors are passed by the addresses of descriptors. An argument's elements lie in order, without
 * gaps, from aligned[0] on: its sizes are read, its offset and strides are not. Sizes that the
 * comment on a function gives must be as given. Neither is checked. No argument is changed.
 *
 * Each result is memory of its own, which the caller frees by free(descriptor.allocated). With one
 * result, the first parameter is the address of its descriptor, which the function fills; with
 * several, that of a struct with all of them. A single number is returned.
 */

/* The functions as JSON. */
extern const char kdl_model[];
)";

StringRef elementType(StringRef type) {
  return llvm::StringSwitch<StringRef>(type)
      .Cases({"f16", "bf16", "i16", "si16", "ui16"},
             type == "i16" || type == "si16" ? "int16_t" : "uint16_t")
      .Case("f32", "float")
      .Case("f64", "double")
      .Cases({"i1", "si1", "ui1"}, "bool")
      .Cases({"i8", "si8"}, "int8_t")
      .Cases({"i32", "si32"}, "int32_t")
      .Cases({"i64", "si64", "index"}, "int64_t")
      .Case("ui8", "uint8_t")
      .Case("ui32", "uint32_t")
      .Default("uint64_t");
}

bool isCName(StringRef name) {
  return !name.empty() && !llvm::isDigit(name[0]) &&
         llvm::all_of(name, [](char letter) { return llvm::isAlnum(letter) || letter == '_'; });
}

std::string descriptorOf(const ModelValue &value) {
  return "kdl_tensor_" + value.type + "_" + std::to_string(value.shape.size());
}

std::string typeOf(const ModelValue &value) {
  return value.isTensor ? descriptorOf(value) : elementType(value.type).str();
}

/// "f32[4 x ?]".
std::string describe(const ModelValue &value) {
  if (!value.isTensor)
    return value.type;
  std::string text = value.type + "[";
  for (auto [i, size] : llvm::enumerate(value.shape))
    text += (i ? " x " : "") + (size < 0 ? std::string("?") : std::to_string(size));
  return text + "]";
}

std::string describe(ArrayRef<ModelValue> values) {
  std::string text;
  for (const ModelValue &value : values)
    text += (text.empty() ? "" : ", ") + describe(value);
  return "(" + text + ")";
}

class Header {
public:
  explicit Header(raw_ostream &out) : out(out) {}

  void writeDescriptor(const ModelValue &value);
  void writeFunction(const ModelFunction &function);

private:
  raw_ostream &out;
  llvm::StringSet<> written;
};

/// Headers of several models may have the same descriptor.
void Header::writeDescriptor(const ModelValue &value) {
  if (!value.isTensor || !written.insert(descriptorOf(value)).second)
    return;
  std::string name = descriptorOf(value), macro = StringRef(name).upper();
  StringRef element = elementType(value.type);
  size_t rank = value.shape.size();
  out << "\n#ifndef " << macro << "\n#define " << macro << "\ntypedef struct " << name << " {\n  "
      << element << " *allocated; /* for free() */\n  " << element
      << " *aligned;\n  int64_t offset; /* the first element is aligned[offset] */\n";
  if (rank)
    out << "  int64_t sizes[" << rank << "];\n  int64_t strides[" << rank
        << "]; /* in elements */\n";
  out << "} " << name << ";\n\n/* Describes elements that lie in order, without gaps. */\n"
      << "static inline " << name << " " << name << "_of(const " << element << " *data"
      << (rank ? ", const int64_t sizes[" + std::to_string(rank) + "]" : "") << ") {\n  " << name
      << " made;\n  made.allocated = made.aligned = (" << element
      << " *)data;\n  made.offset = 0;\n";
  if (rank)
    out << "  int64_t stride = 1;\n  for (int i = " << rank
        << "; i-- > 0;) {\n    made.sizes[i] = sizes[i];\n    made.strides[i] = stride;\n"
           "    stride *= sizes[i];\n  }\n";
  out << "  return made;\n}\n#endif\n";
}

void Header::writeFunction(const ModelFunction &function) {
  out << "\n";
  if (!isCName(function.name)) {
    // A quote or an end of the comment would be the caller's text.
    out << "/* A function whose name C does not have is left out: " << describe(function.arguments)
        << " -> " << describe(function.results) << " */\n";
    return;
  }
  std::string results = "kdl_" + function.name + "_results";
  if (function.hasResultStruct()) {
    out << "typedef struct " << results << " {\n";
    for (auto [i, value] : llvm::enumerate(function.results))
      out << "  " << typeOf(value) << " result" << i << ";\n";
    out << "} " << results << ";\n\n";
  }
  bool returns = function.results.size() == 1 && !function.results[0].isTensor;
  SmallVector<std::string> parameters;
  if (function.hasResultStruct())
    parameters.push_back(results + " *results");
  else if (!function.results.empty() && !returns)
    parameters.push_back(typeOf(function.results[0]) + " *result");
  for (auto [i, value] : llvm::enumerate(function.arguments))
    parameters.push_back(typeOf(value) + (value.isTensor ? " *" : " ") + "argument" +
                         std::to_string(i));
  out << "/* " << function.name << describe(function.arguments) << " -> "
      << describe(function.results) << " */\n"
      << (returns ? typeOf(function.results[0]) : "void") << " " << function.symbol << "("
      << (parameters.empty() ? "void" : llvm::join(parameters, ", ")) << ");\n";
}

} // namespace

std::string kdl::writeHeader(const Model &model, StringRef library) {
  std::string text, guard = "MODEL_";
  for (char letter : library)
    guard += llvm::isAlnum(letter) ? llvm::toUpper(letter) : '_';
  llvm::raw_string_ostream out(text);
  out << "/* Functions that kdl-mlir compiled for " << model.target << ". */\n#ifndef " << guard
      << "_H\n#define " << guard << "_H\n\n"
      << preamble;
  Header header(out);
  for (const ModelFunction &function : model.functions) {
    for (const ModelValue &value : function.arguments)
      header.writeDescriptor(value);
    for (const ModelValue &value : function.results)
      header.writeDescriptor(value);
  }
  for (const ModelFunction &function : model.functions)
    header.writeFunction(function);
  out << "\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n";
  return text;
}
