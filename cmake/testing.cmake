# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# How every test is registered, so that one ctest run can hold several builds of the suite: each
# build puts KDL_TEST_PREFIX before its test names ("asan." in the asan preset).
set(KDL_TEST_PREFIX "" CACHE STRING "Put before every test name of this build")
# OpenCL's real drivers are left out of sanitized runs: LLVM inside PoCL replaces the signal stack of
# the thread that loads it, which AddressSanitizer now and then does not survive.
set(KDL_SANITIZER_OPTIONS
    ASAN_OPTIONS=detect_stack_use_after_return=1:strict_string_checks=1:allocator_may_return_null=1
    LSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/tests/drivers.supp:print_suppressions=0
    UBSAN_OPTIONS=print_stacktrace=1
    OCL_ICD_VENDORS=/nonexistent
    TSAN_OPTIONS=halt_on_error=1:die_after_fork=0:allocator_may_return_null=1:suppressions=${PROJECT_SOURCE_DIR}/tests/tsan.supp)

# PoCL keeps what it compiled: here, not in the user's home. Its version 3.1 gives wrong results now and
# then when two of its threads run groups of a kernel with barriers (docs/backends.md).
set(KDL_OPENCL_ENVIRONMENT POCL_CACHE_DIR=${CMAKE_BINARY_DIR}/tests/pocl-cache
                           POCL_MAX_PTHREAD_COUNT=1)

# Intel's OpenCL for CPUs, where scripts/opencl-runtime.sh has put it: the environment in which it is
# the only platform, and a list that is empty where it is not there or not to be used.
set(KDL_INTEL_OPENCL ${PROJECT_SOURCE_DIR}/build/opencl-runtime CACHE PATH
    "Folder of Intel's OpenCL runtime, for tests")
set(KDL_INTEL_OPENCL_ENVIRONMENT "")
set(KDL_INTEL_OPENCL_WHY "Intel's OpenCL runtime is not there (scripts/opencl-runtime.sh build/opencl-runtime)")
if(KDL_SANITIZE)
  set(KDL_INTEL_OPENCL_WHY "real drivers are left out of sanitized runs")
elseif(EXISTS ${KDL_INTEL_OPENCL}/vendors/intel.icd)
  set(KDL_INTEL_OPENCL_ENVIRONMENT OCL_ICD_VENDORS=${KDL_INTEL_OPENCL}/vendors
                                   LD_LIBRARY_PATH=${KDL_INTEL_OPENCL})
endif()

# What links images for CPUs and AMD's GPUs, as Clang finds it.
find_program(KDL_LLD NAMES ld.lld HINTS ${KDL_LLVM_BIN_HINT} DOC "LLVM's linker, for tests")

# Selection depends on whether SPIR-V can be translated: tests that need it name the program.
find_program(KDL_LLVM_SPIRV NAMES llvm-spirv llvm-spirv-22 llvm-spirv-21 llvm-spirv-20 llvm-spirv-19 llvm-spirv-18
             llvm-spirv-17 llvm-spirv-16 llvm-spirv-15 llvm-spirv-14 DOC "The Khronos Group's SPIR-V translator, for tests")

# NVIDIA's programs, where no toolkit has them: scripts/cuda-tools.sh.
set(KDL_CUDA_TOOLS ${PROJECT_SOURCE_DIR}/build/cuda-tools CACHE PATH "Folder of NVIDIA's ptxas, cuobjdump, nvdisasm and libdevice, for tests")
# Programs that tests find where PATH has no others of their names; scripts/registry.sh makes the last.
set(KDL_TEST_PATH /usr/local/cuda/bin:${KDL_CUDA_TOOLS}/bin:${PROJECT_SOURCE_DIR}/build/registry/bin)

# Oclgrind's OpenCL platform, and why it takes no part where it does not.
find_file(KDL_OCLGRIND liboclgrind-rt-icd.so PATHS /usr/lib /usr/lib64 PATH_SUFFIXES oclgrind)
set(KDL_OCLGRIND_WHY "Oclgrind not found (Debian 12: oclgrind)")
if(KDL_SANITIZE)
  set(KDL_OCLGRIND_WHY "real drivers are left out of sanitized runs")
endif()

# What `make test`, which is to take ten minutes on two processors, leaves to `make test-long`, and the test that stays and fails for
# the same fault:
#   examples.transformer_opencl, _intel        examples.transformer_host, examples.opencl, examples.intel
#   language.x86-64-v2, -v4                    language.x86-64-v3
#   language.intel-opencl-c, intel-spirv64     language.opencl-c, language.intel-spirv64v1.3
#   language.gfx11-generic                     language.gfx942
#   language.translated-sm_90, -gfx942         language.translated; the lowering for these: tools.portable, tools.portable-devices
#   language.portable-sm_90, -gfx942, -gfx1100, -intel  language.portable, conformance.portable_*; the lowering for these: the same
#   mlir.lower-linalg-f16, -f32, -i8           mlir.lower-linalg-bf16; f32: -sizes, mlir.network; the types' own code: ukernels.matmul.f32_f16, s32_s8
#   mlir.lower-linalg-sizes-16, -sizes-i8      mlir.lower-linalg-sizes
#   ukernels.matmul.watched, .blocks: 3 types  the same of f32_bf16; the types' own code: ukernels.mma
#   ukernels.matmul.f32_*.avx512               ukernels.matmul.f32_bf16.avx512bf16, ukernels.mma.f32_*_avx512
#   ukernels.matmul.s32_s8.avx512vnni          ukernels.matmul.s32_s8, ukernels.mma.s32_*
#   ukernels.matmul.*.aarch64.*sve*: 16        ukernels.matmul.f32_bf16.aarch64.bfmmla_sve256.on_sve256, s32_s8.aarch64.sve512.on_sve512, ukernels.mma.*sve*
#   bench.vendor_instructions                  bench.launch_instructions
#   tools.bench-matmul, -slowed, -interrupt    unit.bench_results, tools.bench, what they measure apart: timing decides in none
#   tools.bench-page                           unit.bench_results; needs a browser (300 MB)
#   bench.mlir_mmt4d, bench.mlir_linalg        mlir.mmt4d-numbers, mlir.lower-linalg-bf16; what they measure apart: timing decides in neither
#   setup.order                                none: it configures six times; fails only by cmake/compiler.cmake and configure.sh
set(KDL_LONG
    "^bench[.]mlir_mmt4d$|^bench[.]vendor_instructions$|^bench[.]mlir_linalg$|^examples[.]transformer_(opencl|intel)$|^language[.](x86-64-v[24]|intel-opencl-c|intel-spirv64|gfx11-generic|translated-sm_90|translated-gfx942|portable-sm_90|portable-gfx942|portable-gfx1100|portable-intel)$|^setup[.]order$"
    "|^mlir[.]lower-linalg-(f16|f32|i8|sizes-(16|i8))$|^tools[.]bench-(interrupt|matmul|page|slowed)"
    "|^ukernels[.]matmul[.]s32_s8[.]avx512vnni$"
    "|^ukernels[.]matmul[.]((watched|blocks)[.](f32_f16|f32_f32|s32_s8)|f32_(bf16|f16|f32)[.]avx512)$")
string(CONCAT KDL_LONG ${KDL_LONG})
# CMake's expressions have at most nine groups.
set(KDL_LONG_SVE "^ukernels[.]matmul[.](f32_f16|f32_f32)[.]aarch64[.]sve|^ukernels[.]matmul[.]f32_bf16[.]aarch64[.](sve512|bfmmla_sve512|bfmmla_sve256[.]on_sve512)"
                 "|^ukernels[.]matmul[.]s32_s8[.]aarch64[.](i8mm_sve|sve512[.]on_sve2048)")
string(CONCAT KDL_LONG_SVE ${KDL_LONG_SVE})
# Under a sanitizer besides: the commands' tests, which are more of compilers, linkers and FileCheck than of kdl, other
# programs' work, and commands whose allocations fail, as they do in the plain build too. The fuzzers run the commands
# sanitized on damaged files; what of the commands' tests is about such files stays.
set(KDL_LONG_WHEN_SANITIZED "^(examples|language|rfc|tools)[.]|^unit[.](bitcode_(cache|load)|fork|opencl_sequence|target_ptxas|trust_driver)|^interop[.](cuda_libraries|llvm|random_v1)"
    "|^memory[.]places[.](archives|check|ld|link|oci|parts|signed|thin|trace)$")
string(CONCAT KDL_LONG_WHEN_SANITIZED ${KDL_LONG_WHEN_SANITIZED})
# In a build without components, tests that take seconds and know of none: the plain build has them.
set(KDL_LONG_WITHOUT_COMPONENTS "^unit[.](image_bitcode|device_faults|target_ptxas|device_real_.*_valgrind)$")
set(KDL_SHORT_WHEN_SANITIZED
    "^tools[.](cc|check-hostile|compressed|damaged-nested|explain-bad-input|forged-lines|ld-errors|ls|run-refused|sign|split|thin-(elf|kinds)|verify)$")

# What depends on this CPU runs natively, and again as NAME.LEVEL with the CPU taken for one of each level (KDL_CPU). The
# second list is for make test-long.
set(KDL_LEVELS "^(conformance[.]host|mlir[.]mmt4d-numbers|tools[.](link-run|run)|unit[.]matmul_call)$")
set(KDL_LEVELS_LONG "^(example[.]matmul|examples[.](host|transformer_host)|mlir[.](lower-linalg-(bf16|f16|f32|i8|own|sizes.*|stack)|lower-contractions-(batch|run)|manual-deallocation|mmt4d|mmt4d-tiles|parallel|propagate-run)|trace[.]conformance_host)$")

# What `make install` gives: the test install.prefix makes it, once for all tests that are INSTALLED.
set(KDL_INSTALLED ${CMAKE_BINARY_DIR}/tests/product/prefix)

# The component that a test is of, by its name: a label of the test, as ctest -L core takes it. The first row that matches.
set(KDL_COMPONENT_TESTS
    "mlir:^(mlir|docs[.]mlir|bench[.]mlir)" "python:^(python|memory[.]python|example[.]pytorch)" "matmul:^ukernels|matmul|^example[.]mpi"
    "cc:^(language|examples|tools[.](cc|barriers)|install[.]kernels)" "bench:^(bench[.]|tools[.]bench|unit[.]bench)"
    "pack:^(tools[.](thin|check|diff|only|split|oci|registry|pull|push|merge|docker)|unit[.](thin|oci|split|login)|corpus[.](thin|oci|split|login)|fuzz[.](thin|oci|split|login)|memory[.]one[.](thin|wheel|oci|check|archives|parts))"
    "jit:^(tools[.](ld|link|cache|specialize)|unit[.](bitcode|cache|ld|observer|specialize)|bitcode|cache|memory[.][a-z]+[.](ld|link|cache))" "trace:^(trace|tools[.]trace|unit[.]trace|corpus[.]trace|fuzz[.]trace)"
    "compiler:^(unit[.]toolchain|tools[.]toolchain)" "core:^(unit|conformance|corpus|fuzz|growth|soak)[.]" "tools:.")
function(kdl_component_of name out_component)
  foreach(row IN LISTS KDL_COMPONENT_TESTS)
    string(REGEX MATCH "^([a-z]+):(.*)$" row "${row}")
    set(component ${CMAKE_MATCH_1})
    if(name MATCHES "${CMAKE_MATCH_2}")
      set(${out_component} ${component} PARENT_SCOPE)
      return()
    endif()
  endforeach()
endfunction()

# Where programs put what they would put into the user's home or among the temporary files.
file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/tests/xdg)

# kdl_add_test(NAME unit.x COMMAND program arg... [LABEL ci|long] [TIMEOUT seconds] [SERIAL] [INSTALLED] [LLD]
#              [SKIP_REGEX regex] [ENVIRONMENT NAME=value...])
# A test that cannot run here says why and returns 77: ctest then reports it as skipped. LLD: it links images for CPUs or AMD's GPUs.
function(kdl_add_test)
  cmake_parse_arguments(arg "SERIAL;LLD;INSTALLED" "NAME;LABEL;TIMEOUT;SKIP_REGEX" "COMMAND;ENVIRONMENT" ${ARGN})
  if(NOT arg_LABEL)
    set(arg_LABEL ci)
  endif()
  if(arg_LLD AND NOT KDL_LLD)
    kdl_skip_test(${arg_NAME} "ld.lld not found (Debian: lld-22)")
    return()
  endif()
  if(NOT arg_TIMEOUT OR arg_TIMEOUT LESS 300) # is for those that hang: a busy machine takes ten times as long as an idle one
    set(arg_TIMEOUT 300)
  endif()
  if(arg_NAME MATCHES "${KDL_LONG}" OR arg_NAME MATCHES "${KDL_LONG_SVE}")
    set(arg_LABEL long)
  endif()
  if(NOT KDL_COMPONENTS AND arg_NAME MATCHES "${KDL_LONG_WITHOUT_COMPONENTS}")
    set(arg_LABEL long)
  endif()
  if(KDL_SANITIZE)
    if(arg_NAME MATCHES "${KDL_LONG_WHEN_SANITIZED}" AND NOT arg_NAME MATCHES "${KDL_SHORT_WHEN_SANITIZED}")
      set(arg_LABEL long)
    endif()
    math(EXPR arg_TIMEOUT "${arg_TIMEOUT} * 5")
    # Intel's Level Zero driver opens a library with RTLD_DEEPBIND, at which AddressSanitizer ends the process.
    list(PREPEND arg_ENVIRONMENT ZE_ENABLE_ALT_DRIVERS=/nonexistent)
    list(APPEND arg_ENVIRONMENT ${KDL_SANITIZER_OPTIONS})
  endif()
  # Not the developer's own. LLVM's compilers in memory write for Linux's perf, at home if JITDUMPDIR does not say otherwise.
  list(PREPEND arg_ENVIRONMENT KDL_CACHE_DIR=${CMAKE_BINARY_DIR}/tests/cache XDG_CACHE_HOME=${CMAKE_BINARY_DIR}/tests/xdg
       JITDUMPDIR=${CMAKE_BINARY_DIR}/tests/xdg PYTEST_DEBUG_TEMPROOT=${CMAKE_BINARY_DIR}/tests/xdg
       PYTHONDONTWRITEBYTECODE=1 KDL_LD_TIMEOUT=300)
  set(name ${KDL_TEST_PREFIX}${arg_NAME})
  add_test(NAME ${name} COMMAND ${arg_COMMAND} COMMAND_EXPAND_LISTS)
  kdl_component_of(${arg_NAME} component)
  set_tests_properties(${name} PROPERTIES LABELS "${arg_LABEL};${component}" TIMEOUT ${arg_TIMEOUT}
                                          SKIP_RETURN_CODE 77)
  set_tests_properties(${name} PROPERTIES ENVIRONMENT "${arg_ENVIRONMENT}"
                       ENVIRONMENT_MODIFICATION "PATH=path_list_append:${KDL_TEST_PATH}")
  if(arg_SERIAL)
    set_tests_properties(${name} PROPERTIES RUN_SERIAL ON)
  endif()
  if(arg_INSTALLED)
    set_tests_properties(${name} PROPERTIES FIXTURES_REQUIRED installed)
  endif()
  if(arg_SKIP_REGEX)
    set_tests_properties(${name} PROPERTIES SKIP_REGULAR_EXPRESSION "${arg_SKIP_REGEX}")
  endif()
  if(CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64" AND NOT KDL_SANITIZE AND
     arg_NAME MATCHES "${KDL_LEVELS}|${KDL_LEVELS_LONG}")
    add_levels(${arg_NAME} "${arg_COMMAND}")
  endif()
endfunction()

# The test again at each level; one at a time, since all of them write the same files.
function(add_levels test command)
  set_tests_properties(${test} PROPERTIES RESOURCE_LOCK ${test})
  list(POP_FRONT command program)
  if(TARGET ${program})
    set(program $<TARGET_FILE:${program}>)
  endif()
  foreach(level x86-64-v2 x86-64-v3 x86-64-v4)
    set(name ${test}.${level})
    add_test(NAME ${name} COMMAND ${PROJECT_SOURCE_DIR}/tests/cpu_level.sh ${level} ${program} ${command}
             COMMAND_EXPAND_LISTS)
    foreach(property ENVIRONMENT LABELS RESOURCE_LOCK RUN_SERIAL SKIP_REGULAR_EXPRESSION SKIP_RETURN_CODE TIMEOUT)
      get_test_property(${test} ${property} value)
      if(value)
        set_tests_properties(${name} PROPERTIES ${property} "${value}")
      endif()
    endforeach()
    if(test MATCHES "${KDL_LEVELS_LONG}")
      kdl_component_of(${test} component)
      set_tests_properties(${name} PROPERTIES LABELS "long;${component}")
    endif()
  endforeach()
endfunction()

# kdl_skip_test(unit.x "cmocka not found (Debian: libcmocka-dev)"): listed and reported as skipped.
function(kdl_skip_test name reason)
  kdl_add_test(NAME ${name} COMMAND ${CMAKE_COMMAND} -E echo "skipped: ${reason}"
               SKIP_REGEX "skipped: ")
endfunction()
