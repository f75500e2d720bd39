"""./do demo --cluster: one service, and three, on a Redis and a PostgreSQL of the demo.

Measures the throughput of one process and of three. Then one of the three is killed with SIGKILL
under load and started again, and every save is read and compared with what was acknowledged.
"""

import contextlib
import dataclasses
import json
import os
import pathlib
import socket
import subprocess
import tempfile
import time

import demo_service
import servers
from demo_service import DemoError, Service, drive, find_programs, shown_path

NUMBER = 3


@dataclasses.dataclass(frozen=True)
class Plan:
    measure_s: float
    connections: int = 48
    workers: int = 2
    players: int = 1000
    mix: str = "10:60:29:1"  # put:get:update:delete
    size_median: int = 8000
    seed: int = 1

    def service_options(self):
        return ["--workers", str(self.workers), "--request-timeout", "2", "--lease", "4"]

    def load_options(self, mix=None, skew=0.3):
        return ["--connections", str(self.connections), "--players", str(self.players), "--skew",
                str(skew), "--mix", mix or self.mix, "--seed", str(self.seed), "--size-median",
                str(self.size_median), "--workers", "1"]


FULL = Plan(measure_s=20)
QUICK = Plan(measure_s=4)


def free_ports(number):
    with contextlib.ExitStack() as held:
        probes = [held.enter_context(socket.create_server(("127.0.0.1", 0)))
                  for _ in range(number)]
        return [probe.getsockname()[1] for probe in probes]


class Cluster:
    """Some services on the same databases, as a context manager."""

    def __init__(self, programs, stores, plan, number):
        self.load = programs["savegames-load"]
        self.plan = plan
        self.services = [Service(programs["savegames"], stores, f"cluster-{number}-{i}",
                                 *plan.service_options(), port=port)
                         for i, port in enumerate(free_ports(number))]

    def __enter__(self):
        with contextlib.ExitStack() as started:
            for each in self.services:
                started.enter_context(each)
            self.ends = started.pop_all()
        return self

    def __exit__(self, *failure):
        return self.ends.__exit__(*failure)

    def urls(self):
        return [each.url for each in self.services]

    def drive(self, folder, *options, **of_plan):
        return drive(self.load, self.urls(), *self.plan.load_options(**of_plan), *options,
                     "--ledger", folder / "ledger", json_path=folder / "report.json")


def summarize(report):
    return {"rps": round(report["rps"], 1), "p50_ms": round(report["latency_ms"]["p50"], 3),
            "p99_ms": round(report["latency_ms"]["p99"], 3), "requests": report["requests"],
            "errors": report["errors"], "errors_by_kind": report["errors_by_kind"],
            "lost": report["verification_errors"]}


def kill_under_load(cluster, folder, plan):
    """One service is killed after a third of the time, and started again after another third."""
    report = folder / "killed.json"
    command = [cluster.load, "--url", *cluster.urls(), *plan.load_options(), "--duration",
               plan.measure_s, "--ledger", folder / "ledger", "--json", report]
    load = subprocess.Popen([str(part) for part in command], stdout=subprocess.PIPE, text=True)
    try:
        for act in (cluster.services[0].kill, cluster.services[0].start_again):
            with contextlib.suppress(subprocess.TimeoutExpired):
                load.wait(plan.measure_s / 3)
            act()
        said, _ = load.communicate(timeout=plan.measure_s + 60)
    finally:
        if load.poll() is None:
            load.kill()
            load.wait()
    if not report.exists():
        raise DemoError(f"savegames-load ended with status {load.returncode}:\n{said}")
    return summarize(json.loads(report.read_text()))


COLUMNS = (("requests/s", "rps", "{:.0f}"), ("p50 ms", "p50_ms", "{:.1f}"),
           ("p99 ms", "p99_ms", "{:.1f}"), ("requests", "requests", "{}"),
           ("errors", "errors", "{}"), ("lost saves", "lost", "{}"))


def table(results):
    rows = [["", *(title for title, *_ in COLUMNS)]]
    rows += [[name, *(form.format(result[key]) for _, key, form in COLUMNS)]
             for name, result in results.items()]
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "\n".join("  ".join(cell.ljust(width) if i == 0 else cell.rjust(width)
                               for i, (cell, width) in enumerate(zip(row, widths))).rstrip()
                     for row in rows)


def verdict(results):
    """Two lists of sentences: what the run has shown, and what went wrong."""
    lost = sum(each["lost"] for each in results.values())
    problems = [f"{lost} answers contradict what was acknowledged"] if lost else []
    for name, each in results.items():
        if not each["requests"]:
            problems.append(f"{name}: no request succeeded")
        if each["errors"] and "killed" not in name:
            problems.append(f"{name}: {each['errors']} errors {each['errors_by_kind']}")
    if problems:
        return [], problems
    one, three, killed = (results[name] for name in ("one process", "three processes",
                                                     "three, one killed"))
    kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(killed["errors_by_kind"].items()))
    return [f"Three processes serve {three['rps'] / one['rps']:.2f} times the requests of one; all "
            f"share {os.cpu_count()} processors with both databases and the load.",
            f"The kill cost {killed['errors']} of {killed['requests']} requests"
            + (f" ({kinds})." if kinds else "."),
            "Every acknowledged save is there: 0 are lost."], []


def run(plan, build):
    programs = find_programs(build)
    if servers.missing():
        raise DemoError(f"not installed: {', '.join(servers.missing())} "
                        "(Debian: redis-server, postgresql-15)")
    demo_service.OUTPUT.mkdir(parents=True, exist_ok=True)
    print(f"The save-game service on Redis and PostgreSQL, {plan.workers} workers a process, "
          f"{plan.connections} connections;\nput:get:update:delete {plan.mix}, {plan.players} "
          f"players, {plan.measure_s:g} s for each row.\n", flush=True)
    results = {}
    with tempfile.TemporaryDirectory(prefix="fairlead-demo-") as temporary:
        folder = pathlib.Path(temporary)
        with servers.Redis(folder) as redis, servers.Postgres(folder) as postgres:
            stores = ["--profiles", redis.url, "--blobs", postgres.url]
            for name, number in (("one process", 1), ("three processes", NUMBER)):
                with Cluster(programs, stores, plan, number) as cluster:
                    cluster.drive(folder, "--preload", "--duration", "0.5")
                    begin = time.monotonic()
                    report = cluster.drive(folder, "--duration", plan.measure_s)
                    results[name] = summarize(report)
                    print(f"measured {name} in {time.monotonic() - begin:.0f} s", flush=True)
                    if number == NUMBER:
                        results["three, one killed"] = kill_under_load(cluster, folder, plan)
                        print("killed one of three under load", flush=True)
                        report = cluster.drive(folder, "--requests", 10 * plan.players,
                                               mix="0:1:0:0", skew=0)
                        results["all read again"] = summarize(report)
    print("\n" + table(results) + "\n")
    written = demo_service.OUTPUT / "cluster.json"
    written.write_text(json.dumps({"plan": dataclasses.asdict(plan), "results": results},
                                  indent=2) + "\n")
    shown, problems = verdict(results)
    print(*shown, f"\nWritten: {shown_path(written)}", sep="\n")
    if problems:
        raise DemoError("\n".join(problems))
