# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The compiler of the sanitizer presets: clang where it is installed, as its sanitizers check more,
# else the system's compiler. CC in the environment decides over both.
if(NOT DEFINED ENV{CC})
  find_program(KDL_CLANG NAMES clang-22 clang PATHS /usr/lib/llvm-22/bin)
  if(KDL_CLANG)
    set(CMAKE_C_COMPILER ${KDL_CLANG})
  endif()
endif()
