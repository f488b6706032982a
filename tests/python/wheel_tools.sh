#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# wheel_tools.sh SOURCE BUILD WORK: scripts/wheel.sh with a Python that has no setuptools, as a new environment has none: it fetches
# them for itself, or ends in one sentence. A stand-in for pip, so that nothing is downloaded.
set -eu
source=$1 build=$2 work=$3
python=${PYTHON:-/usr/bin/python3}
where=$("$python" -c 'import os, setuptools; print(os.path.dirname(os.path.dirname(setuptools.__file__)))' 2>/dev/null) || {
  echo "skipped: Python's setuptools not found (Debian: python3-setuptools)"
  exit 77
}
[ -e "$("$python" -c 'import sysconfig; print(sysconfig.get_path("include"))')/Python.h" ] || {
  echo "skipped: Python.h not found (Debian: python3-dev)"
  exit 77
}
unset PYTHONPATH
rm -rf "$work"
mkdir -p "$work"
printf '#!/bin/sh\nexec "%s" -S "$@"\n' "$python" >"$work/bare"
cat >"$work/with-pip" <<EOF
#!/bin/sh
[ "\$1 \$2 \$3" = "-m pip install" ] || exec "$python" -S "\$@"
while [ "\$1" != --target ]; do shift; done
mkdir "\$2"
cp -r "$where"/setuptools* "$where"/pkg_resources* "$where"/_distutils_hack* "$where"/wheel* "\$2"
EOF
chmod +x "$work/bare" "$work/with-pip"
export KDL_BUILD="$build" KDL_LINKER=/nonexistent CFLAGS=-O0

if PYTHON=$work/bare "$source/scripts/wheel.sh" "$work/dist" >"$work/said" 2>&1; then
  echo "expected a refusal, as there is neither setuptools nor pip"
  exit 1
fi
cat "$work/said"
[ "$(wc -l <"$work/said")" = 1 ] || { echo "expected one line"; exit 1; }
grep -q '^wheel: .*-m pip install setuptools wheel (Debian: python3-setuptools, python3-wheel)$' "$work/said"
[ -z "$(ls -A "$work/dist")" ] || { echo "something is left: $(ls -A "$work/dist")"; exit 1; }

PYTHON=$work/with-pip "$source/scripts/wheel.sh" "$work/dist"
[ "$(find "$work/dist" -type f | wc -l)" = 2 ]
