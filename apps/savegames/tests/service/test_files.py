"""The files of the database: one service alone has them, and detects changes by other programs."""

import concurrent.futures
import contextlib
import os
import pathlib
import random
import resource
import sqlite3
import subprocess
import tempfile
import threading
import unittest

from service import BINARY, PATIENCE, Server, save_path, wait_for


# Large, even when compressed, so that a write uses the log to its end.
LARGE = b'"%s"' % random.Random(1).randbytes(200_000).hex().encode()


class Sharing(unittest.TestCase):
    def refused(self, database, words):
        ended = subprocess.run([BINARY, "--listen", "127.0.0.1:0", "--db", str(database)],
                               capture_output=True, text=True, timeout=PATIENCE, check=False)
        self.assertNotEqual(ended.returncode, 0)
        self.assertEqual(ended.stdout, "")
        self.assertIn(words, ended.stderr)

    def test_one_service_by_whatever_name(self):
        with Server() as server:
            database = server.database
            self.assertEqual(server.ask("PUT", save_path("anna"), b"{}").status, 200)
            for each in database.parent.glob("saves.db.*"):
                each.unlink()  # a lock that is a file would be gone
            self.refused(database, "another server uses")
            soft = database.with_name("soft.db")
            soft.symlink_to(database)
            self.refused(soft, "another server uses")
            (database.parent / "folder").symlink_to(database.parent)
            self.refused(database.parent / "folder" / "saves.db", "another server uses")

    def test_a_second_name_is_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            database = pathlib.Path(folder) / "saves.db"
            with Server(database=database) as server:
                self.assertEqual(server.ask("PUT", save_path("anna"), b"{}").status, 200)
            hard = database.with_name("hard.db")
            hard.hardlink_to(database)
            self.refused(database, "hard link")
            self.refused(hard, "hard link")
            hard.unlink()
            with Server(database=database) as server:
                self.assertEqual(server.ask("GET", save_path("anna")).status, 200)

    def test_a_link_that_is_not_used_twice(self):
        with tempfile.TemporaryDirectory() as folder:
            database = pathlib.Path(folder) / "saves.db"
            soft = pathlib.Path(folder) / "soft.db"
            soft.symlink_to(database)
            with Server(database=soft) as server:
                self.assertEqual(server.ask("PUT", save_path("anna"), b"{}").status, 200)
                self.refused(database, "another server uses")
            with Server(database=database) as server:
                self.assertEqual(server.ask("GET", save_path("anna")).status, 200)


    def test_other_programs_are_kept_out(self):
        with Server() as server:
            self.assertEqual(server.ask("PUT", save_path("anna"), b"1").status, 200)
            with contextlib.closing(sqlite3.connect(server.database, timeout=0)) as tool:
                for query in ("SELECT count(*) FROM saves", "DELETE FROM saves",
                              "PRAGMA wal_checkpoint(TRUNCATE)"):
                    with self.assertRaisesRegex(sqlite3.OperationalError, "locked"):
                        tool.execute(query)
            self.assertEqual(server.ask("GET", "/readyz").status, 200)
            self.assertEqual(server.ask("PUT", save_path("anna"), b"2").version(), 2)


class Ready(unittest.TestCase):
    def test_without_tokens_and_with(self):
        with tempfile.NamedTemporaryFile("w") as tokens:
            tokens.write("chess 0123456789abcdef\n")
            tokens.flush()
            for options in ((), ("--tokens", tokens.name)):
                with Server(*options) as server:
                    for path in ("/readyz", "/healthz"):
                        self.assertEqual(server.ask("GET", path).json(), {"status": "ok"})
                        self.assertEqual(server.ask("HEAD", path).status, 200)
                        self.assertEqual(server.ask("POST", path).status, 405)


class Lost(unittest.TestCase):
    """Acknowledged writes are in the files that the next start opens."""

    def check(self, damage, *, heals=None):
        with tempfile.TemporaryDirectory() as folder:
            database = pathlib.Path(folder) / "saves.db"
            log = pathlib.Path(folder) / "saves.db-wal"
            with Server(database=database) as server:
                self.assertEqual(server.ask("PUT", save_path("anna"), LARGE).status, 200)
                self.assertEqual(server.ask("GET", "/readyz").status, 200)
                damage(database, log)
                answer = server.ask("GET", "/readyz")
                self.assertEqual((answer.status, answer.headers["retry-after"]), (503, "1"))
                self.assertEqual(answer.json()["error"], "store_failed")
                self.assertNotIn(folder, answer.json()["message"])
                self.assertEqual(server.ask("GET", "/healthz").status, 200)  # the process lives
                for method, path, body in (("PUT", save_path("bert"), b"1"),
                                           ("PUT", save_path("anna"), b"2"),
                                           ("POST", save_path("anna") + "/update", b'{"a":1}'),
                                           ("DELETE", save_path("anna"), None)):
                    self.assertEqual(server.ask(method, path, body).status, 503, (method, path))
                if heals:
                    heals(database, log)
                    wait_for(lambda: server.ask("GET", "/readyz").status == 200, "readiness")
                    answer = server.ask("PUT", save_path("carl"), b"3")
                    self.assertEqual(answer.status, 200)
            if heals:
                with Server(database=database) as server:
                    self.assertEqual(server.ask("GET", save_path("carl")).body, b"3")

    def test_deleted(self):
        for number in range(2):
            self.check(lambda *files, number=number: files[number].unlink())

    def test_replaced(self):
        for number in range(2):
            def replace(*files, number=number):
                other = files[number].with_name("other")
                other.write_bytes(files[number].read_bytes())
                other.rename(files[number])

            self.check(replace)

    def test_moved_away_and_back(self):
        for number in range(2):
            self.check(lambda *files, number=number:
                       files[number].rename(files[number].with_name("away")),
                       heals=lambda *files, number=number:
                       files[number].with_name("away").rename(files[number]))

    def test_a_second_name(self):
        for number in range(2):
            self.check(lambda *files, number=number:
                       files[number].with_name("hard").hardlink_to(files[number]),
                       heals=lambda *files, number=number: files[number].with_name("hard").unlink())

    def test_cut(self):
        for number in range(2):
            for left in (0, 0.5):
                def cut(*files, number=number, left=left):
                    os.truncate(files[number], int(files[number].stat().st_size * left))

                self.check(cut)

    def test_cut_under_load(self):
        """Cuts also in a transaction: no request that begins after the cut is acknowledged."""
        writers = 6

        def write(server, number, cut, enough):
            before, after = [], []
            with server.client() as client:
                while len(after) != 10:
                    if len(before) == 60:
                        cut.wait()  # before the log begins anew, which would make its end unused
                    to = after if cut.is_set() else before
                    size = (10, 3_000, 30_000)[len(before) % 3]
                    body = b'"%s"' % random.Random(len(before)).randbytes(size).hex().encode()
                    to.append(client.ask("PUT", save_path(f"player{number}"), body).status)
                    if len(before) == 10:
                        enough.release()
            return set(before[:10]), set(after)

        for left in (0, 0.5, 0.9):
            with self.subTest(left), Server() as server:
                cut, enough = threading.Event(), threading.Semaphore(0)
                with concurrent.futures.ThreadPoolExecutor(writers) as pool:
                    written = [pool.submit(write, server, number, cut, enough)
                               for number in range(writers)]
                    for _ in written:
                        self.assertTrue(enough.acquire(timeout=PATIENCE))
                    log = server.database.with_name("saves.db-wal")
                    os.truncate(log, int(log.stat().st_size * left))
                    cut.set()
                    for each in written:
                        self.assertEqual(each.result(), ({200}, {503}))

    def test_index_of_the_log(self):
        """Files besides the database and its log are not needed, and cutting them does no harm."""
        with Server() as server:
            self.assertEqual(server.ask("PUT", save_path("anna"), b"1").status, 200)
            for each in server.database.parent.glob("saves.db-*"):
                if not each.name.endswith("-wal"):
                    os.truncate(each, 0)
            self.assertEqual(server.ask("GET", save_path("anna")).status, 200)
            self.assertEqual(server.ask("PUT", save_path("anna"), b"2").version(), 2)


class Full(unittest.TestCase):
    def test_full_disk_and_room_again(self):
        with Server() as server:
            self.assertEqual(server.ask("PUT", save_path("anna"), b"1").status, 200)
            _, hard = resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE)
            resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (4096, hard))  # < a page
            self.assertEqual(server.ask("PUT", save_path("bert"), b"1").status, 503)
            for _ in range(3):  # each starts a write, which fails
                self.assertEqual(server.ask("GET", "/readyz").status, 503)
            self.assertEqual(server.ask("GET", "/healthz").status, 200)
            self.assertEqual(server.ask("GET", save_path("anna")).body, b"1")
            resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (hard, hard))
            wait_for(lambda: server.ask("GET", "/readyz").status == 200, "readiness")
            self.assertEqual(server.ask("PUT", save_path("bert"), b"1").version(), 1)


if __name__ == "__main__":
    unittest.main()
