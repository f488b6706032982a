# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# kdl_add_host_image(target file source [flag...]): FILE, a shared object from SOURCE that
# follows <kdl/host_abi.h>. Never sanitized: it is loaded as programs would load it.
function(kdl_add_host_image target file source)
  cmake_path(ABSOLUTE_PATH source)
  cmake_path(GET file PARENT_PATH folder)
  file(MAKE_DIRECTORY ${folder})
  file(GLOB headers ${PROJECT_SOURCE_DIR}/include/kdl/kernel.h
       ${PROJECT_SOURCE_DIR}/include/kdl/kernel/*.h)
  add_custom_command(OUTPUT ${file}
    COMMAND ${CMAKE_C_COMPILER} -std=gnu17 -O3 -Wall -Wextra -fPIC -shared -nostdlib
            -fvisibility=hidden -I${PROJECT_SOURCE_DIR}/include ${ARGN} ${source} -o ${file}
    DEPENDS ${source} ${headers}
            ${PROJECT_SOURCE_DIR}/include/kdl/host_abi.h ${PROJECT_SOURCE_DIR}/include/kdl/each.h
    VERBATIM COMMENT "Host image ${file}")
  add_custom_target(${target} ALL DEPENDS ${file})
endfunction()
