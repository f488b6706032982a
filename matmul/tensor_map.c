/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "matmul/tensor_map.h"

#include <dlfcn.h>
#include <string.h>

tensor_map_encode *find_tensor_map_encode(void) {
  void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  tensor_map_encode *encode = NULL;
  void *symbol = driver ? dlsym(driver, "cuTensorMapEncodeTiled") : NULL;
  memcpy(&encode, &symbol, sizeof encode);
  if (driver)
    dlclose(driver);
  return encode;
}
