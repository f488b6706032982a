# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# What `make install` puts where, and how other projects find it: pkg-config's libkdl and libkdl_matmul, and CMake's
# find_package(kdl) with kdl::kdl, kdl::kdl_static, kdl::kdl_matmul, kdl::kdl_matmul_static, the command kdl::tool, kdl_embed(),
# kdl_add_kernels() and kdl_ukernel().
#
# The link llvm-offload-binary -> kdl, under which the command takes that tool's place, is not
# installed: it would shadow LLVM's own.
include(CMakePackageConfigHelpers)
include(${CMAKE_CURRENT_LIST_DIR}/kdlEmbed.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/kdlKernels.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/kdlUkernels.cmake)

# The same names in this build as for those who find the package.
add_library(kdl::kdl ALIAS kdl_shared)
add_library(kdl::kdl_static ALIAS kdl_static)
set(targets kdl_shared kdl_static)
if(KDL_WITH_MATMUL)
  add_library(kdl::kdl_matmul ALIAS kdl_matmul_shared)
  add_library(kdl::kdl_matmul_static ALIAS kdl_matmul_static)
  list(APPEND targets kdl_matmul_shared kdl_matmul_static)
endif()
if(KDL_WITH_TOOLS)
  add_executable(kdl::tool ALIAS kdl)
  set_target_properties(kdl PROPERTIES EXPORT_NAME tool)
  list(APPEND targets kdl)
endif()

install(TARGETS ${targets} EXPORT kdl
        RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR}
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(TARGET kdl_trace_cuda)
  install(TARGETS kdl_trace_cuda kdl_trace_hip LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/kdl DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        FILES_MATCHING PATTERN "*.h")
# The pages that headers and messages name.
file(GLOB pages CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/docs/*.md)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${pages} DESTINATION ${CMAKE_INSTALL_DOCDIR})
if(KDL_WITH_TOOLS)
  install(FILES ${PROJECT_BINARY_DIR}/share/kdl.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  install(FILES ${PROJECT_BINARY_DIR}/share/kdl.bash RENAME kdl
          DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
  install(FILES ${PROJECT_BINARY_DIR}/share/_kdl
          DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
endif()

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/kdl)
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/kdlConfig.cmake.in
                              ${PROJECT_BINARY_DIR}/package/kdlConfig.cmake
                              INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/package/kdlConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(EXPORT kdl NAMESPACE kdl:: FILE kdlTargets.cmake DESTINATION ${package_dir})
install(FILES ${PROJECT_BINARY_DIR}/package/kdlConfig.cmake
              ${PROJECT_BINARY_DIR}/package/kdlConfigVersion.cmake
              ${CMAKE_CURRENT_LIST_DIR}/kdlEmbed.cmake
              ${CMAKE_CURRENT_LIST_DIR}/kdlKernels.cmake
              ${CMAKE_CURRENT_LIST_DIR}/kdlUkernels.cmake
        DESTINATION ${package_dir})

# Relative to the file itself, so that `cmake --install --prefix` and a moved tree stay right.
file(RELATIVE_PATH KDL_PC_PREFIX ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
set(names libkdl)
if(KDL_WITH_MATMUL)
  list(APPEND names libkdl_matmul)
endif()
foreach(name IN LISTS names)
  configure_file(${CMAKE_CURRENT_LIST_DIR}/${name}.pc.in ${PROJECT_BINARY_DIR}/package/${name}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/package/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()
