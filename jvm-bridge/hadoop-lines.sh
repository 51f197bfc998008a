#!/usr/bin/env bash
# Tries the shim on older Hadoop lines. It must compile against 3.3.6 and 2.10.2; what breaks on 2.7.7 is printed and fails nothing.
set -euo pipefail
cd "$(dirname "$0")"

mvn -q -B -Dstyle.color=never -Phadoop-3.3 -pl shim compile
echo "Hadoop 3.3.6: the shim compiles with the adapter in shim/src/hadoop-3 and shim/src/hadoop-3.3."

mvn -q -B -Dstyle.color=never -Phadoop-2.10 -pl shim compile
echo "Hadoop 2.10.2: the shim compiles with the adapter in shim/src/hadoop-2.10."

# A clean build: javac is to see every file again.
rm -rf shim/target/hadoop-2.7
if report=$(mvn -B -Dstyle.color=never -Phadoop-2.7 -pl shim compile 2>&1); then
  echo "Hadoop 2.7.7: the shim compiles."
  exit
fi
errors=$(grep -E '^\[ERROR\] .*\.java:' <<<"$report" | sed -E 's|^\[ERROR\] .*/org/loomcard/yarn/||' | sort -u -V)
if [ -z "$errors" ]; then
  echo "$report" >&2
  exit 1
fi
echo "Hadoop 2.7.7: $(wc -l <<<"$errors") places break, with the adapter of 2.10:"
cut -d: -f1 <<<"$errors" | sort | uniq -c | sort -rn
echo "What is missing, by how often:"
{ grep '^  symbol:' <<<"$report" | sed -E 's|.*symbol: +||' || true; } | sort | uniq -c | sort -rn
echo "The rest:"
grep -v 'cannot find symbol' <<<"$errors" || true
