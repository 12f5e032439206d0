#!/usr/bin/env bash
# The path of a newcomer, timed: a fresh clone, the build, an own fabric, advice, a page.
# examples/newcomer.sh [REPOSITORY] [FOLDER]: clones REPOSITORY [this checkout] into FOLDER [a new one in /tmp, removed at the end].
# The last line says how long it took; more than ten minutes is a failure.
set -euo pipefail
repository=$(realpath "${1:-$(dirname "$0")/..}")
folder=${2:-$(mktemp -d)}
[ $# -ge 2 ] || trap 'rm -rf "$folder"' EXIT
most=600
began=$SECONDS
step() { printf '\n== %4d s  %s\n' $((SECONDS - began)) "$*"; }

step "clone"
git clone --quiet "$repository" "$folder/spinewise"
cd "$folder/spinewise"

step "build and install"
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check .
PATH=$folder/venv/bin:$PATH
cd "$folder"

step "describe the fabric"
spinewise new lab --slow-link leaf0:spine1:10 --incast 20
spinewise validate lab/fabric.toml

step "ask for advice"
spinewise advise lab/fabric.toml --aim "mean slowdown of web" --schemes ecmp,wcmp,letflow,conga,flowbender \
    --budget 3min --out results/advice

step "compare the finalists, and make the page"
spinewise compare lab/fabric.toml --schemes ecmp,wcmp,conga --seeds 5 --out results/lab
spinewise report results/advice results/lab --out lab.html
ls -l lab.html

took=$((SECONDS - began))
step "done; processor time of this shell, and of all commands (user, system)"
times
printf 'own fabric, advice and page %d min %02d s after the clone began\n' $((took / 60)) $((took % 60))
[ "$took" -le "$most" ] || { echo "more than $((most / 60)) minutes" >&2; exit 1; }
