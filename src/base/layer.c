/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "base/layer.h"

const kdl_layer_listener *_Atomic kdl_layer_listening;

static const struct {
  const char *name;
  const char *meaning;
} layers[] = {
#define KDL_LAYER(constant, name, meaning) {name, meaning},
#include "base/layers.def"
#undef KDL_LAYER
};

const char *kdl_layer_name(kdl_layer layer) {
  return (size_t)layer < KDL_LAYER_COUNT ? layers[layer].name : "?";
}

const char *kdl_layer_meaning(kdl_layer layer) {
  return (size_t)layer < KDL_LAYER_COUNT ? layers[layer].meaning : "?";
}
