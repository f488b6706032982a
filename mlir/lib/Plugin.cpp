// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The entry points for mlir-opt --load-dialect-plugin and --load-pass-plugin. The first option is
// enough: either one registers the passes.
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
