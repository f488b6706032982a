# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# cmake -DSOURCE=tree -DOUTPUT=header -P buildId.cmake: KDL_BUILD_ID, a digest of libkdl's sources.
file(GLOB_RECURSE files RELATIVE ${SOURCE} ${SOURCE}/support/*.[ch] ${SOURCE}/support/*.def ${SOURCE}/lib/*.[ch] ${SOURCE}/lib/*.def
     ${SOURCE}/ext/*.[ch] ${SOURCE}/include/*.h)
list(SORT files)
set(digests "")
foreach(file IN LISTS files)
  file(SHA256 ${SOURCE}/${file} digest)
  string(APPEND digests "${digest} ${file}\n")
endforeach()
string(SHA256 digest "${digests}")
string(SUBSTRING ${digest} 0 40 digest)
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT "#define KDL_BUILD_ID \"${digest}\"\n")
