"""Every route, with every scheduler."""

import subprocess
import threading
import unittest
from concurrent.futures import ThreadPoolExecutor

from service import PATIENT, Server, ServiceTest, save_path


class Routes:
    """Tests that each class below runs with its scheduler."""

    def test_life_of_a_save(self):
        path = self.player()
        self.assert_error(self.ask("GET", path), 404, "not_found")
        self.assert_error(self.ask("POST", path + "/update", b"{}"), 404, "not_found")
        self.assert_error(self.ask("DELETE", path), 404, "not_found")

        put = self.ask("PUT", path, b'{"gold": 1, "name": "anna"}')
        self.assertEqual(put.status, 200)
        self.assertEqual(put.json()["version"], 1)
        got = self.ask("GET", path)
        self.assertEqual((got.status, got.body), (200, b'{"gold": 1, "name": "anna"}'))
        self.assertEqual(got.headers["content-type"], "application/json")
        self.assertEqual(got.headers["save-checksum"], put.json()["checksum"])
        self.assertEqual(got.version(), 1)

        patched = self.ask("POST", path + "/update", b'{"gold": 2, "name": null, "new": [1]}')
        self.assertEqual(patched.version(), 2)
        got = self.ask("GET", path)
        self.assertEqual((got.json(), got.version()), ({"gold": 2, "new": [1]}, 2))

        erased = self.ask("DELETE", path)
        self.assertEqual((erased.status, erased.body), (204, b""))
        self.assertNotIn("content-length", erased.headers)
        self.assert_error(self.ask("GET", path), 404, "not_found")
        self.assertEqual(self.ask("PUT", path, b"{}").version(), 4)  # no number is used twice

    def test_games_are_separate(self):
        self.ask("PUT", save_path("same", "one"), b"1")
        self.ask("PUT", save_path("same", "two"), b"2")
        self.assertEqual(self.ask("GET", save_path("same", "one")).body, b"1")
        self.assertEqual(self.ask("GET", save_path("same", "two")).body, b"2")

    def test_bad_ids(self):
        for player in ("a%2Fb", "%2e%2e", "a%00", "x" * 65, "a%20b", "%C3%A9"):
            with self.subTest(player):
                self.assert_error(self.ask("GET", save_path(player)), 400, "bad_request")
                self.assert_error(self.ask("PUT", save_path(player), b"{}"), 400, "bad_request")
        self.assert_error(self.ask("GET", save_path("anna", "ga%21me")), 400, "bad_request")

    def test_ids_are_decoded(self):
        self.assertEqual(self.ask("PUT", save_path("d%65coded", "ch%65ss"), b"[]").status, 200)
        self.assertEqual(self.ask("GET", save_path("decoded") + "?query=1").body, b"[]")
        self.assert_error(self.ask("GET", save_path("a%zz")), 400, "bad_request")
        self.assert_error(self.ask("GET", save_path("a%4")), 400, "bad_request")

    def test_bad_json(self):
        path = self.player()
        self.assertEqual(self.ask("PUT", path, b"{}").status, 200)
        for body in (b"", b"{", b"{]", b"nul", b'"\xff"', b"[" * 1000 + b"]" * 1000):
            with self.subTest(body[:10]):
                self.assert_error(self.ask("PUT", path, body), 400, "bad_request")
                self.assert_error(self.ask("POST", path + "/update", body), 400, "bad_request")
        self.assertEqual(self.ask("GET", path).version(), 1)

    def test_unknown_paths(self):
        for path in ("/", "/games", "/games/a", "/games/a/saves", "/games/a/saves/", "/healthz/",
                     "/games/a/saves/b/", "/games/a/saves/b/other", "/games/a/other/b", "//",
                     "/games/a/saves/b/update/more"):
            with self.subTest(path):
                self.assert_error(self.ask("GET", path), 404, "not_found")
        self.assert_error(self.ask("OPTIONS", "*"), 404, "not_found")
        self.assert_error(self.ask("GET", "*"), 400, "bad_request")

    def test_wrong_methods(self):
        for method, path, allowed in (("POST", save_path("a"), "GET, PUT, DELETE"),
                                      ("HEAD", save_path("a"), "GET, PUT, DELETE"),
                                      ("GET", save_path("a") + "/update", "POST"),
                                      ("PUT", "/healthz", "GET, HEAD"),
                                      ("BREW", "/stats", "GET")):
            with self.subTest(method + path):
                answer = self.ask(method, path)
                self.assertEqual(answer.status, 405)
                self.assertEqual(answer.headers["allow"], allowed)

    def test_health_and_statistics(self):
        self.assertEqual(self.ask("GET", "/healthz").json(), {"status": "ok"})
        self.ask("GET", save_path("nobody"))
        stats = self.ask("GET", "/stats").json()
        self.assertEqual(stats["scheduler"], self.scheduler)
        self.assertGreaterEqual(stats["requests"]["get"]["404"], 1)
        self.assertGreater(stats["latency_ms"]["get"]["p50"], 0)
        self.assertGreater(stats["process"]["rss_bytes"], 0)
        self.assertGreater(stats["process"]["cpu_s"], 0)
        self.assertGreaterEqual(stats["connections"]["open"], 1)
        self.assertEqual(stats["job_workers"], 0 if self.scheduler == "fairlead" else 4)
        self.assertEqual(len(stats["workers"]), 4 if self.scheduler == "fairlead" else 2)

    def test_large_save(self):
        body = b'["' + b"x" * 3_000_000 + b'"]'
        self.assertEqual(self.ask("PUT", self.player(), body).status, 200)
        self.assertEqual(self.ask("GET", self.player()).body, body)

    def test_concurrent_updates_are_all_applied(self):
        path = self.player()
        self.ask("PUT", path, b"{}")
        versions = []
        count = 5 if self.scheduler == "updater" else 20

        def update(worker):
            with self.server.client() as client:
                for i in range(count):
                    patch = f'{{"{worker}-{i}": {i}}}'.encode()
                    answer = client.ask("POST", path + "/update", patch)
                    while answer.status == 409:  # the profile was locked: not applied
                        answer = client.ask("POST", path + "/update", patch)
                    versions.append(answer.version())

        threads = [threading.Thread(target=update, args=(n,)) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(sorted(versions), list(range(2, 4 * count + 2)))
        saved = self.ask("GET", path).json()
        self.assertEqual(saved, {f"{n}-{i}": i for n in range(4) for i in range(count)})

    def test_curl(self):
        url = self.server.url + self.player()

        def curl(*arguments):
            shown = subprocess.run(["curl", "-sS", "-m", "30", "-w", "|%{http_code}", *arguments],
                                   check=True, capture_output=True)
            return shown.stdout.decode().rsplit("|", 1)

        self.assertEqual(curl("-X", "PUT", "--data-binary", '{"a":1}', url)[1], "200")
        self.assertEqual(curl("-d", '{"b":2}', url + "/update")[1], "200")
        self.assertEqual(curl(url), ['{"a":1,"b":2}', "200"])
        self.assertEqual(curl("-X", "DELETE", url), ["", "204"])
        self.assertEqual(curl(url)[1], "404")
        self.assertEqual(curl(self.server.url + "/healthz")[1], "200")
        self.assertEqual(curl("-I", self.server.url + "/healthz")[1], "200")
        self.assertEqual(curl(self.server.url + "/stats")[1], "200")


class Fairlead(Routes, ServiceTest):
    scheduler = "fairlead"
    options = ("--scheduler", "fairlead", *PATIENT)


class Updater(Routes, ServiceTest):
    scheduler = "updater"
    options = ("--scheduler", "updater", *PATIENT)


class Trivial(Routes, ServiceTest):
    scheduler = "trivial"
    options = ("--scheduler", "trivial", *PATIENT)


class Deadlines(unittest.TestCase):
    """Each operation of the store takes 1 s; each request has 2.5 s."""

    def check(self, scheduler):
        with Server("--scheduler", scheduler, "--store-latency", "1s",
                    "--request-timeout", "2.5") as server:
            # Lock and upload fit. The answer does not wait for the unlock, which does not fit.
            self.assertEqual(server.ask("PUT", save_path("anna"), b"{}").status, 200)
            # The update that has the lock does not fit: lock, download, upload. The other update
            # never gets the lock.
            clients = [server.client(), server.client()]
            update = (b"POST /games/chess/saves/anna/update HTTP/1.1\r\nHost: localhost\r\n"
                      b"Content-Length: 7\r\n\r\n" + b'{"b":1}')
            for client in clients:
                client.send(update)
            answers = [client.read() for client in clients]
            self.assertEqual(sorted(each.status for each in answers), [409, 504])
            for each in answers:
                self.assertEqual(each.headers.get("retry-after"),
                                 "1" if each.status == 409 else None)
                self.assertNotIn("connection", each.headers)  # the client may send more
            for client in clients:
                self.assertEqual(client.ask("GET", "/healthz").status, 200)
                client.close()
            # The last upload ends during a read; after that no request has the lock.
            self.assertEqual(server.ask("GET", save_path("anna")).status, 200)
            self.assertEqual(server.ask("PUT", save_path("anna"), b"[]").status, 200)

    def test_every_scheduler(self):
        with ThreadPoolExecutor() as pool:  # at the same time: they mostly wait
            list(pool.map(self.check, ("fairlead", "updater", "trivial")))


if __name__ == "__main__":
    unittest.main()
