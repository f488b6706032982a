// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// saxpy as a function of tvm-ffi's, for bench/python/launch.py: g++ -std=c++17 -O2 -shared -fPIC $(tvm-ffi-config --cxxflags --ldflags)
// -o tvm_saxpy.so tvm_saxpy.cc -ltvm_ffi. The driver's function and the kernel are given to it.
#include <tvm/ffi/extra/c_env_api.h>
#include <tvm/ffi/tvm_ffi.h>

namespace {
using launch_function = int(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                            unsigned shared, void *stream, void **params, void **extra);
launch_function *launch;
void *kernel;

void prepare(int64_t driver_launch, int64_t function) {
  launch = reinterpret_cast<launch_function *>(driver_launch);
  kernel = reinterpret_cast<void *>(function);
}

void saxpy(float a, tvm::ffi::TensorView x, tvm::ffi::TensorView y, uint32_t n) {
  void *x_data = x.data_ptr(), *y_data = y.data_ptr();
  void *params[] = {&a, &x_data, &y_data, &n};
  void *stream = TVMFFIEnvGetStream(x.device().device_type, x.device().device_id);
  int error = launch(kernel, 1, 1, 1, 256, 1, 1, 0, stream, params, nullptr);
  TVM_FFI_ICHECK_EQ(error, 0);
}
} // namespace

TVM_FFI_DLL_EXPORT_TYPED_FUNC(prepare, prepare);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(saxpy, saxpy);
