# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Puts kernel libraries into programs.
#
#   kdl_embed(TARGET app FILE saxpy.offload SYMBOL saxpy_kernels)
#     carries the file inside app, in a section that `kdl ls app` and llvm-objdump list. In a source
#     of app:   #include <kdl/kdl.h>
#               KDL_EMBED_DECLARE(saxpy_kernels);
#               ... kdl_open_memory(saxpy_kernels, KDL_EMBED_SIZE(saxpy_kernels), NULL, &lib) ...
#
#   kdl_embed(TARGET app OBJECT host.o)
#     links host.o, compiled by Clang with -fembed-offload-object, into app so that the embedded
#     library stays: linkers drop the section as Clang marks it.
#
# Files that a custom command of the same folder makes are made first, and app is rebuilt when they
# change. Relative names are looked up in the current source folder, as in target_sources().
function(kdl_embed)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "TARGET;FILE;SYMBOL;OBJECT" "")
  if(arg_UNPARSED_ARGUMENTS OR NOT TARGET "${arg_TARGET}")
    message(FATAL_ERROR "kdl_embed: expected TARGET <target>, then FILE <file> SYMBOL <name> or "
                        "OBJECT <file>; found: ${ARGN}")
  endif()
  if(arg_FILE AND arg_SYMBOL AND NOT arg_OBJECT)
    _kdl_embed_file(${arg_TARGET} "${arg_FILE}" ${arg_SYMBOL})
  elseif(arg_OBJECT AND NOT arg_FILE AND NOT arg_SYMBOL)
    _kdl_embed_object(${arg_TARGET} "${arg_OBJECT}")
  else()
    message(FATAL_ERROR "kdl_embed: expected FILE with SYMBOL, or OBJECT alone; found: ${ARGN}")
  endif()
endfunction()

function(_kdl_embed_file target file symbol)
  if(NOT symbol MATCHES "^[A-Za-z_][A-Za-z0-9_]*$")
    message(FATAL_ERROR "kdl_embed: SYMBOL: found \"${symbol}\", expected a C identifier")
  endif()
  cmake_path(ABSOLUTE_PATH file)
  get_property(languages GLOBAL PROPERTY ENABLED_LANGUAGES)
  set(extension cpp)
  if("C" IN_LIST languages)
    set(extension c)
  endif()
  set(source ${CMAKE_CURRENT_BINARY_DIR}/kdl_embed/${target}-${symbol}.${extension})
  file(CONFIGURE OUTPUT ${source} @ONLY
       CONTENT "#include <kdl/embed.h>\nKDL_EMBED(@symbol@, \"@file@\");\n")
  set_source_files_properties(${source} PROPERTIES OBJECT_DEPENDS "${file}")
  target_sources(${target} PRIVATE ${source})
  target_include_directories(${target} PRIVATE
    $<TARGET_PROPERTY:kdl::kdl,INTERFACE_INCLUDE_DIRECTORIES>)
endfunction()

function(_kdl_embed_object target object)
  cmake_path(ABSOLUTE_PATH object)
  cmake_path(GET object STEM stem)
  set(kept ${CMAKE_CURRENT_BINARY_DIR}/kdl_embed/${target}-${stem}.o)
  file(MAKE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/kdl_embed)
  add_custom_command(OUTPUT ${kept} COMMAND kdl::tool embed ${object} -o ${kept}
                     DEPENDS ${object} VERBATIM
                     COMMENT "Keeping the kernel library embedded in ${object}")
  set_source_files_properties(${kept} PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
  target_sources(${target} PRIVATE ${kept})
endfunction()
