#!/bin/sh
# Runs a program for 64-bit ARM under qemu's user emulation, on one processor.
#
# On x86 qemu lets the load of an `ldar` pass the store of an earlier `stlr`, which the architecture
# forbids and sequentially consistent atomics are made of: the store waits in the buffer of the
# processor that emulates the thread. Threads that share one processor do not see that.
set -eu
first=$(awk '/^Cpus_allowed_list/ { split($2, at, "[,-]"); print at[1] }' /proc/self/status)
exec taskset -c "$first" qemu-aarch64 -L /usr/aarch64-linux-gnu "$@"
