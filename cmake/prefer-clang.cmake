# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The C compiler of the sanitizer presets: CC in the environment, else Clang, as its sanitizers check more, else
# the system's.
if(NOT DEFINED ENV{CC})
  find_program(compiler NAMES clang-22 clang cc gcc PATHS /usr/lib/llvm-22/bin NO_CMAKE_SYSTEM_PATH NO_CACHE)
  if(compiler)
    set(CMAKE_C_COMPILER ${compiler})
  endif()
endif()
