#!/usr/bin/env python3
"""Runs a command as a container runs one: without io_uring, and on a read-only file system.

    confined.py [--refuse-io-uring EPERM|ENOSYS] [--writable FOLDER ...] -- COMMAND ...

With --refuse-io-uring a filter of system calls refuses the three calls of io_uring, as the filters
of Docker and containerd do. With --writable every mount becomes read-only in a mount namespace of
the command, but for the folders, of which the first is its TMPDIR. Needs no privilege where the
system lets users make namespaces. Exit status 77: the system forbids it, and says why.
"""

import argparse
import ctypes
import errno
import os
import pathlib
import struct
import subprocess
import sys

SKIPPED = 77

LIBC = ctypes.CDLL(None, use_errno=True)

CLONE_NEWNS, CLONE_NEWUSER = 0x00020000, 0x10000000
MS_BIND, MS_REC, MS_PRIVATE = 0x1000, 0x4000, 0x40000
AT_FDCWD, AT_RECURSIVE = -100, 0x8000
MOUNT_ATTR_RDONLY = 1
# The numbers of these calls are the same on all machines.
SYS_MOUNT_SETATTR = 442
CALLS_OF_IO_URING = (425, 426, 427)

PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2
LOAD_WORD, JUMP_IF_EQUAL, RETURN = 0x20, 0x15, 0x06
SECCOMP_RET_ERRNO, SECCOMP_RET_ALLOW = 0x00050000, 0x7FFF0000


class Forbidden(Exception):
    """What the system does not let this process do."""


def call(name, *arguments):
    if getattr(LIBC, name)(*arguments) < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{name}: {os.strerror(code)}")


def change_mount(path, flags, to_set, to_clear):
    attributes = struct.pack("QQQQ", to_set, to_clear, 0, 0)
    call("syscall", ctypes.c_long(SYS_MOUNT_SETATTR), ctypes.c_int(AT_FDCWD), os.fsencode(path),
         ctypes.c_uint(flags), attributes, ctypes.c_size_t(len(attributes)))


def enter_mount_namespace():
    """Without the right to make one, a process may have one inside a user namespace."""
    try:
        call("unshare", CLONE_NEWNS)
        return
    except PermissionError:
        pass
    user, group = os.getuid(), os.getgid()
    call("unshare", CLONE_NEWUSER | CLONE_NEWNS)
    of_self = pathlib.Path("/proc/self")
    (of_self / "setgroups").write_text("deny")
    (of_self / "uid_map").write_text(f"{user} {user} 1")
    (of_self / "gid_map").write_text(f"{group} {group} 1")


def make_read_only(writable):
    try:
        enter_mount_namespace()
        call("mount", None, b"/", None, MS_REC | MS_PRIVATE, None)
        for folder in writable:
            call("mount", os.fsencode(folder), os.fsencode(folder), None, MS_BIND, None)
        change_mount("/", AT_RECURSIVE, MOUNT_ATTR_RDONLY, 0)
        for folder in writable:
            change_mount(folder, 0, 0, MOUNT_ATTR_RDONLY)
    except OSError as error:
        raise Forbidden(f"no read-only mounts: {error}") from error
    os.chdir(os.getcwd())  # which may be on another mount now
    os.environ["TMPDIR"] = str(writable[0])


def refuse_io_uring(error):
    def instruction(code, number, if_true=0, if_false=0):
        return struct.pack("HBBI", code, if_true, if_false, number)

    last = len(CALLS_OF_IO_URING)
    steps = [instruction(LOAD_WORD, 0)]  # the number of the call
    steps += [instruction(JUMP_IF_EQUAL, number, if_true=last - at)
              for at, number in enumerate(CALLS_OF_IO_URING)]
    steps += [instruction(RETURN, SECCOMP_RET_ALLOW),
              instruction(RETURN, SECCOMP_RET_ERRNO | error)]
    code = ctypes.create_string_buffer(b"".join(steps))
    program = struct.pack("HP", len(steps), ctypes.addressof(code))
    try:
        call("prctl", PR_SET_NO_NEW_PRIVS, ctypes.c_ulong(1), ctypes.c_ulong(0), ctypes.c_ulong(0),
             ctypes.c_ulong(0))
        call("prctl", PR_SET_SECCOMP, ctypes.c_ulong(SECCOMP_MODE_FILTER), program)
    except OSError as failure:
        raise Forbidden(f"no filter of system calls: {failure}") from failure


def command_for(*command, io_uring=None, writable=()):
    """The words that run `command` so. Without a command: what is to stand before one."""
    options = ["--refuse-io-uring", errno.errorcode[io_uring]] if io_uring else []
    for folder in writable:
        options += ["--writable", str(folder)]
    return [sys.executable, "-B", __file__, *options, "--", *map(str, command)]


def reason_against(**how):
    """Why the system forbids it; empty: it does not."""
    tried = subprocess.run(command_for("true", **how), capture_output=True, text=True, check=False)
    if tried.returncode == SKIPPED:
        return tried.stderr.strip()
    assert tried.returncode == 0, tried.stderr
    return ""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--refuse-io-uring", choices=("EPERM", "ENOSYS"))
    parser.add_argument("--writable", type=pathlib.Path, action="append", default=[])
    parser.add_argument("command", nargs="+")
    options = parser.parse_args()
    try:
        if options.writable:
            make_read_only([folder.resolve(strict=True) for folder in options.writable])
        if options.refuse_io_uring:
            refuse_io_uring(getattr(errno, options.refuse_io_uring))
    except Forbidden as reason:
        print(reason, file=sys.stderr)
        sys.exit(SKIPPED)
    os.execvp(options.command[0], options.command)


if __name__ == "__main__":
    main()
