"""A PostgreSQL server of the tests' own, in a temporary folder and on a socket there.

It is made of the binaries of Debian's ``postgresql`` and runs as somebody who is not root,
which the server demands. Several may run at once; none listens to anything but this machine.
"""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
from glob import glob
from pathlib import Path
from typing import Final

__all__ = ["Server", "binaries"]

_SETTINGS: Final = """
listen_addresses = '127.0.0.1'
max_connections = 150
shared_buffers = 64MB
logging_collector = off
log_min_messages = fatal
# What was acknowledged is on disk: the tests kill the server.
fsync = on
"""


def binaries() -> str | None:
    """The folder of the server's programs; None if it is not installed."""
    found = shutil.which("initdb")
    if found is not None:
        return os.path.dirname(os.path.realpath(found))
    folders = sorted(glob("/usr/lib/postgresql/*/bin"), key=lambda path: float(path.split("/")[-2]))
    return folders[-1] if folders else None


class Server:
    """A server that is started when made. Its superuser is ``postgres``, who needs no password.

    Attributes:
        folder: Where it is, with its socket.
        port: Its port on loopback, and of its socket.
    """

    def __init__(self, programs: str) -> None:
        self._programs: Final = programs
        self.folder: Final = Path(tempfile.mkdtemp(prefix="transcript-log-pg-"))
        self.port: Final = _free_port()
        self._as: Final = _other_user()
        if self._as is not None:
            os.chown(self.folder, *self._as)
        self._data: Final = str(self.folder / "data")
        self._run("initdb", "-D", self._data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C")
        settings = _SETTINGS + f"port = {self.port}\nunix_socket_directories = '{self.folder}'\n"
        with open(f"{self._data}/postgresql.conf", "a", encoding="utf-8") as file:
            file.write(settings)
        self.start()

    def url(self, database: str = "postgres", **more: str) -> str:
        """The URL of a database of this server."""
        rest = "".join(f"&{name}={value}" for name, value in more.items())
        return f"postgresql://postgres@/{database}?host={self.folder}&port={self.port}{rest}"

    def start(self) -> None:
        """Start it, and wait until it takes connections."""
        self._run("pg_ctl", "-D", self._data, "-l", f"{self.folder}/log", "-w", "-t", "60", "start")

    def stop(self, mode: str = "immediate") -> None:
        """Stop it; ``"immediate"`` is what a crash of the server is to its clients and its files."""
        self._run("pg_ctl", "-D", self._data, "-w", "-m", mode, "stop")

    def restart(self, mode: str = "immediate") -> None:
        """Stop it and start it again."""
        self.stop(mode)
        self.start()

    def end(self) -> None:
        """Stop it for good, and leave nothing behind."""
        try:
            self.stop()
        except subprocess.CalledProcessError:
            pid = Path(self._data, "postmaster.pid")
            if pid.exists():
                os.kill(int(pid.read_text().split()[0]), signal.SIGQUIT)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _run(self, program: str, *words: str) -> None:
        who = {} if self._as is None else {"user": self._as[0], "group": self._as[1], "extra_groups": []}
        env = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
        subprocess.run(
            [os.path.join(self._programs, program), *words],
            check=True,
            cwd=self.folder,
            env=env | {"LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            **who,  # type: ignore[call-overload]
        )


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _other_user() -> tuple[int, int] | None:
    """Who runs the server, where this process is root."""
    if os.getuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            found = pwd.getpwnam(name)
        except KeyError:
            continue
        return found.pw_uid, found.pw_gid
    return None
