"""System calls of the service fail, one by one: strace makes the n-th call of each thread fail.

If the start of the program needs the call, the program ends with a message. If a request needs it,
at most that request fails, and the service goes on. Flushes are made slow in the same way.
"""

import pathlib
import shutil
import subprocess
import tempfile
import unittest

from service import BINARY, Client, PATIENCE, Server, request, save_path, wait_for


def why_not():
    """Why strace cannot run on this machine; empty if it can."""
    if shutil.which("strace") is None:
        return "strace is not installed"
    trial = subprocess.run(["strace", "-o", "/dev/null", "true"], capture_output=True, text=True,
                           timeout=PATIENCE, check=False)
    return f"ptrace is not permitted: {trial.stderr.strip()}" if trial.returncode else ""


NO_STRACE = why_not()


@unittest.skipIf(NO_STRACE, NO_STRACE)
class Faults(unittest.TestCase):
    def setUp(self):
        self.folder = self.enterContext(tempfile.TemporaryDirectory())
        self.trace = pathlib.Path(self.folder) / "trace"

    def strace(self, call, error, when):
        """Starts the service under strace -D, which makes the service the child of this test: the
        service gets the signals, and strace runs beside it."""
        return ["strace", "-D", "-f", "-o", str(self.trace), "-e", f"trace={call}",
                "-e", f"inject={call}:error={error}:when={when}"]

    def injected(self):
        return self.trace.exists() and "(INJECTED)" in self.trace.read_text(errors="replace")

    def test_what_it_needs_to_begin(self):
        for call, error, when in (
                ("epoll_create1", "EMFILE", 1),
                ("eventfd2", "ENFILE", 1),
                ("timerfd_create", "EMFILE", 1),
                ("epoll_ctl", "ENOMEM", 1),
                ("epoll_ctl", "ENOSPC", 3),
                ("socket", "EMFILE", 1),
                ("bind", "EADDRINUSE", 1),
                ("listen", "EADDRINUSE", 1),
                ("clone3", "EAGAIN", 1),
                ("clone3", "EAGAIN", 2)):
            with self.subTest(call=call, error=error, when=when):
                ended = subprocess.run(
                    [*self.strace(call, error, when), BINARY, "--listen", "127.0.0.1:0",
                     "--db", f"{self.folder}/saves.db"],
                    capture_output=True, text=True, timeout=PATIENCE, check=False)
                self.assertEqual(ended.returncode, 1, ended.stderr)
                self.assertEqual(ended.stdout, "")
                self.assertRegex(ended.stderr, r"^savegames: .*(fairlead|cannot|listen)")
                wait_for(self.injected, "the failure")

    def ask_often(self, server):
        """Sends 100 requests, each on its own connection. Returns how many got 200."""
        good = 0
        for number in range(50):
            path = save_path(f"player{number}")
            for method, body in (("PUT", b'{"level":1}'), ("GET", None)):
                try:
                    good += server.ask(method, path, body).status < 300
                except (ConnectionError, EOFError):
                    pass  # the fault hit this request
        return good

    def await_service(self, server):
        """Ten requests in a row get an answer: a thread that has done little has yet to fail."""
        served = 0
        for _ in range(100):
            try:
                served = served + 1 if server.ask("GET", "/stats").status == 200 else 0
            except (ConnectionError, EOFError):
                served = 0
            if served == 10:
                return
        self.fail("the faults do not end")

    def test_what_a_request_needs(self):
        for call, error, when, invisible in (
                ("accept4", "EINTR", "1+2", True),
                ("accept4", "ECONNABORTED", "1+2", True),
                ("accept4", "EMFILE", "2", True),
                ("accept4", "ENFILE", "2", True),
                ("accept4", "ENOBUFS", "2", True),
                ("epoll_wait", "EINTR", "1+2", True),
                ("recvfrom", "EINTR", "1+2", True),
                ("recvfrom", "ECONNRESET", "2", False),
                ("sendto", "EINTR", "1+2", True),
                ("sendto", "EPIPE", "2", False),
                ("sendto", "ENOBUFS", "3", False),
                ("epoll_ctl", "ENOSPC", "4", False),
                ("setsockopt", "ENOPROTOOPT", "3+2", True),
                ("fdatasync", "EIO", "20", False)):
            with self.subTest(call=call, error=error, when=when):
                with Server(runner=self.strace(call, error, when)) as server:
                    good = self.ask_often(server)
                    wait_for(self.injected, "the failure")
                    if invisible:
                        self.assertEqual(good, 100)
                        self.assertEqual(server.ask("GET", "/stats").status, 200)
                    else:
                        self.assertGreater(good, 80)  # a call fails once in each thread
                        self.await_service(server)

    def test_an_overdue_write_does_not_reach_the_database(self):
        # Each flush of the log takes a second; what comes meanwhile waits in the store.
        flushes = "fsync,fdatasync"
        slow = ["strace", "-D", "-f", "-o", "/dev/null", "-e", f"trace={flushes}",
                "-e", f"inject={flushes}:delay_enter=1000000"]
        with Server("--request-timeout", "60", runner=slow) as server:
            for number in range(10):
                player = f"late{number}"
                with Client(server.port) as first, Client(server.port) as second:
                    first.send(request("PUT", save_path("first"), b"{}"))
                    server.await_requests(1)
                    late = second.ask("PUT", save_path(player), b"{}",
                                      headers=["X-Request-Timeout: 100"])
                    self.assertEqual((late.status, late.json()["error"]), (504, "deadline"))
                    self.assertEqual(first.read().status, 200)
                    # Comes after the late one.
                    self.assertEqual(second.ask("PUT", save_path("last"), b"{}").status, 200)
                if server.stats()["store"]["overdue"]:
                    break  # else: it was written together with the first
            self.assertEqual(server.stats()["store"]["overdue"], 1)
            self.assertEqual(server.ask("GET", save_path(player)).status, 404)


if __name__ == "__main__":
    unittest.main()
