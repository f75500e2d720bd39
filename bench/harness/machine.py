"""The machine: what it is, and whether something else uses it during a measurement."""

import os
import pathlib
import platform
import re
import subprocess

PROC = pathlib.Path("/proc")
TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
BUSY_SHARE = 0.10


def parse_busy_ticks(stat_text):
    """Ticks of all processors that were not idle, stolen ones included, from /proc/stat."""
    fields = [int(field) for field in stat_text.splitlines()[0].split()[1:]]
    user, nice, system, _idle, _iowait, irq, softirq, steal = fields[:8]
    return user + nice + system + irq + softirq + steal


def parse_process_ticks(stat_text):
    """(name, ticks) of one process from its stat file. The name may hold spaces and brackets."""
    begin, end = stat_text.index("("), stat_text.rindex(")")
    fields = stat_text[end + 2:].split()
    return stat_text[begin + 1:end], int(fields[11]) + int(fields[12])


def busy_seconds():
    return parse_busy_ticks((PROC / "stat").read_text()) / TICKS_PER_SECOND


def own_seconds():
    """CPU time of this process and of the programs that it ran."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


class Witness:
    """Measures the share of the processors that other programs use, from its construction to the
    call of `foreign_share`."""

    def __init__(self, clock):
        self.clock = clock
        self.begin = (clock(), busy_seconds(), own_seconds())

    def foreign_share(self):
        wall, busy, own = self.begin
        wall = self.clock() - wall
        foreign = (busy_seconds() - busy) - (own_seconds() - own)
        return max(0.0, foreign / (wall * (os.cpu_count() or 1))) if wall > 0 else 0.0


def process_ticks():
    found = {}
    for folder in PROC.iterdir():
        if folder.name.isdigit() and int(folder.name) != os.getpid():
            try:
                found[folder.name] = parse_process_ticks((folder / "stat").read_text())
            except (OSError, ValueError):
                pass  # it has ended
    return found


def busy_processes(before, after, seconds):
    """The processes that used more than BUSY_SHARE of a processor: names and shares."""
    shares = []
    for process, (name, ticks) in after.items():
        share = (ticks - before.get(process, (name, ticks))[1]) / TICKS_PER_SECOND / seconds
        if share > BUSY_SHARE:
            shares.append((name, share))
    return sorted(shares, key=lambda entry: -entry[1])


def warnings(sleep, seconds=1.0):
    """The reasons against a measurement now, as sentences."""
    before = process_ticks()
    sleep(seconds)
    found = [f"{name} uses {100 * share:.0f} % of a processor"
             for name, share in busy_processes(before, process_ticks(), seconds)]
    load = os.getloadavg()[0]
    if load > 0.5:
        found.append(f"the load average is {load:.2f}")
    return found


# --- what it is ---------------------------------------------------------------------------------

def processor():
    match = re.search(r"^model name\s*:\s*(.+)$", (PROC / "cpuinfo").read_text(), re.MULTILINE)
    return match.group(1) if match else platform.machine()


def slug():
    """A name for the result file: the processor and how many there are, not whose they are."""
    words = re.sub(r"\((r|tm)\)|\bcpu\b|@.*", " ", processor().lower())
    return re.sub(r"[^a-z0-9]+", "-", words).strip("-") + f"-{os.cpu_count()}"


def output_of(*command):
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


# What the programs are made of. Commits of tests, of pages and of the Python that runs the programs
# leave a report in parts at one commit.
MEASURED = ("include", "src", "bench", "cmake", "CMakeLists.txt", "CMakePresets.json",
            ":(exclude)bench/results", ":(exclude)*.md", ":(exclude)*.py")


def commit(repository):
    """The newest commit that has changed what is measured."""
    git = ("git", "-C", str(repository))
    name = output_of(*git, "log", "-1", "--abbrev=12", "--format=%h", "--", *MEASURED) or "unknown"
    changed = output_of(*git, "status", "--porcelain", "--untracked-files=no", "--", *MEASURED)
    return name + (" with changes" if changed else "")


def package_version(name):
    return output_of("dpkg-query", "--show", "--showformat=${Version}", name) or "missing"


def crate_versions(repository, *crates):
    """The versions of the crates that the benchmarks are built with."""
    lock = (repository / "bench" / "rust" / "Cargo.lock").read_text(encoding="utf-8")
    found = dict(re.findall(r'^name = "([^"]+)"\nversion = "([^"]+)"$', lock, re.MULTILINE))
    return [found[crate] for crate in crates]


def module_versions(repository, *modules):
    """The versions of Go's modules that the benchmarks are built with."""
    required = (repository / "bench" / "go_databases" / "go.mod").read_text(encoding="utf-8")
    found = dict(re.findall(r"^\tgithub\.com/([\w/-]+)/v\d+ v(\S+)$", required, re.MULTILINE))
    return [found[module] for module in modules]


def description(repository, build_info):
    """(what, value) pairs for the head of the report."""
    return [("processor", f"{processor()}, {os.cpu_count()} in use"),
            ("kernel", f"{platform.system()} {platform.release()}"),
            ("compiler", build_info.get("compiler", "unknown")),
            ("flags", build_info.get("flags", "unknown")),
            ("C library and allocator", os.confstr("CS_GNU_LIBC_VERSION") +
             (", malloc replaced by LD_PRELOAD" if os.environ.get("LD_PRELOAD") else " malloc")),
            ("oneTBB", build_info.get("tbb") or "missing"),
            ("Boost", build_info.get("boost") or "missing"),
            ("Asio alone", package_version("libasio-dev")),
            ("moodycamel", package_version("libconcurrentqueue-dev")),
            ("libuv", package_version("libuv1-dev")),
            ("OpenSSL", package_version("libssl3")),
            ("nginx", package_version("nginx")),
            ("PostgreSQL", package_version("postgresql-15")),
            ("Redis", package_version("redis-server")),
            ("Qt", build_info.get("qt") or "missing"),
            ("Go", build_info.get("go") or "missing"),
            ("pgx, go-redis", ", ".join(module_versions(repository, "jackc/pgx", "redis/go-redis"))),
            ("Erlang/OTP", build_info.get("erlang") or "missing"),
            ("Rust", build_info.get("rust") or "missing"),
            ("Tokio, hyper, Rayon", ", ".join(crate_versions(repository, "tokio", "hyper", "rayon"))),
            ("commit", commit(repository))]
