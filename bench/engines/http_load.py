"""Sends HTTP requests from many clients and measures their answers; needs only Python's standard library.

closed_loop(): each client sends its next request when it has the answer to the last one. open_loop(): requests arrive at a fixed
rate, however slow the server is; the time of an answer counts from the moment when its request was due.
"""
import asyncio
import json
import time

REFUSED = 0  # status of a request whose connection was refused or closed without an answer
CONNECT_SECONDS = 30
ANSWER_SECONDS = 600


class Request:
    """A request, and the text that the field of its JSON answer must have (None: any text)."""

    def __init__(self, path, content_type, body, field, expected=None):
        self.head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: {content_type}\r\nContent-Length: {len(body)}\r\n"
        self.body, self.field, self.expected = body, field, expected

    def bytes(self, keeps_connection):
        end = "\r\n" if keeps_connection else "Connection: close\r\n\r\n"
        return (self.head + end).encode() + self.body

    def text(self, body):
        """Returns the text of an answer; None if the answer has none."""
        try:
            return json.loads(body).get(self.field)
        except (ValueError, AttributeError):
            return None

    def is_answered_by(self, body):
        text = self.text(body)
        return text is not None and (self.expected is None or text == self.expected)


def json_request(path, fields, field, expected=None):
    return Request(path, "application/json", json.dumps(fields).encode(), field, expected)


class Connection(asyncio.Protocol):
    """Carries one request at a time. An answer ends after its Content-Length, or at the end of the connection."""

    def __init__(self):
        self.transport, self.answer, self.bytes = None, None, bytearray()

    def connection_made(self, transport):
        self.transport = transport

    def data_received(self, data):
        self.bytes += data
        end = self.bytes.find(b"\r\n\r\n")
        if end < 0:
            return
        head = bytes(self.bytes[:end]).lower()
        at = head.find(b"\r\ncontent-length:")
        size = int(head[at + 17:].split(b"\r\n", 1)[0]) if at >= 0 else None
        if size is not None and len(self.bytes) >= end + 4 + size:
            self.finish(int(head[9:12]), bytes(self.bytes[end + 4:end + 4 + size]))

    def connection_lost(self, error):
        self.transport = None
        self.finish(REFUSED, b"")

    def finish(self, status, body):
        self.bytes.clear()
        if self.answer is not None and not self.answer.done():
            self.answer.set_result((status, body))

    async def exchange(self, data):
        """Returns the status and the body of the answer; without one after ANSWER_SECONDS, closes the connection."""
        if self.transport is None:
            return REFUSED, b""
        self.answer = asyncio.get_running_loop().create_future()
        self.transport.write(data)
        timer = asyncio.get_running_loop().call_later(ANSWER_SECONDS, self.close)
        answer = await self.answer
        timer.cancel()
        return answer

    def close(self):
        if self.transport is not None:
            self.transport.abort()


class Result:
    """The answers of one run."""

    def __init__(self):
        self.statuses, self.wrong, self.times = {}, [], []  # seconds of the answers with status 200
        self.texts = {}  # the first answer to each request, by its index
        self.late = 0.0  # the longest delay of a request by this client, in seconds
        self.seconds = 0.0
        self.client_seconds = time.process_time()  # CPU time of this client, after end()

    def add(self, index, request, status, body, seconds):
        self.statuses[status] = self.statuses.get(status, 0) + 1
        if status == 200:
            self.times.append(seconds)
            if not request.is_answered_by(body):
                self.wrong.append((index, body[:300].decode(errors="replace")))
            self.texts.setdefault(index, request.text(body))

    def end(self, begin):
        self.seconds = time.perf_counter() - begin
        self.client_seconds = time.process_time() - self.client_seconds
        self.times.sort()
        return self

    def rate(self):
        """Returns answers with status 200 per second."""
        return len(self.times) / self.seconds

    def percentile(self, share):
        return self.times[min(len(self.times) - 1, int(share * len(self.times)))] if self.times else float("nan")


async def connect(port):
    try:
        opened = asyncio.get_running_loop().create_connection(Connection, "127.0.0.1", port)
        return (await asyncio.wait_for(opened, CONNECT_SECONDS))[1]
    except (OSError, asyncio.TimeoutError):
        return Connection()  # not connected; its exchange is refused


async def run_closed_loop(port, requests, clients, seconds, count):
    result, begin = Result(), time.perf_counter()
    sent = 0

    async def client():
        nonlocal sent
        connection = await connect(port)
        while sent < count and time.perf_counter() - begin < seconds:
            index = sent % len(requests)
            sent += 1
            start = time.perf_counter()
            if connection.transport is None:  # some servers close connections
                connection = await connect(port)
            status, body = await connection.exchange(requests[index].bytes(True))
            result.add(index, requests[index], status, body, time.perf_counter() - start)
        connection.close()

    await asyncio.gather(*(client() for _ in range(clients)))
    return result.end(begin)


async def run_open_loop(port, requests, rate, seconds):
    result, begin = Result(), time.perf_counter()
    running = set()

    async def send(index, due):
        connection = await connect(port)
        status, body = await connection.exchange(requests[index].bytes(False))
        result.add(index, requests[index], status, body, time.perf_counter() - due)
        connection.close()

    for i in range(int(rate * seconds)):
        due = begin + i / rate
        delay = due - time.perf_counter()
        if delay > 0:
            await asyncio.sleep(delay)
        result.late = max(result.late, time.perf_counter() - due)
        task = asyncio.ensure_future(send(i % len(requests), due))
        running.add(task)
        task.add_done_callback(running.discard)
    await asyncio.gather(*running)
    return result.end(begin)


def closed_loop(port, requests, clients, seconds=float("inf"), count=float("inf")):
    """Runs until `seconds` are over or `count` requests are sent."""
    return asyncio.run(run_closed_loop(port, requests, clients, seconds, count))


def open_loop(port, requests, rate, seconds):
    return asyncio.run(run_open_loop(port, requests, rate, seconds))
