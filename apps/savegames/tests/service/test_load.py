"""Many clients at once: wrk, more clients than descriptors."""

import re
import resource
import selectors
import socket
import subprocess
import unittest

from service import PATIENCE, Client, Response, Server, request, save_path


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


class FewDescriptors(unittest.TestCase):
    """`ulimit -n 64`, and 200 clients at once, each of whom wants one answer."""

    CLIENTS = 200

    def crowd(self, server):
        """Returns the answers' statuses."""
        selector = selectors.DefaultSelector()
        for _ in range(self.CLIENTS):
            client = Client.__new__(Client)
            client.buffer = b""
            client.socket = socket.create_connection(("127.0.0.1", server.port), PATIENCE)
            client.send(request("GET", save_path("anna"), None, ["Connection: close"]))
            selector.register(client.socket, selectors.EVENT_READ, client)
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
        return statuses

    def crowds(self, server):
        """Three crowds one after the other. Returns what the service says of its connections after it."""
        for _ in range(3):
            self.assertEqual(self.crowd(server), [200] * self.CLIENTS)
        self.assertEqual(server.ask("GET", save_path("anna")).status, 200)
        return server.stats()["connections"]

    def test_limit_is_known(self):
        with Server(descriptors=64) as server:
            server.ask("PUT", save_path("anna"), b"{}")
            connections = self.crowds(server)
        self.assertLessEqual(connections["limit"], 64)
        self.assertEqual(connections["accept_starved"], 0)

    def test_limit_is_hit(self):
        # The limit comes when the service has run for a while: the sanitizer of undefined behaviour needs
        # a descriptor itself for each kind of object that it sees for the first time.
        with Server("--max-connections", "10000") as server:
            server.ask("PUT", save_path("anna"), b"{}")
            self.crowds(server)
            resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (64, 64))
            self.assertGreater(self.crowds(server)["accept_starved"], 0)

    def test_idle_clients_do_not_keep_others_out(self):
        with Server(descriptors=64) as server:
            idle = [server.client() for _ in range(self.CLIENTS)]
            self.assertEqual(server.ask("GET", "/healthz").status, 200)
            for client in idle:
                client.close()
            self.assertEqual(server.ask("GET", "/healthz").status, 200)


if __name__ == "__main__":
    unittest.main()
