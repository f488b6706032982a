// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Registers the dialect and the passes, for the plugin and for tools that link them.
#include "Dialect.h"
#include "Passes.h"
#include "ukernels/Relayout.h"
#include "ukernels/UkernelLink.h"

#include <mutex>

using namespace mlir;

void kdl::registerDialect(DialectRegistry &registry) {
  registry.insert<KdlDialect>();
  registerLinkInterface(registry);
  registerRelayoutBufferization(registry);
}

void kdl::registerPasses() {
  static std::once_flag once;
  std::call_once(once, [] {
    registerKdlPasses();
    registerPipelines();
    registerLinalgPipeline();
  });
}
