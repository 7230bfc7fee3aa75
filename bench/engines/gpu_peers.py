"""Compares clformer with PyTorch and CTranslate2 on a GPU: bench/peers --gpu.

Uses models with random weights in the shapes of Transformer-base, NLLB 600M, BART large, Whisper small and Whisper large-v3,
and prints one table of clformer and the installed peers. A row shows the median of several calls of each engine, measured in turn,
without loading, compilation and conversion. Lines have 32 source and 32 target tokens unless the row says
otherwise. CTranslate2's encode includes one decoder step; transcription starts at samples in clformer and at log-mel
frames in the peers.

  bench/peers --gpu                      everything
  bench/peers --gpu --rows "base fp16"   rows whose names contain one of these words
  bench/peers --gpu --list               the names of the rows
  bench/peers --gpu --json rows.jsonl    appends each time as a JSON object
  bench/peers --gpu --tiny --device 0    tiny models, as a check; also works without a GPU

PyTorch, transformers and sentencepiece create the models in build/peers/gpu; BENCH_PEERS_VENV names a virtual
environment with these packages; the default is the Python that runs this script.
"""
import argparse
import json
import os
import pathlib
import random
import shutil
import statistics
import subprocess
import sys
from array import array

ENGINES = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(ENGINES))
from recording import RATE, write_recording  # noqa: E402

ROOT = ENGINES.parent.parent
LINES = 512
MODELS = {  # name: script, shape
    "base": ("make_model.py", "base"),
    "nllb": ("make_model.py", "nllb"),
    "bart": ("make_model.py", "bart"),
    "small": ("make_random_whisper.py", "small"),
    "large-v3": ("make_random_whisper.py", "large-v3"),
}
PEERS = {"torch": ("fp32", "fp16", "bf16"), "ctranslate2": ("fp32", "fp16", "int8")}  # their precisions


class Failure(Exception):
    """The reason why a time cannot be measured."""


def text(model, work, batch, beam, precisions, tokens=32):
    """Returns the rows of one case, one per precision."""
    name = f"{model} {work} {batch}" + {"encode": "", "train": ""}.get(work, f" beam {beam}" if beam > 1 else " greedy")
    name += f", {tokens} out" if tokens != 32 else ""
    return [{"name": f"{name} {precision}", "model": model, "work": work, "batch": batch, "beam": beam,
             "tokens": 1 if work == "encode" else tokens, "precision": precision} for precision in precisions]


def speech(model, batch, tokens, in_turn):
    """Returns rows for `batch` recordings at a time, each of `in_turn` windows in sequence."""
    about = f"{batch} of 30 s" if in_turn == 1 else f"{30 * in_turn} s"
    return [{"name": f"Whisper {model} {about}, {tokens} tokens per window {precision}", "model": model, "work": "transcribe",
             "batch": batch, "beam": 1, "tokens": tokens, "calls_in_turn": in_turn, "precision": precision}
            for precision in ("fp16", "int8")]


ALL = ("fp32", "fp16", "bf16", "int8")
ROWS = sorted((row for rows in (
    *[text("base", "encode", batch, 1, ALL) for batch in (1, 64, 512)],
    *[text("base", "translate", batch, 1, ALL) for batch in (1, 64, 512)],
    *[text("base", "translate", batch, 4, ("fp16", "int8")) for batch in (1, 64, 512)],
    text("nllb", "encode", 64, 1, ("fp16", "int8")),
    *[text("nllb", "translate", batch, 1, ("fp16", "int8")) for batch in (8, 64)],
    text("nllb", "translate", 64, 4, ("fp16", "int8")),
    text("bart", "translate", 128, 1, ("fp16", "int8"), 128),
    speech("small", 1, 224, 2), speech("large-v3", 1, 224, 2), speech("large-v3", 32, 110, 1),
    text("base", "train", 64, 1, ("fp32", "bf16")),
) for row in rows), key=lambda row: (list(MODELS).index(row["model"]), ALL.index(row["precision"])))  # so that peers stay loaded


def say(message):
    print(f"bench/peers: {message}", file=sys.stderr, flush=True)


def python():
    venv = os.environ.get("BENCH_PEERS_VENV")
    return str(pathlib.Path(venv) / "bin" / "python") if venv else sys.executable


def has_module(name):
    code = f"import importlib.util, sys; sys.exit(importlib.util.find_spec('{name}') is None)"
    return subprocess.run([python(), "-c", code], check=False).returncode == 0


class Worker:
    """A peer with one model in one precision; see gpu_worker.py."""

    def __init__(self, engine, precision, folder, is_speech):
        words = [python(), ENGINES / "gpu_worker.py", engine, precision, folder, *(["--speech"] if is_speech else [])]
        self.process = subprocess.Popen([str(word) for word in words], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True)

    def measure(self, case):
        try:
            print(json.dumps(case), file=self.process.stdin, flush=True)
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = ""
        answer = json.loads(line) if line else {"error": "the peer ended without an answer"}
        if "error" in answer:
            raise Failure(answer["error"])
        return answer

    def stop(self):
        self.process.stdin.close()
        self.process.wait()


class Run:
    """The models, the engines and the file of times."""

    def __init__(self, options):
        self.options = options
        self.calls = 1 if options.tiny else options.calls
        self.peers = [peer for peer in PEERS if has_module(peer)]
        self.place = ROOT / "build" / "peers" / ("gpu-tiny" if options.tiny else "gpu")
        self.json = open(options.json, "a", encoding="utf8") if options.json else None
        self.versions, self.workers = {}, {}  # one worker per peer, with the key of the loaded model

    def model(self, name):
        script, shape = MODELS[name]
        folder = self.place / name
        if not (folder / "model.safetensors").exists():
            say(f"creating the model {folder}")
            words = [python(), ENGINES / script, shape, folder]
            words += ["--lines", str(self.lines())] if script == "make_model.py" else []
            words += ["--tiny"] if self.options.tiny else []
            result = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False)
            if result.returncode != 0:
                raise Failure(f"cannot create the model: {(result.stderr.strip().splitlines() or ['?'])[-1]}")
        return folder

    def lines(self):
        return 8 if self.options.tiny else LINES

    def recording(self, seconds):
        """Writes noise, because the models' weights are random as well."""
        path = self.place / f"noise-{seconds}.wav"
        if not path.exists():
            noise = random.Random(2)
            samples = (int(max(-32000, min(32000, noise.gauss(0, 3000)))) for _ in range(seconds * RATE))
            write_recording(path, array("h", samples).tobytes())
        return path

    def case(self, row):
        """Returns the row to measure: tiny models have small batches."""
        if not self.options.tiny:
            return row
        return {**row, "batch": min(row["batch"], 2 if row["work"] == "transcribe" else 8), "tokens": min(row["tokens"], 6)}

    def clformer(self, case):
        folder = self.model(case["model"])
        words = [self.options.clformer, "bench", "--json", "--quiet", "--stage", case["work"], "-m", folder, "--device",
                 self.options.device, "--precision", case["precision"], "--batch", case["batch"], "--repeats", self.calls]
        if case["work"] == "transcribe":
            words += ["--work", self.recording(30 * case["calls_in_turn"])]
        else:
            words += ["--work", folder / "work.txt", "--tokens"]
        if case["work"] in ("transcribe", "translate"):
            words += ["--beam", case["beam"], "--min-length", case["tokens"], "--max-length", case["tokens"]]
        result = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False)
        answer = json.loads(result.stdout.splitlines()[0]) if result.stdout.startswith("{") else {}
        if "seconds" not in answer:
            raise Failure(answer.get("error") or (result.stderr.strip().splitlines() or ["clformer failed"])[-1])
        return answer["seconds"]

    def peer(self, name, case):
        key = (case["model"], case["precision"])
        if self.workers.get(name, (None, None))[0] != key:
            self.stop(name)
            worker = Worker(name, case["precision"], self.model(case["model"]), case["work"] == "transcribe")
            self.workers[name] = (key, worker)
        answer = self.workers[name][1].measure({**case, "calls": self.calls})
        self.versions[name] = answer["version"]
        return statistics.median(answer["seconds"])

    def stop(self, name):
        if name in self.workers:
            self.workers.pop(name)[1].stop()

    def measure(self, engine, row):
        """Returns seconds; None if the engine does not support the row or fails."""
        is_none = engine != "clformer" and (row["precision"] not in PEERS[engine] or
                                            (engine == "ctranslate2" and row["work"] == "train"))
        if is_none:
            return None
        case = self.case(row)
        result = {"engine": engine, **case}
        try:
            result["seconds"] = self.clformer(case) if engine == "clformer" else self.peer(engine, case)
        except (Failure, OSError, ValueError) as failure:
            result["error"] = str(failure)
            say(f"{row['name']}, {engine}: {failure}")
        if self.json is not None:
            print(json.dumps(result), file=self.json, flush=True)
        return result.get("seconds")


def written(value, ours=None):
    if value is None:
        return "–"
    time = f"{value:.2f} s" if value >= 1 else f"{1e3 * value:.3g} ms"
    return time if ours is None else f"{time} ({value / ours:.2f}×)"


def main():
    parser = argparse.ArgumentParser(prog="bench/peers --gpu", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", nargs="+", metavar="PART", default=[""])
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--tiny", action="store_true")
    parser.add_argument("--calls", type=int, default=5, help="number of calls for the median (default: 5)")
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--clformer", default=ROOT / "build" / "clformer", help="the command (default: build/clformer)")
    parser.add_argument("--device", default="gpu", help="the --device of clformer (default: gpu)")
    options = parser.parse_args()
    rows = [row for row in ROWS if any(all(word in row["name"] for word in part.split()) for part in options.rows)]
    if not rows:
        parser.exit(2, "bench/peers: --rows: no row name contains one of these words; --gpu --list prints the names\n")
    if options.list:
        print("\n".join(row["name"] for row in rows))
        return 0
    if not shutil.which(str(options.clformer)):
        sys.exit(f"bench/peers: {options.clformer}: does not exist; build clformer first")
    run = Run(options)
    engines = ["clformer", *run.peers]
    print(f"| work | {' | '.join(engines)} |\n|{' --- |' * (1 + len(engines))}", flush=True)
    failed = 0
    for row in rows:
        say(row["name"])
        ours, *theirs = [run.measure(engine, row) for engine in engines]
        failed += ours is None
        cells = [written(ours), *[written(one, ours) for one in theirs]]
        print(f"| {row['name']} | {' | '.join(cells)} |", flush=True)
    for name in run.peers:
        run.stop(name)
    print("\nIn parentheses: the peer's time divided by clformer's. " +
          ", ".join(f"{name} {version}" for name, version in sorted(run.versions.items())))
    return 1 if failed else 0


sys.exit(main())
