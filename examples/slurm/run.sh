#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# run.sh SOURCE BUILD WORK: a Slurm of this machine's own, with its daemons, configuration and state in WORK, runs summa.sbatch, and
# a job that asks each task for its device. Needs root: slurmd does. Nothing of an installed Slurm is touched.
set -euo pipefail
source=$1 build=$2 work=$3
for program in slurmctld slurmd sbatch srun mpicc clang-22 python3; do
  command -v "$program" >/dev/null || { echo "skipped: $program not found (Debian: slurmctld, slurmd, slurm-client, libopenmpi-dev, clang-22)"; exit 77; }
done
[ "$(id -u)" = 0 ] || { echo 'skipped: slurmd needs root'; exit 77; }
rm -rf "$work"
mkdir -p "$work"/{state,spool,home}
cd "$work"
port=$((20000 + $$ % 20000))
host=$(hostname -s)
cat >slurm.conf <<END
ClusterName=test
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$port
SlurmdPort=$((port + 1))
SlurmUser=root
AuthType=auth/none
CredType=cred/none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
MpiDefault=pmix
ReturnToService=2
StateSaveLocation=$work/state
SlurmdSpoolDir=$work/spool
SlurmctldPidFile=$work/slurmctld.pid
SlurmdPidFile=$work/slurmd.pid
SlurmctldLogFile=$work/slurmctld.log
SlurmdLogFile=$work/slurmd.log
SlurmdParameters=config_overrides
NodeName=$host NodeAddr=127.0.0.1 CPUs=4 State=UNKNOWN
PartitionName=all Nodes=$host Default=YES MaxTime=5 OverSubscribe=FORCE:4
END
export SLURM_CONF=$work/slurm.conf HOME=$work/home
slurmctld -D >slurmctld.out 2>&1 &
controller=$!
daemon=
trap 'kill "$controller" ${daemon:+"$daemon"} 2>/dev/null; wait 2>/dev/null || true' EXIT
for _ in $(seq 50); do scontrol ping 2>/dev/null | grep -q 'is UP' && break; sleep 0.1; done
slurmd -D -N "$host" >slurmd.out 2>&1 &
daemon=$!
for _ in $(seq 100); do sinfo -h -o %T 2>/dev/null | grep -q idle && break; sleep 0.1; done
sinfo -h -o %T 2>/dev/null | grep -q idle || { echo "skipped: slurmd does not start here: $(tail -n 1 slurmd.log slurmd.out | tr '\n' ' ')"; exit 77; }

mpicc -std=gnu17 -O2 -I"$source/include" "$source/examples/mpi/summa.c" "$source/examples/mpi/multiply.c" "$source/examples/mpi/bind.c" -o summa -L"$build/lib" -lkdl_matmul -lkdl -Wl,-rpath,"$build/lib"
"$build/bin/kdl" cc "$source/examples/mpi/panel.c" --targets=x86-64-v2,x86-64-v4,compute_75 -o panels.offload

# On the CPU; then on four GPUs of a fake driver, of which each task must have its own.
export KDL_CACHE_DIR=$work/cache KDL_SHARED_CACHE=$work/shared
ln -s "$source/examples" examples
KDL_DEVICE=host SBATCH_WAIT=1 SBATCH_OVERCOMMIT=1 bash -c "$(python3 "$source/tests/product/clusters.py" "$source" print slurm)" # as the page has it
cat summa-*.txt | tee cpu.txt
grep -q '256 by 256 on 2 by 2 processes: .* 0 wrong' cpu.txt
gpu='cuda:sm_90 driver=13.0 memory=1GiB name'
LD_LIBRARY_PATH=$build/fakes/whole KDL_FAKE_DEVICES="$gpu=a;$gpu=b;$gpu=c;$gpu=d" \
  sbatch --wait --overcommit -o gpu.txt "$source/examples/slurm/summa.sbatch" ./summa panels.offload
cat gpu.txt
grep -q '256 by 256 on 2 by 2 processes: .* 0 wrong' gpu.txt
for name in a b c d; do grep -q "on cuda:sm_90 $name," gpu.txt; done
