#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# setup.sh GROUP...: installs what scripts/packages-debian12.txt lists for the groups and this
# machine lacks. Where nothing is missing it only asks dpkg: no network, no root.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
list=$here/packages-debian12.txt
security_list=/etc/apt/sources.list.d/kdl-bookworm-security.list
keyring=/usr/share/keyrings/debian-archive-keyring.gpg

say() { printf 'setup: %s\n' "$*"; }
die() {
  printf 'setup: %s\n' "$*" >&2
  exit 1
}

# Prints "package why" for the groups given.
wanted() {
  local group package why
  while read -r group package _ why; do
    case " $* " in
      *" $group "*) printf '%s %s\n' "$package" "$why" ;;
    esac
  done < <(grep -v '^#' "$list")
}

is_installed() {
  [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

print_missing() {
  local line
  for line in "${missing[@]}"; do
    printf '  %-20s %s\n' "${line%% *}" "${line#* }"
  done
}

is_debian12() {
  [ -r /etc/os-release ] || return 1
  # shellcheck source=/dev/null
  (. /etc/os-release && [ "${ID:-}" = debian ] && [ "${VERSION_ID:-}" = 12 ])
}

# apt honours the proxy variables; sudo drops them unless told.
as_root() {
  if [ "$(id -u)" = 0 ]; then
    "$@"
  else
    sudo --preserve-env=http_proxy,https_proxy,no_proxy "$@"
  fi
}

has_candidate() {
  local candidate
  candidate=$(LC_ALL=C apt-cache policy "$1" | sed -n 's/^ *Candidate: //p')
  [ -n "$candidate" ] && [ "$candidate" != '(none)' ]
}

# Where this machine gets Debian from, with the path of the security archive.
security_uris() {
  local uri
  # shellcheck disable=SC2016 # the $(...) are apt's own fields
  apt-get indextargets --format '$(CODENAME) $(REPO_URI)' 'Created-By: Packages' |
    sed -n 's,^bookworm \(.*/\)debian/*$,\1debian-security,p' | sort -u
  printf '%s\n' http://deb.debian.org/debian-security http://security.debian.org/debian-security
}

add_security_source() {
  local uri options=''
  [ -r "$keyring" ] && options="[signed-by=$keyring] "
  for uri in $(security_uris); do
    say "LLVM 22 is in Debian's security archive, which this machine does not use: adding"
    say "  $security_list: deb $uri bookworm-security main"
    printf '# LLVM 22 for libkdl, added by its make setup\ndeb %s%s bookworm-security main\n' \
      "$options" "$uri" | as_root tee "$security_list" >/dev/null
    if as_root apt-get update -q --error-on=any -o Dir::Etc::sourcelist="$security_list" \
      -o Dir::Etc::sourceparts=- -o APT::Get::List-Cleanup=0; then
      return 0
    fi
    say "$uri gives no bookworm-security"
    as_root rm -f "$security_list"
  done
  die "no mirror with bookworm-security could be reached"
}

[ $# -gt 0 ] || die "usage: setup.sh GROUP... (groups: build test demo bench lint)"

missing=()
total=0
have_dpkg=$(command -v dpkg-query || true)
while read -r line; do
  total=$((total + 1))
  if [ -z "$have_dpkg" ] || ! is_installed "${line%% *}"; then
    missing+=("$line")
  fi
done < <(wanted "$@")
[ "$total" -gt 0 ] || die "no such group in $list: $*"

if [ ${#missing[@]} = 0 ]; then
  say "nothing to do: all $total packages for $* are installed"
  exit 0
fi

if ! is_debian12; then
  say "this is not Debian 12, so nothing is installed. libkdl would want here, by Debian's names:"
  print_missing
  die "install what you can of them, then go on with SETUP=no, as in: make test SETUP=no
setup: (the core needs a C compiler, cmake and ninja; tests that need more are reported as skipped)"
fi
if [ "$(id -u)" != 0 ] && ! command -v sudo >/dev/null; then
  say "these packages are missing, and there is neither root nor sudo to install them:"
  print_missing
  die "install them as root, or go on without them: make test SETUP=no"
fi

say "installing ${#missing[@]} of $total packages for $*:"
print_missing
as_root apt-get update -q
for package in "${missing[@]%% *}"; do
  has_candidate "$package" && continue
  if LC_ALL=C apt-cache policy | grep -q 'n=bookworm-security'; then
    die "no candidate for $package, although bookworm-security is among the sources"
  fi
  add_security_source
  break
done
as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends \
  -o Dpkg::Use-Pty=0 "${missing[@]%% *}"
say "done"
