# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# LLVM's tools, for tests and the demonstration only: the library and the command never need
# them. KDL_LLVM_BIN is the folder where they go by their plain names; empty where there is none.
find_path(KDL_LLVM_BIN llvm-offload-binary HINTS ${KDL_LLVM_BIN_HINT} PATHS ENV PATH
          DOC "Folder of LLVM's tools under their plain names")
if(NOT KDL_LLVM_BIN)
  set(KDL_LLVM_BIN "")
endif()
# The first with NumPy, which the system's has by scripts/packages.txt: another may come first in PATH.
function(kdl_has_numpy result python)
  execute_process(COMMAND ${python} -c "import numpy" RESULT_VARIABLE failed OUTPUT_QUIET ERROR_QUIET)
  if(failed)
    set(${result} FALSE PARENT_SCOPE)
  endif()
endfunction()
find_program(KDL_PYTHON NAMES python3 VALIDATOR kdl_has_numpy)
find_program(KDL_PYTHON NAMES python3)
find_program(KDL_LIT NAMES lit lit-${KDL_LLVM_MAJOR} HINTS ${KDL_LLVM_BIN})
find_program(KDL_FILECHECK NAMES FileCheck FileCheck-${KDL_LLVM_MAJOR} HINTS ${KDL_LLVM_BIN})
