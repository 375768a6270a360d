#!/usr/bin/env bash
# Brings the packages of scripts/python_packages.txt into .venv, as far as pip
# can reach them by its own configuration. What cannot be had is one line here,
# and tests that are skipped: this never fails.
#
#   scripts/install_python.sh [GROUP...]   what the tests use, and these groups
#
# Where all is there it compares two small files and is done. TOPOS_PYTHON=skip
# leaves .venv alone.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 0

list=scripts/python_packages.txt
log=.venv/topos-install.log

[[ ${TOPOS_PYTHON:-} == skip ]] && exit 0

say() { echo "topos: $1; what wants it is skipped" >&2; }

requirements() { awk -v group="$1" '$1 == group { print $2 }' "$list"; }

# A group that is installed has left its requirements here.
stamp() { echo ".venv/topos-$1.installed"; }
is_installed() { [[ $(requirements "$1") == "$(cat "$(stamp "$1")" 2> /dev/null)" ]]; }

# Makes .venv, unless there is one: what somebody else made stays as it is.
environment() {
  .venv/bin/python -m pip --version &> /dev/null && return 0
  if [[ -e .venv/bin/python ]]; then
    .venv/bin/python -m ensurepip &> /dev/null
    return
  fi
  python3 -c 'import ensurepip, venv' &> /dev/null ||
    scripts/install_packages.sh python &> /dev/null
  python3 -m venv .venv &> /dev/null
}

# install GROUP [OPTION...]
install() {
  local group=$1
  shift
  is_installed "$group" && return
  if ! environment; then
    say "python3 makes no virtual environment for $group"
    return
  fi
  local wanted
  mapfile -t wanted < <(requirements "$group")
  echo "topos: installing ${wanted[*]} into .venv"
  # Without a network it should say so soon.
  if timeout 900 .venv/bin/python -m pip install --quiet --no-input \
       --disable-pip-version-check --retries 1 --timeout 15 "$@" \
       "${wanted[@]}" &> "$log" < /dev/null; then
    requirements "$group" > "$(stamp "$group")"
  else
    say "pip cannot install $group ($log says why)"
  fi
}

install plugin --no-deps
install jax
for group in "$@"; do install "$group"; done
exit 0
