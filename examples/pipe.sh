#!/usr/bin/env bash
# Learn from a pipe of incomplete events, score later ones with the model, look into the model.
#
#     examples/pipe.sh                          with python and streamkarma from the PATH
#     PYTHON=/path/to/python examples/pipe.sh   with another python for the events
set -euo pipefail

python=${PYTHON:-python}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Real events, about half of their attributes withheld in blocks. The seed is fixed, so a
# longer stream begins with the shorter one.
events() {
    "$python" "$here/withhold.py" phishing --missing blocks --observed 0.5 --seed 7 "$@"
}

echo "== learn: predict each of the first 1,000 events, then learn from its label"
# The predictions go to a file of their own; the closing table is on stderr.
events --limit 1000 |
    streamkarma learn --model "$work/phishing.karma" --predictions "$work/learned.jsonl" \
        --summary "$work/summary.json" 2>&1
tail -n 1 "$work/learned.jsonl"

echo "== summary: the same figures for programs"
"$python" -m json.tool "$work/summary.json"

echo "== predict: score the other 250 events without learning"
events | tail -n +1001 |
    streamkarma predict "$work/phishing.karma" --predictions "$work/predicted.jsonl" 2>&1
head -n 3 "$work/predicted.jsonl"

echo "== inspect: what is in the model file"
streamkarma inspect "$work/phishing.karma"
