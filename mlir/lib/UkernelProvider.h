// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where microkernels come from: the interface that a compiler implements for its own.
//
// An attribute that implements UkernelProviderInterface, on a module as `kdl.ukernel_provider`, is
// asked once for each product of matrices. Its answer is a function in LLVM bitcode with the
// parameters and the operand layout of <kdl/mma.h>, the tile that the function keeps in registers,
// and how it takes the left operand.
#ifndef KDL_MLIR_LIB_UKERNELPROVIDER_H
#define KDL_MLIR_LIB_UKERNELPROVIDER_H

#include "mlir/IR/Types.h"
#include "mlir/Support/LLVM.h"

#include <string>

namespace mlir::kdl {

/// A product of matrices for which a microkernel is wanted.
struct MmaProduct {
  Type lhs, rhs, acc; // element types
  bool lhsUnsigned = false, rhsUnsigned = false;
  std::string target = {}; // the CPU, a spec of libkdl
  bool mayFixSteps = true; // whether a microkernel with fixed steps can be called
};

/// How a microkernel takes the left operand, if not unchanged.
enum class LhsForm {
  Unchanged,
  Unsigned, // bytes + 128: callers subtract what that adds to the result
  F32,
};

/// The name of a microkernel and the form of its operands.
struct MmaKind {
  std::string ukernel; // empty: none, and code in vectors instead
  int64_t values = 1;  // elements along K in a word
  LhsForm left = LhsForm::Unchanged;
};

/// A microkernel for a product.
struct MmaUkernel {
  MmaKind kind;
  std::string bitcode, tag; // the tag names the variant
  int64_t rows, columns;    // the largest tile that it keeps in registers; 0: not known
  int64_t steps = 1;        // it is fast if the words of a row at a time divide by this
  bool fixesSteps = false;  // it takes 16 at a time, and no other number: `steps` is 16
};

} // namespace mlir::kdl

#include "KdlInterfaces.h.inc"

#endif
