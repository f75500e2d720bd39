"""A server under test, and clients that speak HTTP byte by byte.

Nothing here sleeps to synchronise. A server is ready when it has printed its address. A test asks
for a condition again and again until it is true (`wait_for`), with a generous limit.
"""

import json
import os
import pathlib
import resource
import selectors
import signal
import socket
import subprocess
import tempfile
import time
import unittest

BINARY = os.environ.get("SAVEGAMES_BINARY", "savegames")
SANITIZERS = ("AddressSanitizer", "ThreadSanitizer", "LeakSanitizer", "runtime error:",
              "assertion failed")
PATIENCE = 60.0  # seconds until a test gives up; a sanitizer on a busy machine is slow
# Options of a server, for requests with much data: the same sanitizer takes seconds for them.
PATIENT = ("--request-timeout", "120", "--write-timeout", "120")


def wait_for(condition, what):
    """Returns when `condition()` is true."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {PATIENCE} s for: {what}")
        time.sleep(0.005)  # to spare the processor; the condition decides


class Response:
    def __init__(self, status, headers, body):
        self.status = status
        self.headers = headers
        self.body = body

    def json(self):
        return json.loads(self.body)

    def version(self):
        return int(self.headers["save-version"])


class Client:
    """A connection. Reads answers strictly: a break of HTTP's framing is an error."""

    def __init__(self, port, address="127.0.0.1", tls=None):
        self.socket = socket.create_connection((address, port), timeout=PATIENCE)
        if tls:  # an end without a word is an error
            self.socket = tls.wrap_socket(self.socket, server_hostname=address,
                                          suppress_ragged_eofs=False)
        self.buffer = b""

    def close(self):
        self.socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def send(self, data):
        self.socket.sendall(data)

    def fill(self):
        data = self.socket.recv(65536)
        self.buffer += data
        return bool(data)

    def ended(self):
        """Whether the server has closed the connection, without another byte."""
        try:
            return self.buffer == b"" and not self.fill()
        except ConnectionResetError:
            return True

    def line(self):
        while b"\r\n" not in self.buffer:
            if not self.fill():
                raise EOFError(f"the server closed within a line, after {self.buffer!r}")
        line, self.buffer = self.buffer.split(b"\r\n", 1)
        return line.decode()

    def read(self, head_only=False):
        protocol, status, _ = self.line().split(" ", 2)
        assert protocol == "HTTP/1.1", f"the answer begins with {protocol!r}, not with HTTP/1.1"
        headers = {}
        while line := self.line():
            name, value = line.split(": ", 1)
            assert name.lower() not in headers, f"the answer has the field {name} twice"
            headers[name.lower()] = value
        size = 0
        if int(status) not in (100, 204) and not head_only:
            size = int(headers["content-length"])
        while len(self.buffer) < size:
            if not self.fill():
                raise EOFError(f"the server closed after {len(self.buffer)} of {size} body bytes")
        body, self.buffer = self.buffer[:size], self.buffer[size:]
        return Response(int(status), headers, body)

    def ask(self, method, path, body=None, headers=()):
        self.send(request(method, path, body, headers))
        return self.read(head_only=method == "HEAD")


def request(method, path, body=None, headers=()):
    lines = [f"{method} {path} HTTP/1.1", "Host: localhost", *headers]
    if body is not None:
        lines.append(f"Content-Length: {len(body)}")
    return ("\r\n".join(lines) + "\r\n\r\n").encode() + (body or b"")


def save_path(player, game="chess"):
    return f"/games/{game}/saves/{player}"


class Server:
    """A running service, as a context manager. At its end it stops, and a complaint of a sanitizer
    or a bad exit status is an error. `stores`: options in place of a database of its own."""

    def __init__(self, *options, database=None, stores=None, port=0, descriptors=None,
                 program=BINARY, runner=(), tls=None):
        self.tls = tls  # the context of its clients
        scheme = "https" if tls else "http"
        self.folder = tempfile.TemporaryDirectory(prefix="savegames-test-")
        self.database = database or pathlib.Path(self.folder.name) / "saves.db"
        self.errors = open(pathlib.Path(self.folder.name) / "stderr", "w+", encoding="utf-8")

        def limit():
            resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors, descriptors))

        self.killed = False
        self.process = subprocess.Popen(
            [*runner, program, "--listen", f"127.0.0.1:{port}",
             *(stores or ["--db", str(self.database)]), *options],
            stdout=subprocess.PIPE, stderr=self.errors,
            preexec_fn=limit if descriptors else None)
        self.port = self.await_ready(scheme)
        self.url = f"{scheme}://127.0.0.1:{self.port}"

    def await_ready(self, scheme):
        with selectors.DefaultSelector() as selector:
            selector.register(self.process.stdout, selectors.EVENT_READ)
            if not selector.select(PATIENCE):
                self.kill()
                raise AssertionError(f"the server printed no address within {PATIENCE} s")
        line = self.process.stdout.readline().decode()
        prefix = f"listening on {scheme}://127.0.0.1:"
        if not line.startswith(prefix):
            self.process.wait()
            raise AssertionError(f"the server did not start; it printed {line!r} and "
                                 f"{self.complaints()!r}")
        return int(line.removeprefix(prefix))

    def client(self):
        return Client(self.port, tls=self.tls)

    def ask(self, method, path, body=None, headers=()):
        with self.client() as client:
            return client.ask(method, path, body, headers)

    def stats(self):
        return self.ask("GET", "/stats").json()

    def await_requests(self, count):
        """Waits until `count` connections are busy, not counting the one of this question."""

        def busy():
            connections = self.stats()["connections"]
            return connections["open"] - connections["idle"] == count + 1

        wait_for(busy, f"{count} requests under way")

    def complaints(self):
        self.errors.flush()
        self.errors.seek(0)
        return self.errors.read()

    def terminate(self):
        self.process.send_signal(signal.SIGTERM)

    def stop(self):
        """Ends the server as an operator would. Returns its standard error."""
        if self.process.poll() is None:
            self.terminate()
        status = self.process.wait(PATIENCE)
        said = self.complaints()
        assert not any(word in said for word in SANITIZERS), said
        assert status == 0 or self.killed, f"exit status {status}: {said}"
        return said

    def kill(self):
        self.killed = True
        self.process.kill()
        self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, failure, *_):
        try:
            if failure is None:
                self.stop()
            else:
                print(self.complaints())
        finally:
            if self.process.poll() is None:
                self.kill()
            self.process.stdout.close()
            self.errors.close()
            self.folder.cleanup()


class ServiceTest(unittest.TestCase):
    """All tests of a class use one server, with `options`."""

    options = ()

    @classmethod
    def setUpClass(cls):
        cls.server = cls.enterClassContext(Server(*cls.options))

    def ask(self, method, path, body=None, headers=()):
        return self.server.ask(method, path, body, headers)

    def player(self):
        """The path of a save that only this test uses."""
        return save_path(self.id().rsplit(".", 1)[1])

    def assert_error(self, response, status, code=None):
        self.assertEqual(response.status, status, response.body)
        answer = response.json()
        self.assertIn("message", answer)
        if code:
            self.assertEqual(answer["error"], code)
