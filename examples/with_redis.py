"""Runs a program with a redis-server of its own: the path of its Unix socket is the argument."""

import os
import pathlib
import pwd
import subprocess
import sys
import tempfile


def main():
    with tempfile.TemporaryDirectory(prefix="fairlead_redis_") as folder:
        os.chmod(folder, 0o777)
        socket = pathlib.Path(folder) / "redis.sock"
        command = ["redis-server", "--port", "0", "--unixsocket", socket, "--unixsocketperm", "777",
                   "--save", "", "--dir", folder]
        user = pwd.getpwnam("nobody").pw_uid if os.geteuid() == 0 else None
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, user=user) as server:
            try:
                for line in server.stdout:
                    if "eady to accept connections" in line:
                        return subprocess.run([*sys.argv[1:], socket], check=False).returncode
                return "redis-server has not begun"
            finally:
                server.kill()


if __name__ == "__main__":
    sys.exit(main())
