# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# libclc reads tables before it checks whether it needs the value: cosh(1e300) reads far beyond the end. This clamps the index
# of tables whose index is not a few bits. The index is frozen first: converting a number that is too large gives poison.
s/^  %([0-9]+) = (getelementptr inbounds (float|double), ptr addrspace\(4\) @(SINH|COSH|SINHCOSH)_TBL_(HEAD|TAIL), i64) %([0-9]+)(.*)$/  %kdl.\1.is = freeze i64 %\6\n  %kdl.\1.in = icmp ult i64 %kdl.\1.is, 36\n  %kdl.\1 = select i1 %kdl.\1.in, i64 %kdl.\1.is, i64 36\n  %\1 = \2 %kdl.\1\7/
s/^  %([0-9]+) = (getelementptr inbounds (float|double), ptr addrspace\(4\) @ATAN_JBY256_TBL_(HEAD|TAIL), i64) %([0-9]+)(.*)$/  %kdl.\1.is = freeze i64 %\5\n  %kdl.\1.in = icmp ult i64 %kdl.\1.is, 240\n  %kdl.\1 = select i1 %kdl.\1.in, i64 %kdl.\1.is, i64 240\n  %\1 = \2 %kdl.\1\6/
s/^  %([0-9]+) = (getelementptr inbounds (float|double), ptr addrspace\(4\) @CBRT_REM_TBL_(HEAD|TAIL), i64) %([0-9]+)(.*)$/  %kdl.\1.is = freeze i64 %\5\n  %kdl.\1.in = icmp ult i64 %kdl.\1.is, 4\n  %kdl.\1 = select i1 %kdl.\1.in, i64 %kdl.\1.is, i64 4\n  %\1 = \2 %kdl.\1\6/
