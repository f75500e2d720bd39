#!/usr/bin/env python3
"""Drives the service with savegames-load, kills it under load, and checks what it has kept.

    drive_service.py FOLDER_OF_THE_PROGRAMS

savegames-load verifies every answer. Its ledger of acknowledged writes outlives the service, so
after the kill each acknowledged save must be there.
"""

import contextlib
import json
import pathlib
import signal
import subprocess
import sys
import tempfile
import urllib.request

PLAYERS = ["--players", "60", "--games", "3", "--size-median", "3000", "--connections", "16",
           "--workers", "2", "--timeout", "60"]


def start(programs, folder, scheduler):
    service = subprocess.Popen(
        [programs / "savegames", "--listen", "127.0.0.1:0", "--db", folder / "saves.db",
         "--scheduler", scheduler, "--store-latency", "1ms", "--request-timeout", "50"],
        stdout=subprocess.PIPE, text=True)
    line = service.stdout.readline()
    assert line.startswith("listening on "), f"the service printed {line!r}, not its address"
    return service, line.split()[-1]


def end(service, how):
    service.send_signal(how)
    status = service.wait(60)
    service.stdout.close()
    return status


def drive(programs, url, folder, *options):
    report = folder / "report.json"
    subprocess.run([programs / "savegames-load", "--url", url, *PLAYERS, "--json", report,
                    "--ledger", folder / "ledger", *options], check=True, timeout=240)
    return json.loads(report.read_text())


def serve_and_verify(programs, folder, scheduler):
    service, url = start(programs, folder, scheduler)
    try:
        closed = drive(programs, url, folder, "--preload", "--requests", "400")
        assert closed["requests"] == 400, f"400 requests were sent, but not all counted: {closed}"
        assert closed["errors"] == 0, f"errors in the closed loop: {closed}"
        opened = drive(programs, url, folder, "--requests", "100", "--rate", "200")
        assert opened["errors"] == 0, f"errors in the open loop: {opened}"
    finally:
        status = end(service, signal.SIGTERM)
    assert status == 0, f"the service ended with status {status} after SIGTERM, not with 0"


def jobs_done(url):
    with urllib.request.urlopen(url + "/stats", timeout=60) as answer:
        return json.load(answer)["latency_ms"]["jobs"]["count"]


def wait_for_writes(load, url):
    """Waits until the service has answered 100 jobs, in the midst of the load, or the load ends."""
    while load.poll() is None and jobs_done(url) < 100:
        with contextlib.suppress(subprocess.TimeoutExpired):
            load.wait(0.002)


def kill_and_verify(programs, folder):
    service, url = start(programs, folder, "fairlead")
    load = subprocess.Popen(
        [programs / "savegames-load", "--url", url, *PLAYERS, "--mix", "50:0:50:0",
         "--requests", "3000", "--ledger", folder / "ledger"], stdout=subprocess.PIPE, text=True)
    wait_for_writes(load, url)
    end(service, signal.SIGKILL)
    output, _ = load.communicate(timeout=240)
    # Errors of transport are expected, but no wrong answer.
    assert load.returncode == 0, f"savegames-load ended with status {load.returncode}: {output}"

    service, url = start(programs, folder, "fairlead")
    try:
        report = drive(programs, url, folder, "--mix", "0:1:0:0", "--skew", "0",
                       "--requests", "1500")
        assert report["errors"] == 0, f"errors after the restart: {report}"
    finally:
        end(service, signal.SIGTERM)


def main():
    programs = pathlib.Path(sys.argv[1])
    for scheduler in ("fairlead", "updater", "trivial"):
        with tempfile.TemporaryDirectory(prefix="savegames-drive-") as folder:
            serve_and_verify(programs, pathlib.Path(folder), scheduler)
            if scheduler == "fairlead":
                kill_and_verify(programs, pathlib.Path(folder))


if __name__ == "__main__":
    main()
