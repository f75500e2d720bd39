"""Memory that clients hold counts towards --memory-max, and goes back to the system after them."""

import collections
import pathlib
import resource
import unittest

from service import BINARY, PATIENT, Server, request, save_path, wait_for

KIB = 1024
MIB = 1024 * KIB
SANITIZED = any(word in pathlib.Path(BINARY).read_bytes() for word in (b"__asan_init", b"__tsan_init"))


def resident(server):
    statm = pathlib.Path(f"/proc/{server.process.pid}/statm").read_text(encoding="ascii")
    return int(statm.split()[1]) * 4 * KIB


def large_save(size):
    return b'"' + b"x" * (size - 2) + b'"'


# More bytes than the sockets of one connection hold.
LARGE = 14 * MIB


class Answers(unittest.TestCase):
    def answered(self, server):
        return sum(server.stats()["requests"].get("get", {}).values())

    def test_one_copy_for_all_readers_of_a_save(self):
        save = large_save(LARGE)
        with Server("--memory-max", "64", "--body-max", str(LARGE), *PATIENT) as server:
            server.ask("PUT", save_path("anna"), save)
            clients = [server.client() for _ in range(8)]
            for client in clients:
                client.send(request("GET", save_path("anna")))
            wait_for(lambda: self.answered(server) == len(clients), "the answers")
            # An answer with statistics counts until it was sent: ask until it has gone.
            wait_for(lambda: server.stats()["memory"]["bodies"] == len(save), "one copy")
            # The next version has another text.
            server.ask("PUT", save_path("anna"), save.replace(b"x", b"y"))
            self.assertEqual(server.ask("GET", save_path("anna")).body[1:2], b"y")
            for client in clients:
                self.assertTrue(client.read().body == save)
                client.close()
            wait_for(lambda: server.stats()["memory"]["bodies"] == 0, "the memory")

    def test_texts_that_are_sent_are_limited(self):
        with Server("--memory-max", "64", "--body-max", str(LARGE), *PATIENT) as server:
            players = [f"player{number}" for number in range(8)]
            for player in players:
                server.ask("PUT", save_path(player), large_save(LARGE))
            clients = []
            for number, player in enumerate(players, start=1):
                clients.append(server.client())
                clients[-1].send(request("GET", save_path(player)))
                wait_for(lambda: self.answered(server) == number, "its answer")
                self.assertLessEqual(server.stats()["memory"]["used"], 64 * MIB)
            statuses = []
            for client in clients:
                statuses.append(client.read().status)
                client.close()
            self.assertEqual(statuses[:3], [200] * 3)
            self.assertLessEqual(set(statuses), {200, 429, 503})
            self.assertNotEqual(set(statuses), {200})
            wait_for(lambda: server.stats()["memory"]["bodies"] == 0, "the memory")


class Buffers(unittest.TestCase):
    CLIENTS = 300

    def test_what_connections_hold_counts(self):
        with Server() as server:
            before = server.stats()["memory"]["connections"]
            clients = [server.client() for _ in range(self.CLIENTS)]
            wait_for(lambda: server.stats()["memory"]["connections"] - before ==
                     self.CLIENTS * 8 * KIB, "all")
            for client in clients:
                client.send(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 6_000)
            wait_for(lambda: server.stats()["memory"]["connections"] - before >=
                     self.CLIENTS * 10 * KIB, "the heads")
            for client in clients:
                client.close()
            wait_for(lambda: server.stats()["memory"]["connections"] == before, "the memory")

    def test_a_slow_body_has_a_small_buffer(self):
        with Server() as server:
            before = server.stats()["memory"].get("connections", 0)
            clients = [server.client() for _ in range(self.CLIENTS)]
            head = request("PUT", save_path("anna"), None, ["Content-Length: 100000"])
            resident_before = resident(server)
            for part in (head, b'"' + b"x" * 100, b"x" * 100):
                for client in clients:
                    client.send(part)
                server.await_requests(self.CLIENTS)
            wait_for(lambda: server.stats()["memory"]["bodies"] == self.CLIENTS * 100_000,
                     "the heads to be read")
            memory = server.stats()["memory"]
            if not SANITIZED:
                self.assertLess(resident(server) - resident_before, self.CLIENTS * 32 * KIB)
            self.assertLess(memory["connections"] - before, self.CLIENTS * 10 * KIB)
            for client in clients:
                client.close()

    def test_a_fast_body_and_then_an_idle_client(self):
        with Server(*PATIENT) as server, server.client() as client:
            # A connection may be accepted after a later one: what it holds counts once it is there.
            self.assertEqual(client.ask("GET", "/healthz").status, 200)
            before = server.stats()["memory"]["connections"]
            self.assertEqual(client.ask("PUT", save_path("anna"), large_save(4 * MIB)).status, 200)
            wait_for(lambda: server.stats()["memory"]["connections"] == before, "its large buffer")


@unittest.skipIf(SANITIZED, "a sanitizer keeps what is freed")
class Afterwards(unittest.TestCase):
    def test_memory_goes_back(self):
        with Server(*PATIENT) as server:
            players = [f"player{number}" for number in range(48)]
            fields = ",".join(f'"field{number}":{number}' for number in range(60_000))
            save = ("{" + fields + "}").encode()
            server.ask("PUT", save_path("first"), b"{}")
            before = resident(server)
            peak = before
            clients = [server.client() for _ in players]
            for method, path, body in (("PUT", "", save), ("POST", "/update", b'{"a":1}'),
                                       ("GET", "", None)):
                for client, player in zip(clients, players):
                    client.send(request(method, save_path(player) + path, body))
                for client in clients:
                    self.assertEqual(client.read().status, 200)
                    peak = max(peak, resident(server))
            self.assertGreater(peak - before, 32 * MIB)
            for client in clients:
                client.close()
            wait_for(lambda: resident(server) - before < 16 * MIB,
                     f"memory of {peak // MIB} MiB to go back to {before // MIB}")


@unittest.skipIf(SANITIZED, "a sanitizer needs an address space without a limit")
class OutOfMemory(unittest.TestCase):
    """RLIMIT_AS is as in a container, below what the requests need."""

    CLIENTS = 16
    # One heap: each further heap takes 64 MiB of addresses at once, needed or not, and their number
    # at the time of the limit is chance.
    ONE_HEAP = ("env", "MALLOC_ARENA_MAX=1")
    SAVE = ("{" + ",".join(f'"field{number}":[{number}]' for number in range(100_000)) + "}").encode()

    def test_a_small_address_space_from_the_start(self):
        """Limit of `ulimit -v`, without a limit on heaps: threads start if memory is short."""
        for mebibytes in (300, 450, 700):
            with self.subTest(mebibytes=mebibytes):
                limit = ("sh", "-c", f'ulimit -v {mebibytes * 1024}; exec "$0" "$@"')
                with Server("--request-timeout", "3000", runner=limit) as server:
                    server.ask("PUT", save_path("small"), b"{}")
                    clients = [server.client() for _ in range(self.CLIENTS)]
                    statuses = self.press(server, clients, self.SAVE, rounds=1)
                    self.assertLessEqual(set(statuses), {200, 404, 503})
                    self.assertIsNone(server.process.poll())
                    for client in clients:
                        client.close()
                    wait_for(lambda: server.ask("GET", save_path("small")).status == 200, "memory again")

    def press(self, server, clients, save, rounds=3):
        """Writes, updates and reads of all clients at once; counts the answers."""
        statuses = collections.Counter()
        for _ in range(rounds):
            for method, path, body in (("PUT", "", save), ("POST", "/update", b'{"a":1}'), ("GET", "", None)):
                for number, client in enumerate(clients):
                    client.send(request(method, save_path(f"player{number}") + path, body))
                for number, client in enumerate(clients):
                    answer = client.read()
                    statuses[answer.status] += 1
                    if answer.headers.get("connection") == "close":
                        client.close()
                        clients[number] = server.client()
        return statuses

    def test_a_failed_allocation_is_a_503(self):
        with Server("--request-timeout", "3000", runner=self.ONE_HEAP) as server:
            server.ask("PUT", save_path("small"), b"{}")
            clients = [server.client() for _ in range(self.CLIENTS)]
            status = pathlib.Path(f"/proc/{server.process.pid}/statm").read_text(encoding="ascii")
            limit = int(status.split()[0]) * 4 * KIB + 24 * MIB
            resource.prlimit(server.process.pid, resource.RLIMIT_AS,
                             (limit, resource.RLIM_INFINITY))
            statuses = self.press(server, clients, self.SAVE)
            self.assertLessEqual(set(statuses), {200, 404, 503})
            self.assertGreater(statuses[503], 0)
            self.assertIsNone(server.process.poll())
            for client in clients:
                client.close()
            wait_for(lambda: server.ask("GET", save_path("small")).status == 200, "memory again")


if __name__ == "__main__":
    unittest.main()
