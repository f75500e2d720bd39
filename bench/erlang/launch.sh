#!/bin/sh
# Starts the benchmarks of Erlang. --workers is the number of schedulers, which run the processes.
# The folder by which this script was called is the workload, see rivals.erl.
set -eu
home=$(cd "$(dirname "$0")" && pwd)
workers=1
option=
for word in "$@"; do
    if [ "$option" = --workers ]; then workers=$word; fi
    option=$word
done
case $workers in *[!0-9]*) workers=1 ;; esac # rivals.erl reports the error
# A crash prints one line, without a dump of all processes.
export ERL_CRASH_DUMP_SECONDS=0
exec erl +S "$workers:$workers" -noinput -boot no_dot_erlang -pa "$(dirname "$(readlink -f "$0")")" \
    -s rivals -extra "$(basename "$home")" "$@"
