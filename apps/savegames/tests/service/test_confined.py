"""The service as a container runs it: without io_uring, and where only its data can be written."""

import errno
import pathlib
import subprocess
import sys
import tempfile
import unittest

import confined
from service import Server, save_path

# Calls io_uring_setup, and writes into the folders that it is given. Prints the errors.
PROBE = """
import ctypes, errno, pathlib, sys
libc = ctypes.CDLL(None, use_errno=True)
parameters = ctypes.create_string_buffer(120)
made = libc.syscall(ctypes.c_long(425), ctypes.c_uint(1), parameters)
print("ring", errno.errorcode.get(ctypes.get_errno(), 0) if made < 0 else "made")
for folder in sys.argv[1:]:
    try:
        (pathlib.Path(folder) / "probe").write_text("x")
        print("written")
    except OSError as error:
        print(errno.errorcode[error.errno])
"""


class Confined(unittest.TestCase):
    def setUp(self):
        # The first folder may be written, the second may not.
        kept = tempfile.TemporaryDirectory(prefix="savegames-confined-")
        self.addCleanup(kept.cleanup)
        self.data, self.other = (pathlib.Path(kept.name) / name for name in ("data", "other"))
        self.data.mkdir()
        self.other.mkdir()

    def possible(self, **how):
        reason = confined.reason_against(**how)
        if reason:
            self.skipTest(reason)
        return how

    def probe(self, **how):
        return subprocess.run(confined.command_for(sys.executable, "-c", PROBE, self.data,
                                                   self.other, **how),
                              capture_output=True, text=True, check=True).stdout.split("\n")[:-1]

    def test_the_ring_is_refused(self):
        for error in (errno.EPERM, errno.ENOSYS):
            with self.subTest(error=error):
                seen = self.probe(**self.possible(io_uring=error))
                self.assertEqual(seen, [f"ring {errno.errorcode[error]}", "written", "written"])

    def test_one_folder_alone_can_be_written(self):
        seen = self.probe(**self.possible(io_uring=errno.EPERM, writable=[self.data]))
        self.assertEqual(seen, ["ring EPERM", "written", "EROFS"])
        self.assertEqual(sorted(self.data.iterdir()), [self.data / "probe"])

    def serve(self, how):
        database = self.data / "saves.db"
        with Server(database=database, runner=confined.command_for(**how)) as server:
            for name in ("anna", "bert"):
                answer = server.ask("PUT", save_path(name), b'{"gold":1}')
                self.assertEqual(answer.status, 200)
            update = server.ask("POST", save_path("anna") + "/update", b'{"gold":2}')
            self.assertEqual(update.status, 200)
            self.assertEqual(server.ask("DELETE", save_path("bert")).status, 204)
            self.assertEqual(server.ask("GET", "/stats").status, 200)
            server.terminate()
            self.assertEqual(server.stop(), "savegames: stopping\nsavegames: stopped\n")
        with Server(database=database, runner=confined.command_for(**how)) as server:
            self.assertEqual(server.ask("GET", save_path("anna")).json(), {"gold": 2})
            self.assertEqual(server.ask("GET", save_path("bert")).status, 404)

    def test_without_io_uring(self):
        for error in (errno.EPERM, errno.ENOSYS):
            with self.subTest(error=error):
                self.serve(self.possible(io_uring=error))

    def test_on_a_read_only_file_system(self):
        self.serve(self.possible(writable=[self.data]))

    def test_with_both(self):
        self.serve(self.possible(io_uring=errno.EPERM, writable=[self.data]))


if __name__ == "__main__":
    unittest.main()
