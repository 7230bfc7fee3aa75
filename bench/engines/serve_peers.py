"""Compares `clformer serve` with other servers on the CPU of this machine: bench/peers --serve.

Translation: LibreTranslate from PyPI with its defaults, and the demo model as an Argos package, which both servers read; a request
is a line of one sentence. Transcription: faster-whisper behind a small ASGI server (whisper_server.py) and Whisper tiny.en; a
request is 10 s of speech. Both servers run at the same time, and clients send requests to one of them at a time: each client sends
the next request when it has the answer. A row shows the medians of alternating rounds. Before, all requests are sent once to
both servers and the texts are compared.

  bench/peers --serve                       translation with 1, 8 and 64 clients
  bench/peers --serve --speech talk.wav     also transcription; needs 16-bit mono at 16 kHz
  bench/peers --serve --quick               one short round, as a check
  bench/peers --serve --rows "int8, 8"      rows whose names contain one of these texts
  bench/peers --serve --json rows.jsonl     appends each row as a JSON object

Required is a ratio of 1.5 at an equal or lower median time, the goal is 3. Creates in build/peers, if missing, a virtual
environment with the servers, and the environment of bench/peers to convert the models; BENCH_SERVE_VENV and BENCH_PEERS_VENV name
existing ones.
"""
import argparse
import datetime
import difflib
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import time

ENGINES = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(ENGINES))
from argos_package import argos_folder  # noqa: E402
from base_model import PLACE, venv_python, whisper_folder  # noqa: E402
from http_load import Request, closed_loop, json_request  # noqa: E402
from http_server import ServerFailure, free_port, start_clformer, start_peer  # noqa: E402
from kept import processor  # noqa: E402
from recording import RATE, read_recording, write_recording  # noqa: E402

ROOT = ENGINES.parent.parent
DEMO = ROOT / "tools" / "models" / "fr-en-small"
LINES = ROOT / "tests" / "fixtures" / "fr-en-small" / "source.fr"
CLIENTS = (1, 8, 64)
REQUIRED, GOAL = 1.5, 3.0
SPEECH_SECONDS = 10
LEAST_EQUAL = {"fp32": 0.99, "int8": 0.9}  # texts that both servers answer alike
LEAST_WORDS = 0.9                         # words of transcripts that are alike


class Failure(Exception):
    """The reason why a row cannot be measured."""


def say(text):
    print(f"bench/peers: {text}", file=sys.stderr, flush=True)


# ---- the servers and their requests ----

class Pair:
    """clformer's server, the peer's server, and the requests for both."""

    def __init__(self, ours, theirs, requests):
        self.servers, self.requests = (ours, theirs), requests
        self.texts = None

    def check(self, is_alike):
        """Sends every request to both servers, and compares the texts; this also compiles the kernels."""
        results = [closed_loop(server.port, self.requests, 8, count=len(self.requests)) for server in self.servers]
        for result in results:
            if set(result.statuses) != {200}:
                raise Failure(f"the answers have the statuses {result.statuses}")
        pairs = [(results[0].texts[i], results[1].texts[i]) for i in range(len(self.requests))]
        is_alike(pairs)

    def stop(self):
        for server in self.servers:
            server.stop()


def check_translations(pairs, precision):
    equal = [ours == theirs for ours, theirs in pairs]
    share = sum(equal) / len(equal)
    say(f"{100 * share:.1f}% of the translations are the same")
    if share < LEAST_EQUAL[precision]:
        raise Failure(f"only {100 * share:.1f}% of the translations are the same, unlike {pairs[equal.index(False)]}")


def check_transcripts(pairs):
    ours, theirs = ([word for text in texts for word in re.findall(r"[a-z']+", text.lower())] for texts in zip(*pairs))
    share = difflib.SequenceMatcher(None, ours, theirs, False).ratio()
    say(f"{100 * share:.1f}% of the words are the same")
    if share < LEAST_WORDS:
        raise Failure(f"only {100 * share:.1f}% of the words are the same")


def translation_requests():
    lines = [line for line in LINES.read_text(encoding="utf8").splitlines() if not re.search(r"[.!?…] ", line)]
    return [json_request("/translate", {"q": line, "source": "fr", "target": "en"}, "translatedText") for line in lines]


def transcription_requests(path, folder):
    data, size = read_recording(path), SPEECH_SECONDS * RATE * 2
    requests = []
    for start in range(0, len(data) - size + 1, size):
        write_recording(folder / "part.wav", data[start:start + size])
        sound = (folder / "part.wav").read_bytes()
        parts = ((b"model", b"", b"whisper-1"), (b"language", b"", b"en"), (b"file", b"; filename=\"part.wav\"", sound))
        body = b"".join(b"--limit\r\nContent-Disposition: form-data; name=\"%s\"%s\r\n\r\n%s\r\n" % part for part in parts)
        body += b"--limit--\r\n"
        requests.append(Request("/v1/audio/transcriptions", "multipart/form-data; boundary=limit", body, "text"))
    if not requests:
        raise Failure(f"{path}: is shorter than {SPEECH_SECONDS} s")
    return requests


class Run:
    def __init__(self, options):
        self.options = options
        self.rounds, self.seconds = (1, 2) if options.quick else (options.rounds, options.seconds)
        self.key, self.pair = None, None
        self.python = venv_python(say, "serve-venv", "BENCH_SERVE_VENV", "requirements-serve.txt")

    def clformer(self, model, precision, *flags):
        return start_clformer(self.options.clformer, ["-m", model, "--precision", precision, "--device", self.options.device, *flags])

    def start_translation(self, precision):
        place = PLACE / DEMO.name
        place.mkdir(parents=True, exist_ok=True)
        folder = argos_folder(DEMO, place, precision, venv_python, say)
        port = free_port()
        theirs = start_peer([self.python, ENGINES / "libretranslate_server.py", folder.parent, port], port, "/languages",
                            {"ARGOS_INTRA_THREADS": str(self.options.peer_threads)})
        ours = self.clformer(folder, precision, "--libretranslate-text")
        self.pair = Pair(ours, theirs, translation_requests())
        self.pair.check(lambda pairs: check_translations(pairs, precision))

    def start_transcription(self, precision):
        requests = transcription_requests(self.options.speech, PLACE)
        folder = whisper_folder("tiny.en", say)
        port = free_port()
        words = [self.python, ENGINES / "whisper_server.py", folder / "ct2", precision, self.options.peer_threads, port]
        theirs = start_peer(words, port, "/health")
        self.pair = Pair(self.clformer(folder / "hf", precision), theirs, requests)
        self.pair.check(check_transcripts)

    def pair_of(self, work, precision):
        """Returns the servers; keeps those of the last row."""
        if self.key != (work, precision):
            self.stop()
            say(f"starting the servers: {work} {precision}")
            start = self.start_translation if work == "translate" else self.start_transcription
            start(precision)
            self.key = (work, precision)
        return self.pair

    def stop(self):
        if self.pair is not None:
            self.pair.stop()
        self.key, self.pair = None, None

    def measure(self, row):
        pair = self.pair_of(row["of"], row["precision"])
        rounds = [], []
        for _ in range(self.rounds):
            for side, server in enumerate(pair.servers):
                time.sleep(0.5)  # until idle threads stop spinning
                busy = server.cpu_seconds()
                result = closed_loop(server.port, pair.requests, row["clients"], seconds=self.seconds)
                if set(result.statuses) != {200}:
                    raise Failure(f"the answers have the statuses {result.statuses}")
                rounds[side].append({"per_second": result.rate(), "p50": result.percentile(0.5), "p99": result.percentile(0.99),
                                     "cpu_seconds": server.cpu_seconds() - busy, "client_cpu_seconds": result.client_seconds,
                                     "memory_bytes": server.memory()})
        ours, theirs = ({key: statistics.median(one[key] for one in side) for key in side[0]} for side in rounds)
        return {**row, "clformer": ours, "peer": theirs, "ratio": ours["per_second"] / theirs["per_second"], "rounds": rounds[0],
                "peer_rounds": rounds[1]}


# ---- the table ----

HEAD = ("| work | clformer | peer | ratio | clformer p50 / p99 | peer p50 / p99 | reached |\n"
        "| --- | --- | --- | --- | --- | --- | --- |")


def rows_of(options):
    works = [("translate", "LibreTranslate")] + ([("transcribe", "faster-whisper")] if options.speech else [])
    return [{"work": f"{work} {precision}, {clients} {'client' if clients == 1 else 'clients'}", "of": work, "peer_name": peer,
             "precision": precision, "clients": clients}
            for work, peer in works for precision in ("fp32", "int8") for clients in CLIENTS]


def verdict(row):
    if row["clformer"]["p50"] > row["peer"]["p50"] or row["ratio"] < REQUIRED:
        return "below"
    return "goal" if row["ratio"] >= GOAL else "required"


def duration(value):
    return f"{value:.2f} s" if value >= 1 else f"{1e3 * value:.3g} ms"


def print_row(row):
    if "error" in row:
        print(f"| {row['work']} | | | | | | failed: {row['error']} |", flush=True)
        return
    rates = [f"{row[side]['per_second']:.3g}/s" for side in ("clformer", "peer")]
    times = [f"{duration(row[side]['p50'])} / {duration(row[side]['p99'])}" for side in ("clformer", "peer")]
    print(f"| {row['work']} | {rates[0]} | {row['peer_name']} {rates[1]} | {row['ratio']:.2f}× | {times[0]} | {times[1]} | "
          f"{verdict(row)} |", flush=True)


def main():
    parser = argparse.ArgumentParser(prog="bench/peers --serve", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", nargs="+", metavar="PART", default=[""])
    parser.add_argument("--list", action="store_true", help="print the names of the rows")
    parser.add_argument("--quick", action="store_true", help="measure one short round, as a check")
    parser.add_argument("--rounds", type=int, default=5, help="number of rounds (default: 5)")
    parser.add_argument("--seconds", type=float, default=10, help="how long clients send requests in a round (default: 10)")
    parser.add_argument("--speech", type=pathlib.Path, metavar="WAV", help="a recording of speech: 16 bits, mono, 16 kHz")
    parser.add_argument("--peer-threads", type=int, default=0, metavar="N",
                        help="threads of a translation or transcription of the peer (default: 0, its default); on a busy machine, more "
                             "than 1 makes it wait for the processor")
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--clformer", default=ROOT / "build" / "clformer", help="the command (default: build/clformer)")
    parser.add_argument("--device", default="Portable Computing", help="the --device of clformer (default: PoCL)")
    options = parser.parse_args()
    rows = [row for row in rows_of(options) if any(part in row["work"] for part in options.rows)]
    if not rows:
        parser.exit(2, "bench/peers: --rows: no row name contains one of these texts; --serve --list prints the names\n")
    if options.list:
        print("\n".join(row["work"] for row in rows))
        return 0
    if not shutil.which(str(options.clformer)):
        sys.exit(f"bench/peers: {options.clformer}: does not exist; build it first, for example with tools/demo")
    run = Run(options)
    print(f"{processor()}, {os.cpu_count()} cores; {datetime.date.today().isoformat()}; medians of {run.rounds} alternating rounds of "
          f"{run.seconds:g} s; load {os.getloadavg()[0]:.1f} at the start\n\n{HEAD}", flush=True)
    reached = set()
    try:
        for row in rows:
            say(row["work"])
            try:
                row = run.measure(row)
            except (Failure, ServerFailure, ValueError, OSError, subprocess.CalledProcessError) as failure:
                row = {**row, "error": str(failure)}
            print_row(row)
            reached.add("failed" if "error" in row else verdict(row))
            if options.json:
                with open(options.json, "a", encoding="utf8") as file:
                    print(json.dumps(row), file=file)
    finally:
        run.stop()
    return 1 if {"below", "failed"} & reached else 0


sys.exit(main())
