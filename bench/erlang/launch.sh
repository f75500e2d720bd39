#!/bin/sh
# Starts the benchmarks of Erlang, with as many schedulers as --workers says: that many run
# processes. The workload is the folder that this was called from, see rivals.erl.
set -eu
home=$(cd "$(dirname "$0")" && pwd)
workers=1
option=
for word in "$@"; do
    if [ "$option" = --workers ]; then workers=$word; fi
    option=$word
done
case $workers in *[!0-9]*) workers=1 ;; esac # rivals.erl says what is wrong
# A crash is said in a line, without a dump of all processes.
export ERL_CRASH_DUMP_SECONDS=0
exec erl +S "$workers:$workers" -noinput -boot no_dot_erlang -pa "$(dirname "$(readlink -f "$0")")" \
    -s rivals -extra "$(basename "$home")" "$@"
