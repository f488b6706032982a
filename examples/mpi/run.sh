#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# run.sh SOURCE BUILD WORK [N [ROUNDS]]: compiles summa.c and runs it on 1, 2 and 4 processes of this machine, then on processes that are unlike each
# other: CPUs of two levels, an OpenCL driver where one is here, a fake NVIDIA GPU. Beside ScaLAPACK where that is found.
set -euo pipefail
source=$1 build=$2 work=$3 n=${4:-256} rounds=${5:-1}
for program in mpicc mpirun clang-22; do
  command -v "$program" >/dev/null || { echo "skipped: $program not found (Debian: libopenmpi-dev, openmpi-bin, clang-22)"; exit 77; }
done
mkdir -p "$work"
cd "$work"
peer=()
if [ -e "$(mpicc -print-file-name=libscalapack-openmpi.so)" ]; then
  peer=(-DWITH_SCALAPACK -lscalapack-openmpi)
fi
mpicc -std=gnu17 -O2 -I"$source/include" "$source/examples/mpi/summa.c" "$source/examples/mpi/multiply.c" "$source/examples/mpi/bind.c" -o summa -L"$build/lib" -lkdl_matmul -lkdl \
  "${peer[@]}" -Wl,-rpath,"$build/lib"
"$build/bin/kdl" cc "$source/examples/mpi/panel.c" --targets=x86-64-v2,x86-64-v4,opencl-c,compute_75 -o panels.offload
# As root, and with more processes than processors: this is one small machine. One thread each, also of BLAS.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_btl=^tcp OPENBLAS_NUM_THREADS=1 KDL_CACHE_DIR=$work/cache
run() { mpirun --oversubscribe --bind-to none "$@"; }

echo "== the same number of elements for all"
for processes in 1 2 4; do run -n $processes env KDL_DEVICE=host ./summa panels.offload "$n" 0 "$rounds"; done
echo "== as many for each"
for processes in 1 2 4; do
  side=$(awk -v n="$n" -v p=$processes 'BEGIN { print int(n * sqrt(p) / 64 + 0.5) * 64 }')
  run -n $processes env KDL_DEVICE=host ./summa panels.offload "$side" 0 "$rounds"
done

# Each of its own device and image. Image 0 is for x86-64-v2: on a machine with more it is chosen by its place.
echo "== unlike each other"
third=host
if "$build/bin/kdl" devices 2>/dev/null | grep -q opencl; then third=opencl; fi
cat >unlike.sh <<END
#!/bin/sh
case \$OMPI_COMM_WORLD_RANK in
  0) exec env KDL_DEVICE=host KDL_POLICY=first ./summa --panel panels.offload $n 32 ;;
  1) exec env KDL_DEVICE=host ./summa panels.offload $n 32 ;;
  2) exec env KDL_DEVICE=$third ./summa panels.offload $n 32 ;;
  *) exec env KDL_DEVICE=cuda LD_LIBRARY_PATH=$build/fakes/whole 'KDL_FAKE_DEVICES=cuda:sm_90 driver=13.0 memory=1GiB' ./summa panels.offload $n 32 ;;
esac
END
chmod +x unlike.sh
run -n 4 ./unlike.sh | tee mixed.txt
grep -q 'on cuda:sm_90 .*, image 3' mixed.txt
grep -q 'rank 0 (0, 0) on host:.*, image 0' mixed.txt

# Two GPUs: by OMPI_COMM_WORLD_LOCAL_RANK each process has one of its own.
gpu='cuda:sm_90 driver=13.0 memory=1GiB name'
run -n 2 env LD_LIBRARY_PATH="$build/fakes/whole" KDL_FAKE_DEVICES="$gpu=a;$gpu=b" ./summa panels.offload 64 | tee two.txt
grep -q 'rank 0 .* on cuda:sm_90 a,' two.txt
grep -q 'rank 1 .* on cuda:sm_90 b,' two.txt

# The same where the launcher shows each process a single one, as Slurm does with --gpus-per-task.
# shellcheck disable=SC2016 # for the shell of each process
run -n 2 env LD_LIBRARY_PATH="$build/fakes/whole" KDL_FAKE_DEVICES="$gpu=a;$gpu=b" \
  sh -c 'CUDA_VISIBLE_DEVICES=$((1 - OMPI_COMM_WORLD_LOCAL_RANK)) exec ./summa panels.offload 64' | tee shown.txt
grep -q 'rank 0 .* on cuda:sm_90 b,' shown.txt
grep -q 'rank 1 .* on cuda:sm_90 a,' shown.txt

# A GPU that the system knows to be near NUMA node 0: its process is kept to the processors there. /sys is another one for these processes alone.
slot=/sys/bus/pci/devices/0000:41:00.0/numa_node
if [ "$(id -u)" = 0 ] && [ -e /sys/devices/system/node/node0/cpulist ] && unshare -m mount --bind "$work" /sys/bus/pci/devices 2>/dev/null; then
  mkdir -p "$work/pci/0000:41:00.0"
  echo 0 >"$work/pci/0000:41:00.0/numa_node"
  # shellcheck disable=SC2016 # for the other shell
  LD_LIBRARY_PATH=$build/fakes/whole KDL_FAKE_DEVICES='cuda:sm_90 driver=13.0 memory=1GiB pci=0000:41:00.0' KDL_DEVICE=cuda \
    unshare -m sh -c 'mount --bind "$1/pci" /sys/bus/pci/devices && test -r "$2" && exec mpirun --bind-to none -n 1 ./summa panels.offload 64' \
    sh "$work" "$slot" | tee near.txt
  grep -q 'on cuda:sm_90 .*, near node 0$' near.txt
else
  echo "not run: binding to a NUMA node, for which /sys is replaced: needs root and mount namespaces"
fi
