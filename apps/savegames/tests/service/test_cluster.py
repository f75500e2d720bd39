"""Three services on one Redis and one PostgreSQL. Services are killed and paused beyond their
leases, connections are cut, both databases crash. Nothing that was acknowledged may be lost, no
older save may replace a newer one, and the services recover by themselves.
"""

import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import unittest

from service import BINARY, PATIENCE, Client, Server, request, save_path, wait_for

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

import servers

LOAD = os.environ.get("SAVEGAMES_LOAD_BINARY", "savegames-load")
TIMEOUT_S = 1
LEASE_S = 2
NUMBER = 3
PROGRESS = 30  # requests that each service serves after a fault, before the next one


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return probe.getsockname()[1]


@unittest.skipIf(servers.missing(), f"not installed: {', '.join(servers.missing())}")
class ClusterTest(unittest.TestCase):
    """The tests of a class share its databases. PostgreSQL does not flush: what ends here are
    processes, not the machine."""

    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(cls.enterClassContext(
            tempfile.TemporaryDirectory(prefix="savegames-cluster-")))
        cls.redis = cls.enterClassContext(servers.Redis(cls.folder))
        cls.postgres = cls.enterClassContext(servers.Postgres(cls.folder, flushes=False))
        cls.stores = ["--profiles", cls.redis.url, "--blobs", cls.postgres.url]

    def start(self, *options, port=0):
        server = Server("--workers", "2", "--blob-connections", "4", *options, stores=self.stores,
                        port=port)
        return self.enterContext(server)


class Fencing(ClusterTest):
    """A holder that is slow: the store's answers to it come late."""

    def lease_of(self, player):
        return self.redis.ask("EXISTS", f"savegames:lease:chess/{player}") == "1"

    def put_until_done(self, server, player, body):
        while True:
            answer = server.ask("PUT", save_path(player), body)
            if answer.status == 200:
                return answer.version()

    def begin_slow_put(self, server, player, body):
        """Sends a save to a slow service. Returns when that has the lease."""
        client = self.enterContext(Client(server.port))
        client.send(request("PUT", save_path(player), body))
        wait_for(lambda: self.lease_of(player), "the lease")
        return client

    def assert_stored(self, server, player, version, body):
        answer = server.ask("GET", save_path(player))
        self.assertEqual((answer.status, answer.version(), answer.body), (200, version, body))

    def test_a_lease_that_redis_forgets(self):
        slow = self.start("--store-latency", "2s", "--request-timeout", "60")
        quick = self.start("--request-timeout", "60")
        for number in range(10):
            player = f"p{number}"
            self.put_until_done(quick, player, b'"old"')
            holder = self.begin_slow_put(slow, player, b'"late"')
            self.redis.kill()
            self.redis.start()
            version = self.put_until_done(quick, player, b'"new"')
            late = holder.read()
            if late.status == 200 and late.version() < version:
                continue  # the machine is slow: the first one wrote before the second
            self.assertEqual((late.status, late.json().get("error")), (409, "lease_lost"))
            self.assert_stored(quick, player, version, b'"new"')
            return
        self.fail("the slow service always came first")

    def test_a_holder_that_is_paused_beyond_its_lease(self):
        slow = self.start("--store-latency", "400ms", "--request-timeout", str(TIMEOUT_S),
                          "--lease", str(LEASE_S))
        quick = self.start("--request-timeout", "60")
        for number in range(10):
            player = f"p{number}"
            self.put_until_done(quick, player, b'"old"')
            holder = self.begin_slow_put(slow, player, b'"late"')
            slow.process.send_signal(signal.SIGSTOP)
            wait_for(lambda name=player: not self.lease_of(name), "the end of the lease")
            version = self.put_until_done(quick, player, b'"new"')
            slow.process.send_signal(signal.SIGCONT)
            late = holder.read()
            if late.status == 200 and late.version() < version:
                continue  # it was paused after its write
            self.assertNotEqual(late.status, 200, late.body)
            self.assert_stored(quick, player, version, b'"new"')
            # What the paused service had under way has ended.
            self.assertGreater(self.put_until_done(slow, f"q{number}", b"1"), 0)
            self.assert_stored(quick, player, version, b'"new"')
            return
        self.fail("the paused service always came first")


class Faults(ClusterTest):
    def setUp(self):
        super().setUp()
        self.options = ["--request-timeout", str(TIMEOUT_S), "--lease", str(LEASE_S)]
        self.ports = [free_port() for _ in range(NUMBER)]
        self.services = [None] * NUMBER
        for number in range(NUMBER):
            self.begin(number)
        self.urls = [f"http://127.0.0.1:{port}" for port in self.ports]

    def begin(self, number):
        self.services[number] = self.start(*self.options, port=self.ports[number])

    def load(self, *options, ledger="ledger"):
        return [LOAD, "--url", *self.urls, "--players", "60", "--games", "3", "--connections", "18",
                "--workers", "1", "--size-median", "2000", "--timeout", "20", "--json",
                str(self.folder / "report.json"), "--ledger", str(self.folder / ledger),
                *map(str, options)]

    def served(self, number):
        """Requests about saves that a service has answered well."""
        by_kind = self.services[number].stats()["requests"]
        return sum(count for kind in ("put", "get", "update", "delete")
                   for status, count in by_kind.get(kind, {}).items() if status in ("200", "204"))

    def await_progress(self, running):
        """Each service serves more: it has recovered by itself."""
        for number in range(NUMBER):
            before = self.served(number)
            wait_for(lambda n=number, b=before: self.served(n) >= b + PROGRESS
                     or running.poll() is not None, f"progress of service {number}")
        self.assertIsNone(running.poll(), "the load has ended")

    def kill_a_service(self, number):
        self.services[number].kill()
        self.begin(number)

    def pause_a_service(self, number):
        paused = self.services[number]
        paused.process.send_signal(signal.SIGSTOP)
        # A lease is not extended, so leases that are taken from now on end after all of its own.
        self.redis.ask("SET", "pause", "1", "PX", str(LEASE_S * 1000))
        wait_for(lambda: self.redis.ask("EXISTS", "pause") != "1", "the end of its leases")
        paused.process.send_signal(signal.SIGCONT)

    def cut_connections(self, _):
        self.postgres.ask("select pg_terminate_backend(pid) from pg_stat_activity "
                          "where backend_type = 'client backend' and pid <> pg_backend_pid()")
        self.redis.ask("CLIENT", "KILL", "TYPE", "normal")

    def crash_postgres(self, _):
        self.postgres.crash()
        self.postgres.start()

    def crash_redis(self, _):
        self.redis.kill()
        self.redis.start()

    def test_nothing_acknowledged_is_lost(self):
        subprocess.run(self.load("--preload", "--requests", "0"), check=True, timeout=PATIENCE)
        running = subprocess.Popen(self.load("--mix", "20:30:45:5", "--duration", "600"),
                                   stdout=subprocess.PIPE, text=True)
        self.addCleanup(running.stdout.close)
        self.addCleanup(running.kill)
        faults = [self.kill_a_service, self.pause_a_service, self.cut_connections,
                  self.crash_postgres, self.crash_redis]
        for number, fault in enumerate([*faults, *faults[:1], *faults[2:]]):
            self.await_progress(running)
            fault(number % NUMBER)
        self.await_progress(running)
        running.send_signal(signal.SIGINT)
        said, _ = running.communicate(timeout=PATIENCE)
        self.assertEqual(running.returncode, 0, said)
        report = json.loads((self.folder / "report.json").read_text())
        self.assertEqual(report["verification_errors"], 0, said)
        print(f"{report['requests']} requests, {report['errors']} errors "
              f"{report['errors_by_kind']}", end=" ", flush=True)
        # Every save is there, at each service.
        subprocess.run(self.load("--mix", "0:1:0:0", "--skew", "0", "--requests", "600"),
                       check=True, timeout=PATIENCE, stdout=subprocess.DEVNULL)
        report = json.loads((self.folder / "report.json").read_text())
        self.assertEqual((report["errors"], report["verification_errors"]), (0, 0), report)


class Operation(ClusterTest):
    def test_readiness_follows_the_databases(self):
        server = self.start("--request-timeout", "20")
        wait_for(lambda: server.ask("GET", "/readyz").status == 200, "readiness")
        for database, word in ((self.redis, "Redis"), (self.postgres, "PostgreSQL")):
            database.kill()
            wait_for(lambda: server.ask("GET", "/readyz").status == 503, "the loss")
            wait_for(lambda w=word: w in server.ask("GET", "/readyz").body.decode(), "its reason")
            answer = server.ask("PUT", save_path("p"), b"{}")
            self.assertEqual((answer.status, answer.json()["error"]), (503, "store_failed"))
            self.assertEqual(server.ask("GET", "/healthz").status, 200)
            database.start()
            wait_for(lambda: server.ask("GET", "/readyz").status == 200, "readiness")
            wait_for(lambda: server.ask("PUT", save_path("p"), b"{}").status == 200, "a write")

    def test_services_that_start_together(self):
        started = [subprocess.Popen([BINARY, "--listen", "127.0.0.1:0", *self.stores],
                                    stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
                   for _ in range(NUMBER)]
        for each in started:
            self.assertIn("listening on", each.stdout.readline())
            each.terminate()
            _, said = each.communicate(timeout=PATIENCE)
            self.assertEqual(each.returncode, 0, said)
        self.assertEqual(self.postgres.ask("select count(*) from saves_schema"), "1")

    def test_wrong_options(self):
        for options, words in ((["--profiles", self.redis.url], "give both"),
                               (["--blobs", self.postgres.url], "give both"),
                               (["--db", "x.db", *self.stores], "in its place"),
                               ([], "give a file"),
                               (["--profiles", "http://x", "--blobs", "host=x"], "redis://"),
                               (["--profiles", self.redis.url, "--blobs",
                                 self.postgres.url + " options='-c synchronous_commit=off'"],
                                "synchronous_commit is off")):
            with self.subTest(options=options):
                ended = subprocess.run([BINARY, "--listen", "127.0.0.1:0", *options], text=True,
                                       capture_output=True, timeout=PATIENCE, check=False)
                self.assertEqual(ended.returncode, 1, ended.stderr)
                self.assertIn(words, ended.stderr)


if __name__ == "__main__":
    unittest.main()
