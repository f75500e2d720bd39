"""Starts the service and the load generator for the demos."""

import json
import os
import pathlib
import select
import shutil
import signal
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
OUTPUT = ROOT / "build" / "demo"
START_LIMIT_S = 20
STOP_LIMIT_S = 15


class DemoError(Exception):
    """A failure that ends the demo. The message says what to look at."""


def find_programs(build):
    folder = build / "apps" / "savegames"
    programs = {name: folder / name for name in ("savegames", "savegames-load")}
    for program in programs.values():
        if not os.access(program, os.X_OK):
            raise DemoError(f"{program} is not executable: build it, or give --build FOLDER")
    return programs


class Service:
    """A running service, as a context manager, which stops it at the end. `stores`: the file of its
    database, or the options of its stores."""

    def __init__(self, program, stores, name, *options, port=0):
        self.name = name
        self.log = OUTPUT / f"{name}.log"
        named = stores if isinstance(stores, list) else ["--db", stores]
        self.command = [str(part) for part in
                        (program, "--listen", f"127.0.0.1:{port}", *named, *options)]
        self.log.write_bytes(b"")
        self.start()
        self.url = ""

    def start(self):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(self.command, text=True, stdout=subprocess.PIPE,
                                            stderr=log)

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def start_again(self):
        self.start()
        self.wait_for_url()

    def __enter__(self):
        try:
            self.url = self.wait_for_url()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_):
        status = self.stop()
        if status != 0:
            raise DemoError(f"the service {self.name} ended with status {status}:\n"
                            + self.log_tail())

    def wait_for_url(self):
        readable, _, _ = select.select([self.process.stdout], [], [], START_LIMIT_S)
        line = self.process.stdout.readline() if readable else ""
        prefix = "listening on "
        if not line.startswith(prefix):
            raise DemoError(f"the service {self.name} gave no address in {START_LIMIT_S} s:\n"
                            + (line + self.log_tail()).strip())
        return line[len(prefix):].strip()

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            status = self.process.wait(STOP_LIMIT_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            status = f"none: it was killed, {STOP_LIMIT_S} s after SIGTERM"
        self.process.stdout.close()
        return status

    def log_tail(self):
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-10:])


def drive(program, url, *options, json_path=None):
    """Runs savegames-load to its end, and returns its results. `url`: of a service, or a list."""
    urls = url if isinstance(url, list) else [url]
    command = [str(program), "--url", *urls, *map(str, options)]
    if json_path:
        command += ["--json", str(json_path)]
    # It shows its progress on the standard error of the demo, if that is a terminal.
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        raise DemoError(f"savegames-load ended with status {done.returncode}: "
                        f"{' '.join(command)}\n{done.stdout}")
    return json.loads(json_path.read_text()) if json_path else None


def copy_database(base, folder, name):
    database, ledger = folder / f"{name}.db", folder / f"{name}.ledger"
    for suffix in ("", "-wal"):
        source = base[0].with_name(base[0].name + suffix)
        if source.exists():
            shutil.copy(source, database.with_name(database.name + suffix))
    shutil.copy(base[1], ledger)
    return database, ledger


def shown_path(path):
    """The path as seen from the root of the repository."""
    path = path.resolve()
    return path.relative_to(ROOT) if path.is_relative_to(ROOT) else path
