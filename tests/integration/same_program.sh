#!/usr/bin/env bash
# Tests that a quick build is the same program. Its sources are compiled in groups, where a name of one source can take
# the calls that another meant for a name of its own, without a word of the compiler.
#
#   tests/integration/same_program.sh QUICK-XSP XSP FILE.xsp
set -euo pipefail
quick=$1 usual=$2 file=$3
same() { # same WORDS...: both print the same
  diff <("$usual" "$@" 2>&1) <("$quick" "$@" 2>&1) >&2 || { echo "differs: xsp $*" >&2; exit 1; }
}
verbs=0
verbs_of() { "$usual" "$@" --help | sed -n '/^Subcommands:/,/^$/s/^  \([a-z]\+\) .*/\1/p'; }
for verb in $(verbs_of); do
  same "$verb" --help
  verbs=$((verbs + 1))
  for second in $(verbs_of "$verb"); do same "$verb" "$second" --help; done
done
[ "$verbs" -ge 15 ] || { echo "only $verbs verbs were found" >&2; exit 1; }
for analysis in model_summary audit time_of_step layer_roofline kernels_by_name bottleneck; do
  same analyze "$analysis" "$file"
done
same findings "$file"
same diff "$file" "$file"
echo "$verbs verbs and eight answers are the same"
