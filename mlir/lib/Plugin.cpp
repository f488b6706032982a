// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What mlir-opt --load-dialect-plugin and --load-pass-plugin look for. The first alone is enough:
// passes are registered with either.
#include "Passes.h"

#include "mlir/Tools/Plugins/DialectPlugin.h"
#include "mlir/Tools/Plugins/PassPlugin.h"

using namespace mlir;

static constexpr char pluginName[] = "kdl";

extern "C" LLVM_ALWAYS_EXPORT DialectPluginLibraryInfo mlirGetDialectPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, pluginName, KDL_MLIR_PLUGIN, [](DialectRegistry *registry) {
            kdl::registerDialect(*registry);
            kdl::registerPasses();
          }};
}

extern "C" LLVM_ALWAYS_EXPORT PassPluginLibraryInfo mlirGetPassPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, pluginName, KDL_MLIR_PLUGIN, [] { kdl::registerPasses(); }};
}
