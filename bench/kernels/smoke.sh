#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# smoke.sh KDL FOLDER WORK: `kdl bench kernels` on tiny problems: what is measured, that it was right, and what is said of peers that
# are missing, wrong or die. No time is looked at.
set -euo pipefail
kdl=$1 folder=$2 work=$3
if ! command -v python3 >/dev/null; then
  echo "skipped: python3 not found"
  exit 77
fi
rm -rf "$work"
mkdir -p "$work"
cd "$work"
fail() {
  echo "smoke.sh: $1"
  exit 1
}
tiny=(--sizes=tiny --threads=1 --blocks=2)

# Every kernel, beside plain C.
"$kdl" bench kernels "$folder" "${tiny[@]}" --peers=openmp --json=all.json > all.txt
grep -q '^openmp: geometric mean' all.txt || fail "no geometric mean: $(cat all.txt)"
python3 - <<'END'
import json
run = json.load(open("all.json"))
figures = {f["name"]: f for f in run["figures"]}
names = """saxpy reduce softmax layernorm matmul matmul_tiled histogram group_reduce group_scan group_matmul group_transpose
           group_histogram group_sort group_stencil""".split()
wanted = {f"kernels/1 thread/tiny/{name}/{who}" for name in names for who in ("kdl", "openmp")}
assert set(figures) == wanted, set(figures) ^ wanted
assert all(f["samples"] == 2 and f["median"] > 0 for f in figures.values())
pairs = {(c["of"], c["to"]) for c in run["comparisons"]}
assert pairs == {(f"kernels/1 thread/tiny/{n}/openmp", f"kernels/1 thread/tiny/{n}/kdl") for n in names}, pairs
assert run["suite"] == "kernels" and run["complete"] and not run["skipped"], run["skipped"]
arch = run["notes"]["kdl ran"]
assert run["notes"]["kdl"].startswith("host:") and arch.startswith(("x86-64-v", "armv", "native", "rv")), run["notes"]
assert "-fopenmp-simd" in run["notes"]["openmp"]
END

# Beside none.
timeout 60 "$kdl" bench kernels "$folder" "${tiny[@]}" --kernels=saxpy --peers= > alone.txt || fail "alone: $(cat alone.txt)"
grep -q '^saxpy ' alone.txt || fail "alone: $(cat alone.txt)"

# Whichever peers are here; the others are named, with the reason.
"$kdl" bench kernels "$folder" "${tiny[@]}" --kernels=saxpy,group_sort --json=peers.json > /dev/null
python3 - <<'END'
import json
run = json.load(open("peers.json"))
there = {f["name"].rsplit("/", 1)[1] for f in run["figures"]}
missing = {s["what"]: s["why"] for s in run["skipped"]}
assert there | set(missing) == {"kdl", "pocl", "intel", "openmp"}, (there, missing)
assert all(run["notes"][who + " ran"] == "opencl-c" for who in there & {"pocl", "intel"}), run["notes"]
print("smoke.sh: beside", sorted(there), "without", missing)
END

# Curves over threads, with the limits of the machine; a peer that dies or is missing is a line.
mkdir torch
cat > torch/torch.py <<'END'
"""As much of PyTorch as torch_products.py takes."""
import contextlib, itertools
float32, bfloat16, __version__ = "f32", "bf16", "0 (a test)"
inference_mode = contextlib.nullcontext
set_num_threads = lambda count: None
equal = lambda a, b: a.rows == b.rows
class Matrix:
    def __init__(self, rows): self.rows = rows
    def to(self, dtype): return self
    double = lambda self: self
    def __getitem__(self, part): return Matrix(self.rows[part])
    def __matmul__(self, other): return Matrix([[sum(x * y for x, y in zip(row, column)) for column in zip(*other.rows)] for row in self.rows])
def randint(low, high, shape):
    numbers = itertools.cycle(range(low, high))
    return Matrix([[next(numbers) for _ in range(shape[1])] for _ in range(shape[0])])
def empty(rows, columns, dtype): return Matrix([])
def mm(a, b, out): out.rows = (a @ b).rows
END
peers=openmp,torch
if [ ! -e "$folder/openmp.so" ]; then # make.sh has said so
  echo "skipped: curves of plain C over threads: no OpenMP runtime of Clang's found (Debian: libomp-22-dev)"
  peers=torch
fi
PYTHONPATH=$work/torch "$kdl" bench scale "$folder" --threads=1,all --sizes=tiny --blocks=2 --peers=$peers --json=scale.json > scale.txt
grep -q '^by threads' scale.txt || fail "scale: $(cat scale.txt)"
python3 - $peers <<'END'
import json, sys
run = json.load(open("scale.json"))
kernels = ["group_stencil", "triad", "stencil", "compute", "gemm", "gemm_bf16"]
curves = {c["name"]: [p["at"] for p in c["points"]] for c in run["curves"]}
for name in kernels:
    peer = "torch" if name.startswith("gemm") else "openmp"
    for who in ("kdl",) + (peer,) * (peer in sys.argv[1].split(",")) + ("roofline",) * (name == "compute"):
        assert len(curves[f"scale/{name} tiny/{who}"]) == 2, (name, who, curves)
assert run["suite"] == "scale-threads" and "GFLOP/s" in run["notes"]["roofline 1"] and run["notes"]["torch"] == "PyTorch 0 (a test)", run["notes"]
assert not run["skipped"], run["skipped"]
END
KDL_BENCH_PYTHON=false "$kdl" bench scale "$folder" --threads=1 --sizes=tiny --blocks=2 --kernels=gemm --json=gone.json > /dev/null
grep -q '"what": "torch"' gone.json || fail "a peer that ends: $(cat gone.json)"

# An interrupt ends it with what there is.
status=0
timeout --foreground --preserve-status -s INT 2 "$kdl" bench kernels "$folder" --sizes=tiny --threads=1 --blocks=1000 --peers=openmp \
  --json=part.json > part.txt || status=$?
[ "$status" = 130 ] || fail "interrupted: found exit code $status, expected 130: $(cat part.txt)"
grep -q '"complete": false' part.json || fail "interrupted: $(cat part.json)"

# Plain C that computes nothing, dies, or is not there.
broken() {
  mkdir "$1"
  ln -s "$folder"/*.offload "$1/"
  [ -z "$2" ] || echo "$2" | "${KDL_CLANG:-clang-22}" -xc -shared -fPIC - -o "$1/c.so"
  "$kdl" bench kernels "$1" "${tiny[@]}" --kernels=saxpy --json="$1.json" > /dev/null
  grep -q "$3" "$1.json" || fail "$1: expected '$3': $(cat "$1.json")"
  if "$kdl" bench kernels "$1" "${tiny[@]}" --kernels=saxpy --peers=openmp > /dev/null 2> "$1.err"; then
    fail "$1: a peer that was asked for failed, and nothing was said"
  fi
  grep -q "kdl bench: error: openmp: .*$3" "$1.err" || fail "$1: $(cat "$1.err")"
}
broken wrong 'void kdl_bench_saxpy(void) {}' 'its result is wrong'
broken dying 'void kdl_bench_saxpy(void) { __builtin_trap(); }' 'its process died of signal'
broken lacking 'int nothing;' 'it has no kdl_bench_saxpy'
broken missing '' 'c.so is not there'
echo "smoke.sh: all as expected"
