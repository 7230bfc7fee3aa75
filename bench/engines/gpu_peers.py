"""Compares clformer with PyTorch and CTranslate2 on a GPU: bench/peers --gpu.

Uses models with random weights in the shapes of Transformer-base, NLLB 600M, BART large, Whisper small and Whisper large-v3,
and prints one table of clformer and the installed peers. A row shows the median of several calls of each engine, measured
in turn, without loading, compilation and conversion. Lines have 32 source and 32 target tokens unless the row says
otherwise. CTranslate2's encode includes one decoder step; transcription starts at samples in clformer and at log-mel
frames in the peers. A step is the difference of 33 and 1 generated tokens, divided by 32. Products and attention are
compared with torch.matmul, torch._int_mm and scaled_dot_product_attention. A first start has empty kernel caches.

  bench/peers --gpu                      everything
  bench/peers --gpu --rows "base fp16"   rows whose names contain one of these words
  bench/peers --gpu --list               the names of the rows
  bench/peers --gpu --json rows.jsonl    appends each time as a JSON object
  bench/peers --gpu --tiny --device 0    tiny models, as a check; also works without a GPU

PyTorch, transformers and sentencepiece create the models in build/peers/gpu; BENCH_PEERS_VENV names a virtual
environment with these packages; the default is the Python that runs this script. Without them, or with --alone, --tiny
uses the demo model and a test model.
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
WITH_MODEL = ("encode", "translate", "transcribe", "step")
PEERS = {  # their precisions, by work
    "torch": {**dict.fromkeys((*WITH_MODEL, "train", "attention"), ("fp32", "fp16", "bf16")),
              "gemm": ("fp32", "fp16", "bf16", "int8")},
    "ctranslate2": dict.fromkeys(WITH_MODEL, ("fp32", "fp16", "int8")),
}
DEMO = ROOT / "tools" / "models" / "fr-en-small"
TINY_SPEECH = ROOT / "tests" / "fixtures" / "speech" / "tiny"


SHARES = {"share_of_operations": "of the peak rate", "share_of_read": "of the read rate"}  # keys of bench --json


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


def one(name, work, model, precision, **more):
    """Returns a row that is not one of a series."""
    return [{"name": f"{name} {precision}", "model": model, "work": work, "batch": 1, "beam": 1, "tokens": 1,
             "precision": precision, **more}]


def products(shape, *precisions):
    """Returns rows for products of M rows with a weight of N outputs and K inputs; the shape is MxNxK."""
    return [row for precision in precisions for row in one(f"product {shape}", "gemm", None, precision, shape=shape)]


ALL = ("fp32", "fp16", "bf16", "int8")
ROWS = [row for rows in (
    *[text("base", "encode", batch, 1, ALL) for batch in (1, 64, 512)],
    *[text("base", "translate", batch, 1, ALL) for batch in (1, 64, 512)],
    *[text("base", "translate", batch, 4, ("fp16", "int8")) for batch in (1, 64, 512)],
    text("nllb", "encode", 64, 1, ("fp16", "int8")),
    *[text("nllb", "translate", batch, 1, ("fp16", "int8")) for batch in (8, 64)],
    text("nllb", "translate", 64, 4, ("fp16", "int8")),
    text("bart", "translate", 128, 1, ("fp16", "bf16", "int8"), 128),
    speech("small", 1, 224, 2), speech("large-v3", 1, 224, 2), speech("large-v3", 32, 110, 1),
    text("base", "train", 64, 1, ("fp32", "bf16")),
    *[[{**row, "name": row["name"] + ", torch.compile", "compiled": True}]
      for row in text("base", "train", 64, 1, ("fp32", "bf16"))],
    *[one("base step of one row", "step", "base", precision) for precision in ("fp16", "int8")],
    *[one("Whisper large-v3 step of one row", "step", "large-v3", precision) for precision in ("fp16", "int8")],
    one("base first start", "start", "base", "fp16"),
    products("8192x8192x8192", "fp16", "bf16", "int8"), products("2048x2048x512", "fp16"),
    products("2048x512x2048", "int8"),
    one("encoder attention of 1500 frames, 20 heads of 64", "attention", None, "fp16", shape="1x1500x20x64"),
) for row in rows]
ROWS.sort(key=lambda row: ([*MODELS, None].index(row["model"]), ALL.index(row["precision"])))  # so that peers stay loaded


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
        self.makes_models = not options.tiny or (has_module("torch") and not options.alone)
        self.peers = [peer for peer in PEERS if self.makes_models and not options.alone and has_module(peer)]
        self.place = ROOT / "build" / "peers" / ("gpu-tiny" if options.tiny else "gpu")
        self.json = open(options.json, "a", encoding="utf8") if options.json else None
        self.versions, self.workers = {}, {}  # one worker per peer, with the key of the loaded model

    def model(self, name):
        script, shape = MODELS[name]
        if not self.makes_models:
            return DEMO if script == "make_model.py" else TINY_SPEECH
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
        self.place.mkdir(parents=True, exist_ok=True)
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
        small = {"batch": min(row["batch"], 2 if row["work"] == "transcribe" else 8), "tokens": min(row["tokens"], 6)}
        if "shape" in row:
            small["shape"] = "64x64x64" if row["work"] == "gemm" else "1x150x2x64"
        return {**row, **small}

    def words(self, case):
        """Returns the options of `clformer bench` for a case."""
        if "shape" in case:
            return ["--shape", case["shape"]]
        folder, is_speech = self.model(case["model"]), MODELS[case["model"]][0] != "make_model.py"
        words = ["-m", folder, *(["--batch", case["batch"]] if case["work"] != "start" else [])]
        if is_speech:
            words += ["--work", self.recording(30 * case.get("calls_in_turn", 1))]
        else:
            words += ["--work", folder / "work.txt", *(["--tokens"] if self.makes_models else [])]
        if case["work"] in ("transcribe", "translate"):
            words += ["--beam", case["beam"], "--min-length", case["tokens"], "--max-length", case["tokens"]]
        return words

    def clformer(self, case):
        words = [self.options.clformer, "bench", "--json", "--quiet", "--stage", case["work"], "--device", self.options.device,
                 "--precision", case["precision"], "--repeats", self.calls, *self.words(case)]
        result = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False)
        wanted = {"gemm": "op", "attention": "op", "start": "first start"}.get(case["work"], case["work"])
        rows = [json.loads(line) for line in result.stdout.splitlines() if line.startswith("{")]
        found = [row for row in rows if row["work"] == wanted and "seconds" in row]
        if not found:
            errors = [row["error"] for row in rows if "error" in row]
            raise Failure((errors or result.stderr.strip().splitlines()[-1:] or ["clformer failed"])[0])
        return found[0]

    def peer(self, name, case):
        key = (case["model"], case["precision"], case.get("compiled"))
        if self.workers.get(name, (None, None))[0] != key:
            self.stop(name)
            is_speech = case["model"] is not None and MODELS[case["model"]][0] != "make_model.py"
            folder = self.model(case["model"]) if case["model"] is not None else "."
            worker = Worker(name, case["precision"], folder, is_speech)
            self.workers[name] = (key, worker)
        answer = self.workers[name][1].measure({**case, "calls": self.calls})
        self.versions[name] = answer["version"]
        return statistics.median(answer["seconds"])

    def stop(self, name):
        if name in self.workers:
            self.workers.pop(name)[1].stop()

    def measure(self, engine, row):
        """Returns the result with its "seconds"; None if the engine does not support the row or fails."""
        if engine != "clformer" and row["precision"] not in PEERS[engine].get(row["work"], ()):
            return None
        case = self.case(row)
        result = {"engine": engine, **case}
        try:
            if engine == "clformer":
                answer = self.clformer(case)
                result.update({key: answer[key] for key in ("seconds", *SHARES) if key in answer})
            else:
                result["seconds"] = self.peer(engine, case)
        except (Failure, OSError, ValueError) as failure:
            result["error"] = str(failure)
            say(f"{row['name']}, {engine}: {failure}")
        if self.json is not None:
            print(json.dumps(result), file=self.json, flush=True)
        return result if "seconds" in result else None


def written(result, ours=None):
    if result is None:
        return "–"
    value = result["seconds"]
    time = f"{value:.2f} s" if value >= 1 else f"{1e3 * value:.3g} ms"
    if result["work"] == "gemm":
        rows, outputs, inputs = map(int, result["shape"].split("x"))
        time += f", {2e-12 * rows * outputs * inputs / value:.3g} Tera-operations/s"
    time += "".join(f", {result[key]:.0%} {about}" for key, about in SHARES.items() if key in result)
    return time if ours is None else f"{time} ({value / ours['seconds']:.2f}×)"


def main():
    parser = argparse.ArgumentParser(prog="bench/peers --gpu", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", nargs="+", metavar="PART", default=[""])
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--tiny", action="store_true")
    parser.add_argument("--alone", action="store_true", help="measure only clformer")
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
