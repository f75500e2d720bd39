#!/bin/sh
# Runs a program for 64-bit ARM under qemu's user emulation, on one processor.
#
# On x86 qemu lets the load of an `ldar` pass the store of an earlier `stlr`: the store waits in the
# store buffer of the processor that emulates the thread. The architecture forbids that, and
# sequentially consistent atomics rely on it. Threads that share one processor do not see it.
set -eu
first=$(awk '/^Cpus_allowed_list/ { split($2, at, "[,-]"); print at[1] }' /proc/self/status)
exec taskset -c "$first" qemu-aarch64 -L /usr/aarch64-linux-gnu "$@"
