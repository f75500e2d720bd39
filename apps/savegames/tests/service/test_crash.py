"""Kills the server under load, many times. No acknowledged write may be lost."""

import os
import pathlib
import random
import tempfile
import threading
import unittest

from service import Server, request, save_path

ROUNDS = int(os.environ.get("SAVEGAMES_CRASH_ROUNDS", "8"))
WRITERS = 8
PLAYERS_EACH = 3
ACKNOWLEDGED_MIN = 100  # in each round, before the kill


class Ledger:
    """The save of one player, which only this writer writes, and its expected content."""

    def __init__(self):
        self.version = 0  # the latest acknowledged version
        self.checksum = None
        self.body = None
        self.pending = None  # the save that was sent, but not acknowledged

    def acknowledge(self, answer):
        assert answer.version() == self.version + 1, (answer.version(), self.version)
        self.version = answer.version()
        self.checksum = answer.headers["save-checksum"]
        self.body = self.pending
        self.pending = None

    def check(self, answer, test):
        """Checks after a crash: the save is the acknowledged save, or the save under way."""
        if self.version == 0 and answer.status == 404:
            self.pending = None
            return
        test.assertEqual(answer.status, 200)
        if answer.version() == self.version:
            test.assertEqual(answer.headers["save-checksum"], self.checksum)
            test.assertEqual(answer.body, self.body)
        else:
            test.assertEqual(answer.version(), self.version + 1)
            test.assertEqual(answer.body, self.pending)
            self.acknowledge(answer)
        self.pending = None


class Crash(unittest.TestCase):
    def setUp(self):
        self.failures = []

    def write(self, server, players, seed, enough):
        chance = random.Random(seed)
        try:
            with server.client() as client:
                while True:
                    player = chance.choice(list(players))
                    ledger = players[player]
                    filler = "x" * chance.randrange(10, 20_000)
                    ledger.pending = f'{{"n":{chance.random()},"s":"{filler}"}}'.encode()
                    answer = client.ask("PUT", save_path(player), ledger.pending)
                    self.assertEqual(answer.status, 200, answer.body)
                    ledger.acknowledge(answer)
                    enough.release()
        except (EOFError, ConnectionError):
            pass  # the server was killed
        except Exception as failure:  # a failed assertion: the test must report it
            self.failures.append(failure)

    def test_nothing_acknowledged_is_lost(self):
        groups = [{f"p{w}-{i}": Ledger() for i in range(PLAYERS_EACH)} for w in range(WRITERS)]
        with tempfile.TemporaryDirectory() as folder:
            database = pathlib.Path(folder) / "saves.db"
            for round_number in range(ROUNDS + 1):
                with Server(database=database) as server:
                    with server.client() as client:
                        for players in groups:
                            for player, ledger in players.items():
                                client.send(request("GET", save_path(player)))
                                ledger.check(client.read(), self)
                    if round_number == ROUNDS:
                        break
                    enough = threading.Semaphore(0)
                    writers = [threading.Thread(target=self.write,
                                                args=(server, players,
                                                      round_number * WRITERS + i, enough))
                               for i, players in enumerate(groups)]
                    for writer in writers:
                        writer.start()
                    for _ in range(ACKNOWLEDGED_MIN):
                        self.assertTrue(enough.acquire(timeout=60), "the writers are stuck")
                    server.kill()
                    for writer in writers:
                        writer.join()
                    self.assertEqual(self.failures, [])
        versions = sum(each.version for players in groups for each in players.values())
        print(f"{ROUNDS} kills, {versions} writes", end=" ", flush=True)
        self.assertGreaterEqual(versions, ROUNDS * ACKNOWLEDGED_MIN)


if __name__ == "__main__":
    unittest.main()
