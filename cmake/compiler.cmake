# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The C compiler of the plain builds: CC in the environment, else the system's, else Clang. Nothing else has a
# say, so that the same machine gives the same build whichever target was made first.
if(NOT DEFINED ENV{CC})
  find_program(compiler NAMES cc gcc clang-22 clang PATHS /usr/lib/llvm-22/bin NO_CMAKE_SYSTEM_PATH NO_CACHE)
  if(compiler)
    set(CMAKE_C_COMPILER ${compiler})
  endif()
endif()
