# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Removes fast-math flags, which libclc's operations have from LLVM 23 on: constants that kdl-ld folds must not change results.
s/ (fneg|fadd|fsub|fmul|fdiv|frem|fcmp|select|phi|call|sitofp|uitofp|fptrunc|fpext)( (nnan|ninf|nsz|arcp|contract|afn|reassoc|fast))+ / \1 /
