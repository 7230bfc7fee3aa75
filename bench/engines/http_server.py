"""Starts HTTP servers for benchmarks, and measures their memory and processor time."""
import atexit
import os
import pathlib
import re
import signal
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

START_SECONDS = 300
STOP_SECONDS = 30


class ServerFailure(Exception):
    """The reason why a server does not answer."""


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Server:
    """A server process that listens on 127.0.0.1."""

    def __init__(self, words, environment=None):
        self.log = tempfile.TemporaryFile(mode="w+")
        self.process = subprocess.Popen([str(word) for word in words], stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log,
                                        env={**os.environ, **(environment or {})})
        self.port = None
        atexit.register(self.kill)

    def messages(self):
        """Returns what the server has written to standard output and standard error."""
        return os.pread(self.log.fileno(), 1 << 20, 0).decode(errors="replace")

    def wait(self, is_ready, what):
        end = time.monotonic() + START_SECONDS
        while not is_ready():
            if self.process.poll() is not None or time.monotonic() > end:
                self.kill()
                raise ServerFailure(f"{what} does not start: {(self.messages().strip().splitlines() or ['no message'])[-1]}")
            time.sleep(0.05)
        return self

    def answers(self, path):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=5) as answer:
                return answer.status == 200
        except (OSError, urllib.error.HTTPError):
            return False

    def read(self, name):
        try:
            return pathlib.Path(f"/proc/{self.process.pid}/{name}").read_text(encoding="utf8")
        except OSError as error:
            raise ServerFailure(f"the server has ended: {(self.messages().strip().splitlines() or [str(error)])[-1]}") from error

    def memory(self):
        """Returns the resident memory in bytes."""
        return 1024 * int(re.search(r"VmRSS:\s+(\d+)", self.read("status")).group(1))

    def cpu_seconds(self):
        fields = self.read("stat").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def stop(self):
        """Returns the exit status after SIGTERM."""
        self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()
            return None

    def kill(self):
        self.process.kill()
        self.process.wait()


def start_clformer(command, words, environment=None):
    server = Server([command, "serve", "--port", "0", *words], environment)

    def is_ready():
        found = re.search(r" at http://127\.0\.0\.1:(\d+)\n", server.messages())
        server.port = int(found.group(1)) if found else None
        return found is not None

    return server.wait(is_ready, "clformer serve")


def start_peer(words, port, path, environment=None):
    """Starts a server on a port that is free; `path` answers with status 200 when it is ready."""
    server = Server(words, environment)
    server.port = port
    return server.wait(lambda: server.answers(path), pathlib.Path(str(words[0])).name)
