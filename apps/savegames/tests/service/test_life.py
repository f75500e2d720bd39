"""Start, idling and end of the service; requests whose client is gone."""

import contextlib
import os
import pathlib
import signal
import socket
import struct
import subprocess
import tempfile
import time
import unittest

from service import BINARY, PATIENCE, Client, Server, request, save_path, wait_for

IDLE_S = 5.0


def switches(pid):
    """How often each thread went to sleep: its voluntary context switches."""
    result = {}
    for status in pathlib.Path(f"/proc/{pid}/task").glob("*/status"):
        fields = dict(line.split(":", 1) for line in status.read_text().splitlines())
        thread = f"{status.parent.name} {fields['Name'].strip()}"
        result[thread] = int(fields["voluntary_ctxt_switches"])
    return result


def blocked_signals(pid):
    """The signals that the main thread blocks."""
    fields = dict(line.split(":", 1)
                  for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines())
    mask = int(fields["SigBlk"], 16)
    return {number for number in signal.valid_signals() if mask >> (number - 1) & 1}


class Starting(unittest.TestCase):
    def refused(self, options, words):
        with tempfile.TemporaryDirectory() as folder:
            if not any(each.startswith("--db") for each in options):
                options = ["--db", f"{folder}/saves.db", *options]
            ended = subprocess.run([BINARY, *options], capture_output=True, text=True,
                                   timeout=PATIENCE, check=False)
            self.assertNotEqual(ended.returncode, 0, options)
            self.assertEqual(ended.stdout, "")
            for word in words:
                self.assertIn(word, ended.stderr)
            return [each.name for each in pathlib.Path(folder).iterdir()]

    def test_wrong_options(self):
        for options, words in (
                (["--listen", "0.0.0.0:0"], ["--tokens"]),
                (["--listen", "[::]:0"], ["--tokens"]),
                (["--listen", "nowhere"], ["--listen", "ADDRESS:PORT"]),
                (["--listen", "127.0.0.1:99999"], ["--listen"]),
                (["--store-latency", "soon"], ["--store-latency", "soon"]),
                (["--scheduler", "best"], ["--scheduler", "fairlead"]),
                (["--workers", "0"], ["--workers", "1"]),
                (["--request-timeout", "-1"], ["--request-timeout"]),
                (["--request-timeout", "nan"], ["--request-timeout", "nan"]),
                (["--read-timeout", "-nan"], ["--read-timeout", "nan"]),
                (["--idle-timeout", "inf"], ["--idle-timeout", "inf"]),
                (["--write-timeout", "1e9"], ["--write-timeout", "1e9"]),
                (["--game-idle", "5s"], ["--game-idle", "5s"]),
                (["--tokens", "/nonexistent"], ["--tokens", "/nonexistent"]),
                (["--games", "/nonexistent"], ["--games", "/nonexistent"]),
                (["--game-idle", "0"], ["--game-idle"]),
                (["--db", "/nonexistent/saves.db"], ["--db", "/nonexistent"]),
                (["--unknown"], ["--unknown"])):
            with self.subTest(options):
                self.refused(options, words)

    def test_empty_options(self):
        """An empty value, as an unset variable leaves, is an error before any file is opened."""
        for name in ("--tokens", "--games", "--store-latency", "--listen", "--db", "--scheduler"):
            for options, word in (([name, ""], "empty"), ([name + "="], name), ([name], name)):
                with self.subTest(options):
                    self.assertEqual(self.refused(options, [name, word]), [])

    def test_what_is_taken(self):
        with Server() as server:
            self.refused(["--listen", f"127.0.0.1:{server.port}"], ["cannot listen"])
            self.refused(["--db", str(server.database)], ["another server uses"])

    def test_open_address_with_tokens(self):
        with tempfile.NamedTemporaryFile("w") as tokens:
            tokens.write("chess 0123456789abcdef\n")
            tokens.flush()
            with tempfile.TemporaryDirectory() as folder:
                process = subprocess.Popen(
                    [BINARY, "--db", f"{folder}/saves.db", "--listen", "[::]:0", "--tokens",
                     tokens.name], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
                port = int(process.stdout.readline().decode().rsplit(":", 1)[1])
                with Client(port, "::1") as six, Client(port) as four:
                    self.assertEqual(six.ask("GET", "/healthz").status, 200)
                    self.assertEqual(four.ask("GET", save_path("anna")).status, 401)
                process.terminate()
                self.assertEqual(process.wait(PATIENCE), 0)
                process.stdout.close()


class Ending(unittest.TestCase):
    def test_request_under_way_is_answered(self):
        for scheduler in ("fairlead", "updater", "trivial"):
            with Server("--store-latency", "300ms", "--scheduler", scheduler) as server:
                with server.client() as busy, server.client() as idle:
                    self.assertEqual(idle.ask("GET", "/healthz").status, 200)
                    busy.send(request("PUT", save_path("anna"), b"{}"))
                    server.await_requests(1)
                    server.terminate()
                    answer = busy.read()
                    self.assertEqual((answer.status, answer.version()), (200, 1))
                    self.assertEqual(answer.headers["connection"], "close")
                    self.assertTrue(busy.ended())
                    self.assertTrue(idle.ended())
                said = server.stop()
                self.assertNotIn("cut off", said)
                with self.assertRaises(ConnectionRefusedError):
                    server.client()

    def test_nothing_was_begun(self):
        """Half a head and half a body are answered with 503 at once, and do not delay the end."""
        body = request("PUT", save_path("anna"), b"{}")[:-1]
        with Server() as server, server.client() as head, server.client() as half:
            head.send(b"GET /healthz HTTP/1.1\r\nHo")
            half.send(body)
            server.await_requests(2)
            server.terminate()
            for client in (head, half):
                answer = client.read()
                self.assertEqual(answer.status, 503)
                self.assertEqual(answer.headers["connection"], "close")
                self.assertTrue(client.ended())
            self.assertNotIn("cut off", server.stop())

    def test_what_takes_too_long_is_cut_off(self):
        servers = [Server("--store-latency", "20s", "--request-timeout", "60", "--scheduler",
                          scheduler) for scheduler in ("fairlead", "updater")]
        clients = [server.client() for server in servers]
        for server, client in zip(servers, clients):  # at the same time: each server waits 5 s
            client.send(request("PUT", save_path("anna"), b"{}"))
            server.await_requests(1)
            server.terminate()
        for server, client in zip(servers, clients):
            with server, client:
                answer = client.read()  # the client gets an answer
                self.assertIn(answer.status, (503, 504))
                self.assertEqual(answer.headers["connection"], "close")
                self.assertIn("cut off 1 connection", server.stop())

    def test_signal_of_the_first_moment(self):
        """From the start of main on, the signals that end the service well are blocked."""
        reader, writer = os.pipe()
        try:
            os.set_blocking(writer, False)
            with contextlib.suppress(BlockingIOError):
                while True:
                    os.write(writer, b"x" * 4096)
            os.set_blocking(writer, True)
            # --help prints first of all, and the full pipe blocks it there.
            process = subprocess.Popen([BINARY, "--help"], stdout=writer)
            try:
                wait_for(lambda: {signal.SIGTERM, signal.SIGINT, signal.SIGHUP} <=
                         blocked_signals(process.pid), "the signals to be blocked")
            finally:
                process.kill()
                process.wait()
        finally:
            os.close(reader)
            os.close(writer)

    def test_signals_that_mean_nothing(self):
        with Server() as server:
            for number in (signal.SIGUSR1, signal.SIGUSR2, signal.SIGPIPE, signal.SIGHUP):
                server.process.send_signal(number)
                self.assertEqual(server.ask("GET", "/healthz").status, 200)
            self.assertIn("stopped", server.stop())

    def test_interrupt(self):
        with Server() as server:
            server.process.send_signal(signal.SIGINT)
            self.assertIn("stopped", server.stop())


class Idling(unittest.TestCase):
    @unittest.skipIf(b"__tsan_init" in pathlib.Path(BINARY).read_bytes(),
                     "the thread sanitizer has a thread of its own that wakes all the time")
    def test_no_context_switch(self):
        with Server() as server:
            clients = [server.client() for _ in range(100)]
            for i, client in enumerate(clients):
                client.ask("PUT", save_path(f"p{i}"), b"{}")
                client.ask("GET", save_path(f"p{i}"))
            # The last answer arrives before the last worker sleeps.
            seen = [switches(server.process.pid)]

            def settled():
                time.sleep(0.1)
                seen.append(switches(server.process.pid))
                return seen[-1] == seen[-2]

            wait_for(settled, "rest")
            time.sleep(IDLE_S)  # the time that is measured
            after = switches(server.process.pid)
            self.assertGreaterEqual(len(after), 8)  # workers, threads of the store, main
            self.assertEqual(after, seen[-1])
            for client in clients:
                client.close()


class KilledRequests(unittest.TestCase):
    def test_lock_of_a_dead_client_is_given_back(self):
        with Server("--store-latency", "100ms") as server:
            server.ask("PUT", save_path("anna"), b"{}")
            for i in range(5):
                with server.client() as client:
                    client.send(request("POST", save_path("anna") + "/update", b'{"a":%d}' % i))
                    server.await_requests(1)
                    # Makes close() send a reset.
                    client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                                             struct.pack("ii", 1, 0))
            begin = time.monotonic()
            answer = server.ask("PUT", save_path("anna"), b"{}")
            self.assertEqual(answer.status, 200)
            self.assertLess(time.monotonic() - begin, 5)  # a lease lasts 10 s

    def test_dead_server_leaves_no_lock(self):
        with tempfile.TemporaryDirectory() as folder:
            database = pathlib.Path(folder) / "saves.db"
            with Server("--store-latency", "1s", database=database) as server:
                with server.client() as client:
                    client.send(request("PUT", save_path("anna"), b"{}"))
                    server.await_requests(1)
                    server.kill()
            with Server(database=database) as server:
                self.assertEqual(server.ask("PUT", save_path("anna"), b"{}").status, 200)


if __name__ == "__main__":
    unittest.main()
