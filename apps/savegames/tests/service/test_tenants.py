"""Games as tenants: their limits, their statistics, and how they are made and dropped."""

import pathlib
import signal
import tempfile
import unittest

from service import Server, ServiceTest, request, save_path, wait_for


def settings(text):
    file = tempfile.NamedTemporaryFile("w", prefix="savegames-games-")
    file.write(text)
    file.flush()
    return file


def games(server):
    """The statistics of each game."""
    return {each["game"]: each for each in server.stats()["games"]["most"]}


class Games(ServiceTest):
    def test_a_path_without_a_game_is_of_the_default_one(self):
        player = self.id().rsplit(".", 1)[1]
        self.assertEqual(self.ask("PUT", f"/saves/{player}", b'{"a":1}').status, 200)
        self.assertEqual(self.ask("POST", f"/saves/{player}/update", b'{"b":2}').version(), 2)
        self.assertEqual(self.ask("GET", save_path(player, "default")).json(), {"a": 1, "b": 2})
        self.assertEqual(self.ask("DELETE", f"/saves/{player}").status, 204)
        self.assertIn("default", games(self.server))

    def test_bad_games_are_refused_and_not_made(self):
        made = self.server.stats()["games"]["made"]
        for game in ("ga%21me", "", "..", "x" * 65, "a%20b"):
            with self.subTest(game):
                answer = self.ask("GET", save_path("anna", game))
                self.assert_error(answer, 400, "bad_request")
                self.assertIn("game: an id", answer.json()["message"])
                self.assert_error(self.ask("PUT", save_path("anna", game), b"{}"), 400)
        self.assertEqual(self.server.stats()["games"]["made"], made)

    def test_a_connection_may_change_its_game(self):
        with self.server.client() as client:
            for game in ("one", "two", "one", "one"):
                self.assertEqual(client.ask("PUT", save_path("anna", game), b"{}").status, 200)
            told = games(self.server)
            self.assertEqual([told[game]["connections"] for game in ("one", "two")], [1, 0])
            self.assertEqual([told[game]["requests"]["admitted"] for game in ("one", "two")],
                             [3, 1])
            for game in ("one", "two"):
                self.assertGreater(told[game]["steps"], 0)
                self.assertGreater(told[game]["used_s"], 0)
        wait_for(lambda: games(self.server)["one"]["connections"] == 0, "the connection to go")

    def test_statistics_are_bounded(self):
        for number in range(30):
            self.assert_error(self.ask("GET", save_path("nobody", f"game-{number}")), 404)
        told = self.server.stats()["games"]
        self.assertGreaterEqual(told["known"], 30)
        self.assertEqual(len(told["most"]), 20)
        admitted = sum(each["requests"]["admitted"]
                       for each in (*told["most"], told["others"], told["gone"]))
        self.assertGreaterEqual(admitted, 30)


class Limits(unittest.TestCase):
    def test_a_game_at_its_limit_does_not_keep_others_out(self):
        # The requests under way wait for the store until the server is killed.
        with settings("noisy max_requests=2") as file, \
                Server("--games", file.name, "--store-latency", "60s",
                       "--request-timeout", "3000") as server:
            clients = [server.client() for _ in range(4)]
            for client, game in zip(clients, ("noisy", "noisy", "quiet", "quiet")):
                client.send(request("GET", save_path("anna", game)))

            def under_way(game):
                return games(server).get(game, {"requests": {"under_way": 0}})["requests"]["under_way"]

            wait_for(lambda: under_way("noisy") == 2, "the requests of one game")
            wait_for(lambda: under_way("quiet") == 2, "the requests of the other")
            answer = server.ask("PUT", save_path("bert", "noisy"), b"{}")
            self.assertEqual((answer.status, answer.json()["error"]), (429, "over_share"))
            self.assertEqual(answer.headers["retry-after"], "1")
            self.assertEqual(games(server)["noisy"]["requests"]["refused"], 1)
            self.assertEqual(games(server)["quiet"]["requests"]["refused"], 0)
            server.kill()
            for client in clients:
                client.close()

    def test_settings_are_read_again(self):
        with settings("* weight=200\n") as file, Server("--games", file.name) as server:
            server.ask("GET", save_path("anna"))
            self.assertEqual(games(server)["chess"]["limits"],
                             {"weight": 200, "max_concurrency": 0, "max_requests": 0})
            pathlib.Path(file.name).write_text("chess weight=7 max_concurrency=1\n")
            server.process.send_signal(signal.SIGHUP)
            wait_for(lambda: games(server)["chess"]["limits"]["weight"] == 7, "the other weight")
            pathlib.Path(file.name).write_text("chess weight=0\n")
            server.process.send_signal(signal.SIGHUP)
            said = pathlib.Path(server.folder.name) / "stderr"
            wait_for(lambda: "games unchanged" in said.read_text(), "the refusal")
            self.assertEqual(games(server)["chess"]["limits"]["weight"], 7)
            self.assertEqual(server.ask("PUT", save_path("anna"), b"{}").status, 200)

    def test_idle_games_are_dropped(self):
        with Server("--game-idle", "0.1") as server:
            with server.client() as client:
                client.ask("GET", save_path("anna", "kept"))
                server.ask("GET", save_path("anna", "left"))
                wait_for(lambda: server.stats()["games"]["dropped"] == 1, "one to go")
                self.assertEqual(list(games(server)), ["kept"])
            wait_for(lambda: server.stats()["games"]["known"] == 0, "all to go")
            told = server.stats()["games"]
            self.assertEqual(told["gone"]["requests"]["admitted"], 2)
            self.assertGreater(told["gone"]["steps"], 0)

    def test_without_groups(self):
        for options in (("--no-groups",), ("--scheduler", "trivial"), ("--scheduler", "updater")):
            with Server(*options) as server:
                self.assertEqual(server.ask("PUT", save_path("anna"), b"{}").status, 200)
                told = server.stats()["games"]
                self.assertFalse(told["groups"])
                self.assertEqual(told["most"][0]["requests"]["admitted"], 1)
                self.assertNotIn("used_s", told["most"][0])


if __name__ == "__main__":
    unittest.main()
