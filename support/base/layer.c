/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "support/base/layer.h"

const kdl_layer_listener *_Atomic kdl_layer_listening;

static const char *const names[] = {
#define KDL_LAYER(constant, name) name,
#include "support/base/layers.def"
#undef KDL_LAYER
};

const char *kdl_layer_name(kdl_layer layer) {
  return (size_t)layer < KDL_LAYER_COUNT ? names[layer] : "?";
}
