# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Libraries of microkernels, for this project and for those who find the package.
#
#   kdl_ukernel(SOURCE x86/dot_f32_avx512.c TRIPLE x86_64-unknown-linux-gnu ARCH x86-64-v4
#               [REQUIRES avx512_bf16 avx512_vnni] [TAG avx512] PROVIDES kdl_uk_dot_f32...
#               [FLAGS flag...])
#     adds one image: SOURCE compiled to bitcode for one target. What the compiler may use follows
#     from ARCH and REQUIRES, and so does what the metadata says, so that they cannot differ.
#     A length of SVE's vectors, as sve_vl_256, is a minimum for the compiler, too.
#
#   kdl_pack_ukernels(target file)
#     makes FILE of the images added since the last call.
#
# Needs Clang, which KDL_CLANG names; it is empty where there is none.
find_program(KDL_CLANG NAMES clang HINTS ${KDL_LLVM_BIN_HINT} /usr/lib/llvm-22/bin NO_DEFAULT_PATH
             DOC "Clang, which compiles microkernels to bitcode")
if(NOT KDL_CLANG)
  set(KDL_CLANG "")
endif()

# The PTX version of a generation's first CUDA, rounded up to one that all of the generation take.
# Clang's own choice depends on the CUDA that it finds, so none is shown to it; without one, it
# chooses a version that knows no processor since Pascal.
function(kdl_ptx_version arch out_version)
  string(REGEX MATCH "[0-9]+" number ${arch})
  if(number LESS 80)
    set(${out_version} 63 PARENT_SCOPE)
  elseif(arch STREQUAL sm_90a)
    set(${out_version} 80 PARENT_SCOPE)
  elseif(number EQUAL 89) # mma of bytes as e4m3
    set(${out_version} 84 PARENT_SCOPE)
  elseif(number LESS 100)
    set(${out_version} 78 PARENT_SCOPE)
  else()
    set(${out_version} 90 PARENT_SCOPE)
  endif()
endfunction()

function(kdl_ukernel)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "SOURCE;TRIPLE;ARCH;TAG" "REQUIRES;PROVIDES;FLAGS")
  if(arg_UNPARSED_ARGUMENTS OR NOT arg_SOURCE OR NOT arg_TRIPLE OR NOT arg_ARCH OR NOT arg_PROVIDES)
    message(FATAL_ERROR "kdl_ukernel: expected SOURCE, TRIPLE, ARCH and PROVIDES; found: ${ARGN}")
  endif()
  set(source ${arg_SOURCE})
  cmake_path(ABSOLUTE_PATH source)
  cmake_path(GET source STEM stem)
  string(REPLACE "+" "." name "${stem}.${arg_ARCH}")
  foreach(feature IN LISTS arg_REQUIRES)
    string(APPEND name .${feature})
  endforeach()
  set(bitcode ${CMAKE_CURRENT_BINARY_DIR}/ukernels/${name}.bc)

  # AMD's -mcpu, NVIDIA's and x86's -march; of x86, a feature is -mavx512bf16, but -mamx-tile; of
  # AArch64, it is added to -march.
  set(flags -march=${arg_ARCH})
  if(arg_TRIPLE MATCHES "^amdgcn")
    set(flags -mcpu=${arg_ARCH} -nogpulib -Xclang -mcode-object-version=none) # the caller says
  elseif(arg_TRIPLE MATCHES "^nvptx")
    kdl_ptx_version(${arg_ARCH} ptx)
    list(APPEND flags -nogpulib --cuda-path=/nonexistent --cuda-feature=+ptx${ptx})
  elseif(arg_TRIPLE MATCHES "^spirv")
    set(flags "")
  elseif(arg_TRIPLE MATCHES "^aarch64")
    set(flags -fPIC -fno-stack-protector)
    set(march ${arg_ARCH})
    foreach(feature IN LISTS arg_REQUIRES)
      if(feature MATCHES "^sve_vl_([0-9]+)$") # the least length, as the CPUs of the image may have more
        string(APPEND march +sve)
        list(APPEND flags -msve-vector-bits=${CMAKE_MATCH_1}+)
      else()
        string(APPEND march +${feature})
      endif()
    endforeach()
    list(PREPEND flags -march=${march})
  else()
    list(APPEND flags -fPIC -fno-stack-protector)
    foreach(feature IN LISTS arg_REQUIRES)
      string(REGEX REPLACE "^amx_" "amx-" flag ${feature})
      string(REPLACE "_" "" flag ${flag})
      list(APPEND flags -m${flag})
    endforeach()
  endif()
  # Freestanding: there is no C library where microkernels run. Optimising is left to the linker.
  add_custom_command(OUTPUT ${bitcode}
    COMMAND ${KDL_CLANG} -std=gnu17 -target ${arg_TRIPLE} ${flags} -O3 -Xclang -disable-llvm-passes
            -ffreestanding -fno-ident -Wall -Wextra -Werror
            "-I$<JOIN:$<TARGET_PROPERTY:kdl::kdl,INTERFACE_INCLUDE_DIRECTORIES>,;-I>"
            ${arg_FLAGS} -emit-llvm -MD -MF ${bitcode}.d -c ${source}
            -o ${bitcode}
    DEPENDS ${source} DEPFILE ${bitcode}.d VERBATIM COMMAND_EXPAND_LISTS COMMENT "Microkernel ${name}")

  set(image "file=${bitcode},triple=${arg_TRIPLE},arch=${arg_ARCH},kind=none")
  if(arg_REQUIRES)
    list(JOIN arg_REQUIRES "+" requires)
    string(APPEND image ",requires_features=${requires}")
  endif()
  if(arg_TAG)
    string(APPEND image ",variant_tag=${arg_TAG}")
  endif()
  foreach(symbol IN LISTS arg_PROVIDES)
    string(APPEND image ",kdl.ukernel.${symbol}=${stem}")
  endforeach()
  set(KDL_UKERNEL_FILES ${KDL_UKERNEL_FILES} ${bitcode} PARENT_SCOPE)
  set(KDL_UKERNEL_IMAGES ${KDL_UKERNEL_IMAGES} --image=${image} PARENT_SCOPE)
endfunction()

function(kdl_pack_ukernels target file)
  cmake_path(GET file PARENT_PATH folder)
  file(MAKE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/ukernels ${folder})
  add_custom_command(OUTPUT ${file}
    COMMAND kdl::tool pack -o ${file} ${KDL_UKERNEL_IMAGES}
    DEPENDS ${KDL_UKERNEL_FILES} kdl::tool VERBATIM COMMENT "Microkernels ${file}")
  add_custom_target(${target} ALL DEPENDS ${file})
  set(KDL_UKERNEL_FILES "" PARENT_SCOPE)
  set(KDL_UKERNEL_IMAGES "" PARENT_SCOPE)
endfunction()
