#!/usr/bin/env bash
# worker.sh BUILD [EMULATOR...]: the worker runs a model of four layers three times, and leaves a trace of it.
set -euo pipefail
build=$1; shift
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
replies=$(printf 'run\t3\nflush\nquit\n' | "$@" "$build/bin/xsp-worker" --adapter "$build/lib/xsp/adapters/fake.so" \
  --model fake:layers=4,us=10 --device cpu --levels model,layer --trace "$folder/a.xtrace" --scratch "$folder" 3>&1) || true
echo "$replies"
# Three inferences of four layers are fifteen spans; none may be lost.
[ "$(tail -n 1 <<<"$replies")" = $'bye\t15\t0' ]
[ "$(grep -c '^ran' <<<"$replies")" = 1 ]
[ "$(head -c 4 "$folder/a.xtrace" | wc -c)" = 4 ]
