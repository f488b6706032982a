# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# kdl_optional_header(folder/name.h source...): KDL_HAVE_FOLDER_NAME_H for the sources where the header is found.
# They are compiled again when it comes or goes, which __has_include would not bring about.
function(kdl_optional_header header)
  string(MAKE_C_IDENTIFIER ${header} name)
  string(TOUPPER ${name} name)
  find_path(KDL_INCLUDE_${name} ${header} PATHS /usr/local/cuda/include
            DOC "Folder of ${header}, which some tests and benchmarks use")
  if(NOT KDL_INCLUDE_${name})
    return()
  endif()
  set_property(SOURCE ${ARGN} APPEND PROPERTY COMPILE_DEFINITIONS KDL_HAVE_${name}=1)
  if(NOT KDL_INCLUDE_${name} STREQUAL "/usr/include")
    set_property(SOURCE ${ARGN} APPEND PROPERTY COMPILE_OPTIONS -isystem${KDL_INCLUDE_${name}})
  endif()
endfunction()
