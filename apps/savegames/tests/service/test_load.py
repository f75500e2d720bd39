"""Many clients at once: wrk, slow heads, more clients than descriptors."""

import re
import resource
import selectors
import socket
import subprocess
import unittest

from service import PATIENCE, Response, Server, request, save_path, wait_for


class Wrk(unittest.TestCase):
    def drive(self, server, path, seconds=3):
        shown = subprocess.run(["wrk", "-t1", "-c32", f"-d{seconds}s", server.url + path],
                               check=True, capture_output=True, text=True, timeout=PATIENCE).stdout
        self.assertNotIn("Socket errors", shown)
        self.assertNotIn("Non-2xx", shown)
        return float(re.search(r"Requests/sec:\s*([\d.]+)", shown)[1])

    def test_gets_without_errors(self):
        with Server() as server:
            server.ask("PUT", save_path("anna"), b'{"gold": 1}')
            rate = self.drive(server, save_path("anna"))
            print(f"GET: {rate:.0f} requests/s", end=" ", flush=True)
            stats = server.stats()
            self.assertEqual(set(stats["requests"]["get"]), {"200"})
            self.assertEqual(stats["connections"]["failures"], 0)

    def test_more_clients_than_places(self):
        with Server("--max-connections", "10") as server:
            server.ask("PUT", save_path("anna"), b"{}")
            self.drive(server, save_path("anna"), 1)


class SlowHeads(unittest.TestCase):
    """More clients than places, which begin a request, never end it, and connect again."""

    PLACES = 40
    SLOW = 100

    def begin(self, server):
        client = server.client()
        client.send(b"GET /healthz HTTP/1.1\r\nHost: ")
        return client

    def test_a_good_client_is_served(self):
        # The time-outs are long, so only newcomers end slow heads.
        with Server("--max-connections", str(self.PLACES), "--read-timeout", "3000",
                    "--idle-timeout", "3000") as server:
            server.ask("PUT", save_path("anna"), b"{}")
            slow = [self.begin(server) for _ in range(self.SLOW)]
            again = []
            with server.client() as good:
                good.send(request("GET", save_path("anna")))
                with selectors.DefaultSelector() as selector:
                    for client in (good, *slow):
                        selector.register(client.socket, selectors.EVENT_READ, client)
                    served = False
                    while not served:
                        ready = selector.select(PATIENCE)
                        self.assertTrue(ready, f"{len(again)} slow heads went, and then none")
                        for key, _ in ready:
                            if key.data is good:
                                served = True
                                continue
                            selector.unregister(key.data.socket)
                            self.assertTrue(key.data.ended())
                            again.append(self.begin(server))
                self.assertEqual(good.read().status, 200)
            # It waits behind the clients before it, but before clients that connect again.
            self.assertGreater(len(again), self.SLOW - self.PLACES)
            self.assertLessEqual(len(again), self.SLOW + 1)
            for client in (*slow, *again):
                client.close()

    def test_an_address_has_its_share(self):
        with Server("--connections-per-address", "3", "--read-timeout", "3000") as server:
            clients = [server.client() for _ in range(3)]
            for client in clients:
                self.assertEqual(client.ask("GET", "/healthz").status, 200)
            answered = 0
            attempts = 0
            while not answered:  # until an idle connection has made room
                attempts += 1
                with server.client() as fourth:
                    fourth.send(request("GET", "/stats"))
                    answered = 0 if fourth.ended() else fourth.read().json()
            self.assertEqual(answered["connections"]["evicted"], 1)
            self.assertEqual(answered["connections"]["refused"], attempts - 1)
            for client in clients:
                client.close()


class FewDescriptors(unittest.TestCase):
    """`ulimit -n 64`, and 200 clients at once, each with one request."""

    CLIENTS = 200

    def crowd(self, server, before_asking=None):
        """All clients get their answers. Each asks as soon as it has connected, or after
        `before_asking`, which runs when all have connected."""
        question = request("GET", save_path("anna"), None, ["Connection: close"])
        selector = selectors.DefaultSelector()
        for _ in range(self.CLIENTS):
            client = server.client()
            selector.register(client.socket, selectors.EVENT_READ, client)
            if not before_asking:
                client.send(question)
        if before_asking:
            before_asking()
            for key in selector.get_map().values():
                key.data.send(question)
        statuses = []
        while len(statuses) != self.CLIENTS:
            ready = selector.select(PATIENCE)
            self.assertTrue(ready, f"{len(statuses)} answers, and then none")
            for key, _ in ready:
                answer: Response = key.data.read()
                statuses.append(answer.status)
                selector.unregister(key.data.socket)
                key.data.close()
        selector.close()
        self.assertEqual(statuses, [200] * self.CLIENTS)

    def test_limit_is_known(self):
        with Server(descriptors=64) as server:
            server.ask("PUT", save_path("anna"), b"{}")
            for _ in range(3):
                self.crowd(server)
            connections = server.stats()["connections"]
        self.assertLessEqual(connections["limit"], 64)
        self.assertEqual(connections["accept_starved"], 0)

    def test_more_connections_than_descriptors(self):
        with Server("--max-connections", "500", descriptors=64) as server:
            server.ask("PUT", save_path("anna"), b"{}")
            self.crowd(server)
            connections = server.stats()["connections"]
            self.assertIn("warning: 32 connections at once instead of 500", server.complaints())
        self.assertEqual(connections["limit"], 32)
        self.assertEqual(connections["accept_starved"], 0)

    def test_limit_is_hit(self):
        # The limit is set when the service has run for a while: the sanitizer of undefined
        # behaviour needs a descriptor for each kind of object that it meets first.
        with Server("--max-connections", "10000") as server, server.client() as observer:
            server.ask("PUT", save_path("anna"), b"{}")
            self.crowd(server)

            def starved():
                return observer.ask("GET", "/stats").json()["connections"]["accept_starved"]

            self.assertEqual(starved(), 0)
            resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (64, 64))
            for _ in range(3):
                before = starved()
                self.crowd(server, lambda: wait_for(lambda: starved() > before, "a starved accept"))
            self.assertEqual(server.ask("GET", save_path("anna")).status, 200)

    def test_idle_clients_do_not_keep_others_out(self):
        with Server(descriptors=64) as server:
            idle = [server.client() for _ in range(self.CLIENTS)]
            self.assertEqual(server.ask("GET", "/healthz").status, 200)
            for client in idle:
                client.close()
            self.assertEqual(server.ask("GET", "/healthz").status, 200)


if __name__ == "__main__":
    unittest.main()
