#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# masked.sh COMMAND...: runs the command as a fresh machine would: with a new user's home, PATH and environment, and without
# what /usr/local and /opt have by chance, CUDA's toolkit first of all. It fails where the command fails, and where
# it leaves files in the home or among the temporary ones.
#
# Root hides the folders by a mount namespace of its own. Where none can be made, PATH and environment alone are masked, and
# it says so. Proxies, certificates and pip's settings stay: they say how this machine reaches others.
set -euo pipefail

say() { printf 'masked: %s\n' "$*" >&2; }

[ $# -gt 0 ] || { say "usage: masked.sh COMMAND..."; exit 1; }
if [ -z "${KDL_MASKED:-}" ]; then
  if [ "$(id -u)" = 0 ] && unshare --mount --propagation private true 2>/dev/null; then
    KDL_MASKED=folders exec unshare --mount --propagation private "$0" "$@"
  fi
  say "no mount namespace can be made here: /usr/local and /opt stay visible, PATH and environment are masked"
fi

# hide FOLDER: an empty one instead, with the certificates that were installed there.
hide() {
  local empty
  case $PWD/ in "$1"/*) return ;; esac
  [ -d "$1" ] || return 0
  empty=$(mktemp -d)
  mount -t tmpfs -o mode=755 tmpfs "$empty"
  [ ! -d "$1/share/ca-certificates" ] || { mkdir "$empty/share" && cp -rL "$1/share/ca-certificates" "$empty/share/"; }
  mount --move "$empty" "$1"
  rmdir "$empty"
}
if [ "${KDL_MASKED:-}" = folders ]; then
  hide /usr/local
  hide /opt
fi

environment=()
while IFS='=' read -rd '' name value; do
  case $name in
    PIP_FIND_LINKS) ;; # a folder that is hidden now
    http_proxy | https_proxy | no_proxy | HTTP_PROXY | HTTPS_PROXY | NO_PROXY | PIP_* | SSL_CERT_* | *_CA_BUNDLE | TERM | LANG | JOBS | SETUP)
      environment+=("$name=$value")
      ;;
  esac
done < <(env -0)
[ ! -e "$HOME/.gitconfig" ] || environment+=("GIT_CONFIG_GLOBAL=$HOME/.gitconfig")

own=$(mktemp -d)
# With a namespace, /tmp and /var/tmp are this run's alone; below the checkout, which they would hide, they are not.
temporary() { find /tmp /var/tmp -mindepth 1 -maxdepth 1 -name "$1" | sort; }
left_in='*kdl*'
if [ "${KDL_MASKED:-}" = folders ] && case $PWD/ in /tmp/* | /var/tmp/*) false ;; esac; then
  mkdir -p build
  rmdir "$own"
  own=$(mktemp -d "$PWD/build/masked.XXXXXX")
  for folder in /tmp /var/tmp; do
    mkdir -p "$own$folder"
    chmod 1777 "$own$folder"
    mount --bind "$own$folder" "$folder"
  done
  left_in='*'
fi
trap 'rm -rf "$own"' EXIT
mkdir "$own/home"
temporary "$left_in" >"$own/before"
code=0
env -i "${environment[@]}" HOME="$own/home" \
  PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$@" || code=$?
{
  find "$own/home" -mindepth 1 -printf 'home/%P\n'
  temporary "$left_in" | comm -13 "$own/before" -
} >"$own/left"
if [ -s "$own/left" ]; then
  say "$(wc -l <"$own/left") files and folders were left behind, of which:"
  head -n 40 "$own/left" >&2
  code=1
fi
exit $code
