# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Compiles kernels while a project is built.
#
#   kdl_add_kernels(app SOURCES saxpy.c reduce.cpp TARGETS sm_90 gfx942 x86-64-v3
#                   [OPTIONS -O2 -DTILE=64 -Iinclude] [EMBED symbol | OUTPUT kernels.offload])
#     compiles every source with `kdl cc` for every target, into one library, which app carries
#     inside; it has the name app_kernels, or that of EMBED. In a source of app:
#               #include <kdl/kdl.h>
#               KDL_EMBED_DECLARE(app_kernels);
#               ... kdl_open_memory(app_kernels, KDL_EMBED_SIZE(app_kernels), NULL, &lib) ...
#     With OUTPUT it is a file instead, in the current binary folder; app may then be the name of no
#     target yet, and becomes one that makes the file.
#
# Names of files, and folders behind -I, are relative to the current source folder.
#
# What a source includes is followed: a header that changes has the kernels compiled again.
# CMAKE_KDL_COMPILER, where it is set, is the Clang that kdl cc runs, for instance a link to ccache
# named clang-22.
include(${CMAKE_CURRENT_LIST_DIR}/kdlEmbed.cmake)

function(kdl_add_kernels target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "EMBED;OUTPUT" "SOURCES;TARGETS;OPTIONS")
  if(arg_UNPARSED_ARGUMENTS OR NOT arg_SOURCES OR NOT arg_TARGETS OR (arg_EMBED AND arg_OUTPUT))
    message(FATAL_ERROR "kdl_add_kernels: expected <target> SOURCES <file>... TARGETS <name>... "
                        "[OPTIONS <word>...] [EMBED <symbol> | OUTPUT <file>]; found: ${ARGV}")
  endif()
  if(NOT TARGET "${target}" AND NOT arg_OUTPUT)
    message(FATAL_ERROR "kdl_add_kernels: ${target} is no target, expected one that carries the "
                        "kernels, or OUTPUT <file>")
  endif()
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/kdl_kernels/${target})
  file(MAKE_DIRECTORY ${folder})
  # Folders are those of the source tree, though the compiler runs in the binary one, which depfiles
  # are relative to.
  set(options "")
  foreach(option IN LISTS arg_OPTIONS)
    if(option MATCHES "^-I([^/$].*)$")
      set(option -I${CMAKE_CURRENT_SOURCE_DIR}/${CMAKE_MATCH_1})
    endif()
    list(APPEND options "${option}")
  endforeach()
  set(libraries "")
  foreach(source IN LISTS arg_SOURCES)
    _kdl_compile_kernels(${folder} "${source}" "${arg_TARGETS}" "${options}" library)
    list(APPEND libraries ${library})
  endforeach()
  set(symbol ${target}_kernels)
  if(arg_EMBED)
    set(symbol ${arg_EMBED})
  endif()
  set(whole ${folder}/${symbol}.offload)
  if(arg_OUTPUT)
    cmake_path(ABSOLUTE_PATH arg_OUTPUT BASE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}
               OUTPUT_VARIABLE whole)
  endif()
  add_custom_command(OUTPUT ${whole} COMMAND kdl::tool merge ${libraries} -o ${whole}
                     DEPENDS ${libraries} kdl::tool VERBATIM
                     COMMENT "Putting together the kernels of ${target}")
  if(NOT TARGET "${target}")
    add_custom_target(${target} ALL DEPENDS ${whole})
    return()
  endif()
  # Both for targets of other folders, and so that two targets with one source wait for each other.
  string(MAKE_C_IDENTIFIER "${target}_${symbol}_kdl" made)
  add_custom_target(${made} DEPENDS ${whole})
  add_dependencies(${target} ${made})
  if(NOT arg_OUTPUT)
    kdl_embed(TARGET ${target} FILE ${whole} SYMBOL ${symbol})
  endif()
endfunction()

# One source for all targets; out_library is the file that is made.
function(_kdl_compile_kernels folder source targets options out_library)
  cmake_path(ABSOLUTE_PATH source)
  cmake_path(GET source FILENAME name)
  string(SHA256 place "${source}") # two folders may have a file of one name
  string(SUBSTRING ${place} 0 8 place)
  set(library ${folder}/${name}.${place}.offload)
  list(JOIN targets "," targets)
  set(clang "")
  if(CMAKE_KDL_COMPILER)
    set(clang --clang=${CMAKE_KDL_COMPILER})
  endif()
  add_custom_command(
    OUTPUT ${library}
    COMMAND kdl::tool cc ${source} --targets=${targets} ${options} ${clang} -MD -MF ${library}.d
            -o ${library}
    DEPENDS ${source} kdl::tool
    DEPFILE ${library}.d
    COMMAND_EXPAND_LISTS VERBATIM COMMENT "Compiling kernels of ${name}")
  set(${out_library} ${library} PARENT_SCOPE)
endfunction()
