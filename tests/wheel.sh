#!/usr/bin/env bash
# Installs the wheel of a folder into empty environments and uses what it brings: tests/wheel.sh DIST [pip|uv|pipx …].
# pip if no tool is named.
set -euo pipefail
dist=$(realpath "${1:?the folder with the wheel}")
shift
python=${PYTHON:-python3}
wheel=$(ls "$dist"/spinewise-*.whl)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# What a stranger does first, far from any checkout.
try() {
    local spinewise=$1
    "$spinewise" --version
    "$spinewise" scenarios --copy scenarios-of-it
    test -s scenarios-of-it/demo.toml
    "$spinewise" run one_udp_flow --out udp
    test -s udp/flows.parquet
    "$spinewise" new lab --leaves 2 --spines 2 --hosts-per-leaf 2 --load 0.2
    "$spinewise" validate lab/fabric.toml
    "$spinewise" compare lab/fabric.toml --schemes ecmp,letflow --seeds 1 --out compared
    "$spinewise" report compared --out page.html
    test -s page.html
    "$spinewise" reproduce pdlb-7 --quick --out figure
    test -s figure/pdlb-7.png
    "$spinewise" completions bash | grep -q spinewise
    "$spinewise" schema | "$python" -c 'import json, sys; json.load(sys.stdin)'
    rm -rf scenarios-of-it udp lab compared page.html figure
}

for tool in "${@:-pip}"; do
    echo "== $tool"
    case $tool in
    pip)
        "$python" -m venv empty
        empty/bin/python -m pip install --quiet --disable-pip-version-check "$wheel"
        try "$work/empty/bin/spinewise"
        ;;
    uv)
        UV_TOOL_DIR="$work/uv" UV_TOOL_BIN_DIR="$work/uv-bin" uv tool install --quiet "$wheel"
        try "$work/uv-bin/spinewise"
        ;;
    pipx)
        PIPX_HOME="$work/pipx" PIPX_BIN_DIR="$work/pipx-bin" pipx install --quiet "$wheel"
        try "$work/pipx-bin/spinewise"
        ;;
    *)
        echo "unknown tool: $tool" >&2
        exit 2
        ;;
    esac
done
echo "tests/wheel.sh: $(basename "$wheel") works"
