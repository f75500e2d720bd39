"""A Redis and a PostgreSQL of their own, for tests and for the demo, in a temporary folder, on Unix
sockets. They run as an unprivileged user, and end with this process.
"""

import ctypes
import os
import pathlib
import pwd
import shutil
import signal
import subprocess
import time

START_LIMIT_S = 60
POSTGRES = pathlib.Path("/usr/lib/postgresql/15/bin")  # Debian keeps it off the path
PR_SET_PDEATHSIG = 1


class ServerError(Exception):
    """A server did not start. The message has what it said."""


def program(name):
    found = shutil.which(name) or shutil.which(name, path=str(POSTGRES))
    if found is None:
        raise ServerError(f"{name} is not installed (Debian: redis-server, postgresql-15)")
    return found


def missing():
    """What is not installed; empty: nothing."""
    names = ("redis-server", "postgres", "initdb", "pg_ctl", "psql")
    return [name for name in names
            if not (shutil.which(name) or shutil.which(name, path=str(POSTGRES)))]


def unprivileged():
    """Arguments of Popen. The databases refuse to run as root."""
    nobody = pwd.getpwnam("nobody")
    who = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
    return (who if os.geteuid() == 0 else {}) | {"cwd": "/"}


LIBC = ctypes.CDLL(None)


def end_with_parent():
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class Server:
    """What both have: a process that is started, killed and started again."""

    def __init__(self, folder):
        self.folder = folder
        self.process = None
        os.chmod(folder, 0o777)

    def start(self):
        """Starts it, and waits until it answers. What a killed one has left may make the first
        attempts fail."""
        limit = time.monotonic() + START_LIMIT_S
        while True:
            log = open(self.folder / f"{self.name}.log", "ab")
            with log:
                self.process = subprocess.Popen(self.command(), stdout=log, stderr=log,
                                                stdin=subprocess.DEVNULL,
                                                preexec_fn=end_with_parent, **unprivileged())
            while self.process.poll() is None:
                if self.answers():
                    return self
                if time.monotonic() > limit:
                    self.kill()
                    break
                time.sleep(0.01)  # to spare the processor; the condition decides
            if time.monotonic() > limit:
                raise ServerError(f"{self.name} did not start: "
                                  + (self.folder / f"{self.name}.log").read_text()[-2000:])

    def kill(self):
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
        if self.process is not None:
            self.process.wait()

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        self.kill()


class Redis(Server):
    name = "redis"

    def __init__(self, folder):
        super().__init__(folder)
        self.socket = folder / "redis.sock"
        self.url = f"unix://{self.socket}"

    def command(self):
        return [program("redis-server"), "--port", "0", "--unixsocket", self.socket,
                "--unixsocketperm", "777", "--save", "", "--appendonly", "no", "--dir", self.folder]

    def answers(self):
        return self.ask("PING") == "PONG"

    def ask(self, *words):
        """The answer of redis-cli, as text; empty: the server is not there."""
        done = subprocess.run([program("redis-cli"), "-s", self.socket, *words], text=True,
                              capture_output=True, check=False, timeout=START_LIMIT_S)
        return done.stdout.strip() if done.returncode == 0 else ""


class Postgres(Server):
    name = "postgres"

    def __init__(self, folder, flushes=True):
        super().__init__(folder)
        self.data = folder / "data"
        self.flushes = flushes
        self.url = f"host={folder} user=test dbname=postgres"
        subprocess.run([program("initdb"), "-D", self.data, "-U", "test", "-A", "trust", "-E",
                        "UTF8", "--locale=C", "--no-sync"], check=True, capture_output=True,
                       **unprivileged())

    def command(self):
        return [program("postgres"), "-D", self.data, "-k", self.folder, "-c",
                "listen_addresses=", "-c", "max_connections=60", "-c", "shared_buffers=32MB", "-c",
                f"fsync={'on' if self.flushes else 'off'}"]

    def answers(self):
        return self.ask("select 1") == "1"

    def ask(self, sql):
        """The answer of psql, as text; empty: the server is not there."""
        done = subprocess.run([program("psql"), "-X", "-h", self.folder, "-U", "test", "-d",
                               "postgres", "-Atc", sql], text=True, capture_output=True,
                              check=False, timeout=START_LIMIT_S)
        return done.stdout.strip() if done.returncode == 0 else ""

    def crash(self):
        """Ends it without a checkpoint: the next start recovers."""
        subprocess.run([program("pg_ctl"), "stop", "-D", self.data, "-m", "immediate"], check=True,
                       capture_output=True, timeout=START_LIMIT_S, **unprivileged())
        self.process.wait()

    def kill(self):
        # SIGQUIT, as crash(): its children would outlive SIGKILL.
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGQUIT)
        if self.process is not None:
            self.process.wait()
