#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# pages.sh SOURCE WORK: `make figures poster docs` in a clean clone of what is committed: the figures do not change, the others are made.
set -eu
source=$1 work=$2
rm -rf "$work"
git clone --quiet --depth 1 "file://$source" "$work" 2>/dev/null || { echo 'skipped: not a Git repository'; exit 77; }
# MkDocs, where it was fetched before.
mkdir "$work/build"
[ ! -x "$source/build/site-venv/bin/mkdocs" ] || ln -s "$source/build/site-venv" "$work/build/site-venv"
make -C "$work" figures poster docs >"$work/build/log" 2>&1 || {
  cat "$work/build/log"
  ! grep -q '^skipped: ' "$work/build/log" || exit 77
  exit 1
}
git -C "$work" diff --exit-code --stat
for page in poster/poster.pdf poster/slides.pdf poster/abstract.pdf poster/questions.html site/index.html site/api/kdl/index.html site/docs/comparison/index.html; do
  [ -s "$work/build/$page" ] || { echo "pages.sh: make figures poster docs: found no build/$page"; exit 1; }
done
