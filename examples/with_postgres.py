"""Runs a program with a PostgreSQL of its own: the argument says how to connect."""

import os
import pathlib
import pwd
import subprocess
import sys
import tempfile

BIN = pathlib.Path("/usr/lib/postgresql/15/bin")


def program(name):
    return str(BIN / name) if (BIN / name).exists() else name


def main():
    with tempfile.TemporaryDirectory(prefix="fairlead_postgres_") as folder:
        os.chmod(folder, 0o777)
        data = str(pathlib.Path(folder) / "data")
        user = pwd.getpwnam("nobody").pw_uid if os.geteuid() == 0 else None
        subprocess.run([program("initdb"), "-D", data, "-U", "me", "-A", "trust", "--no-sync"],
                       stdout=subprocess.DEVNULL, user=user, cwd="/", check=True)
        command = [program("postgres"), "-D", data, "-F", "-k", folder, "-c", "listen_addresses="]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, user=user,
                              cwd="/") as server:
            try:
                for line in server.stderr:
                    if "ready to accept connections" in line:
                        conninfo = f"host={folder} user=me dbname=postgres"
                        return subprocess.run([*sys.argv[1:], conninfo], check=False).returncode
                return "postgres has not begun"
            finally:
                server.terminate()


if __name__ == "__main__":
    sys.exit(main())
