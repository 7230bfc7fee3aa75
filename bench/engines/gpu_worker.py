"""Loads one peer, PyTorch or CTranslate2, on the GPU and times cases on request.

Reads one JSON object per line from standard input, such as {"work": "translate", "batch": 64, "beam": 1, "tokens": 32,
"calls": 3}, and answers with {"seconds": [...]} after one warm-up call, or with {"error": "..."}. Loading and
conversion are not timed. Work with text: encode, translate (forced to "tokens"), train. Work with speech: transcribe,
which encodes "batch" windows of random log-mel frames "calls_in_turn" times in sequence, and generates
"tokens" for each window. Work with both: step, the difference of 33 and 1 generated tokens divided by 32. Without a
model: gemm and attention of a "shape". Without a GPU, everything runs on the CPU.
"""
import argparse
import gc
import importlib.metadata
import json
import pathlib
import statistics
import sys
import time

START, END = 50257, 50256  # of make_random_whisper.py
INNER = 50  # calls of an op between two waits for the device


def read_ids(folder, count):
    ids = json.loads((folder / "vocab.json").read_text(encoding="utf8"))
    lines = (folder / "work.txt").read_text(encoding="utf8").splitlines()[:count]
    return [[ids[token] for token in line.split()] + [ids["</s>"]] for line in lines]


class Torch:
    TYPES = {"fp32": "float32", "fp16": "float16", "bf16": "bfloat16"}

    def __init__(self, folder, precision, speech):
        import torch
        from transformers import MarianMTModel, WhisperForConditionalGeneration
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
        self.torch, self.folder, self.precision, self.speech = torch, folder, precision, speech
        self.device = "cuda" if torch.cuda.is_available() else "cpu"
        kind = WhisperForConditionalGeneration if speech else MarianMTModel
        self.load = lambda dtype: kind.from_pretrained(folder, dtype=dtype, attn_implementation="sdpa").to(self.device)
        self.model = self.trained = self.optimizer = None

    def finish(self):
        if self.device == "cuda":
            self.torch.cuda.synchronize()

    def release(self):
        """Releases unused memory for other processes."""
        if self.device == "cuda":
            self.torch.cuda.empty_cache()

    def prepare(self, case):
        """Returns a function that runs the case once."""
        torch = self.torch
        if case["work"] == "train":
            return self.prepare_training(case)
        if "shape" in case:
            return self.prepare_op(case["work"], [int(size) for size in case["shape"].split("x")])
        if self.model is None:
            self.model = self.load(getattr(torch, self.TYPES[self.precision])).eval()
        if self.speech:
            bands = self.model.config.num_mel_bins
            frames = torch.randn(case["batch"], bands, 3000, device=self.device).to(self.model.dtype)
            return lambda: [self.generate(frames, case) for _ in range(case.get("calls_in_turn", 1))]
        ids = torch.tensor(read_ids(self.folder, case["batch"]), device=self.device)
        if case["work"] == "encode":
            return lambda: self.encode(ids)
        return lambda: self.generate(ids, case)

    def prepare_op(self, work, shape):
        """Returns a function that runs an op INNER times, with random operands."""
        torch = self.torch
        is_int8 = self.precision == "int8"
        kind = torch.int8 if is_int8 else getattr(torch, self.TYPES[self.precision])

        def operand(*sizes):
            return torch.randint(-100, 100, sizes, device=self.device).to(kind)
        if work == "gemm":
            x, weight = operand(shape[0], shape[2]), operand(shape[1], shape[2])
            multiply = torch._int_mm if is_int8 else torch.matmul
            return lambda: [multiply(x, weight.t()) for _ in range(INNER)]
        batch, tokens, heads, width = shape
        queries, keys, values = (operand(batch, heads, tokens, width) / 100 for _ in range(3))
        attend = torch.nn.functional.scaled_dot_product_attention
        return lambda: [attend(queries, keys, values) for _ in range(INNER)]

    def encode(self, ids):
        with self.torch.inference_mode():
            self.model.model.encoder(ids)

    def generate(self, inputs, case):
        with self.torch.inference_mode():
            self.model.generate(inputs, num_beams=case["beam"], min_new_tokens=case["tokens"],
                                max_new_tokens=case["tokens"], do_sample=False)

    def prepare_training(self, case):
        """A training step with fused Adam, and autocast for bf16. The target of each line is the line itself."""
        torch = self.torch
        if self.optimizer is None:
            self.trained = self.load(torch.float32).train()
            self.optimizer = torch.optim.Adam(self.trained.parameters(), lr=1e-4, fused=self.device == "cuda")
            if case.get("compiled"):
                self.trained = torch.compile(self.trained)
        labels = torch.tensor(read_ids(self.folder, case["batch"]), device=self.device)
        start = torch.full_like(labels[:, :1], self.trained.config.decoder_start_token_id)
        inputs = torch.cat([start, labels[:, :-1]], 1)

        def step():
            with torch.autocast(self.device, torch.bfloat16, enabled=self.precision == "bf16"):
                logits = self.trained(input_ids=labels, decoder_input_ids=inputs).logits
            loss = torch.nn.functional.cross_entropy(logits.float().flatten(0, 1), labels.flatten(),
                                                     label_smoothing=0.1)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
        return step


class CTranslate2:
    TYPES = {"fp32": "float32", "fp16": "float16", "int8": "int8_float16"}

    def __init__(self, folder, precision, speech):
        import ctranslate2
        from ctranslate2.converters import TransformersConverter
        converted = folder / "ctranslate2"
        if not (converted / "model.bin").exists():
            TransformersConverter(str(folder)).convert(str(converted), quantization="float16", force=True)
        device = "cuda" if ctranslate2.get_cuda_device_count() > 0 else "cpu"
        kind = self.TYPES[precision] if device == "cuda" else self.TYPES[precision].split("_")[0]
        kind = "float32" if (device, kind) == ("cpu", "float16") else kind
        engine = ctranslate2.models.Whisper if speech else ctranslate2.Translator
        self.engine, self.library, self.folder = engine(str(converted), device=device, compute_type=kind), ctranslate2, folder
        self.speech = speech

    def finish(self):
        """Nothing to do: every call waits for its results."""

    def release(self):
        """Nothing to do: the engine keeps its memory."""

    def prepare(self, case):
        if self.speech:
            import numpy
            bands = json.loads((self.folder / "config.json").read_text(encoding="utf8"))["num_mel_bins"]
            frames = numpy.random.default_rng(1).standard_normal((case["batch"], bands, 3000), numpy.float32)
            return lambda: [self.generate(frames, case) for _ in range(case.get("calls_in_turn", 1))]
        lines = (self.folder / "work.txt").read_text(encoding="utf8").splitlines()[:case["batch"]]
        sources, length = [line.split() + ["</s>"] for line in lines], case["tokens"]
        return lambda: self.engine.translate_batch(sources, beam_size=case["beam"], max_batch_size=case["batch"],
                                                   min_decoding_length=length, max_decoding_length=length)

    def generate(self, frames, case):
        self.engine.generate(self.library.StorageView.from_array(frames), [[START]] * case["batch"],
                             beam_size=case["beam"], max_length=case["tokens"] + 1, suppress_blank=False,
                             suppress_tokens=[END])


def measure(engine, case):
    if case["work"] == "step":  # of greedy decoding
        short, long = (measure(engine, {**case, "work": "generate", "tokens": tokens}) for tokens in (1, 33))
        return [(statistics.median(long) - statistics.median(short)) / 32]
    if "shape" in case:
        return [seconds / INNER for seconds in time_calls(engine, case)]
    return time_calls(engine, case)


def time_calls(engine, case):
    call = engine.prepare(case)
    call()
    seconds = []
    for _ in range(case["calls"]):
        engine.finish()
        begin = time.perf_counter()
        call()
        engine.finish()
        seconds.append(time.perf_counter() - begin)
    return seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("engine", choices=("torch", "ctranslate2"))
    parser.add_argument("precision")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--speech", action="store_true")
    arguments = parser.parse_args()
    kind = {"torch": Torch, "ctranslate2": CTranslate2}[arguments.engine]
    engine = None
    for line in sys.stdin:
        try:
            engine = engine or kind(arguments.folder, arguments.precision, arguments.speech)
            answer = {"seconds": measure(engine, json.loads(line)),
                      "version": importlib.metadata.version(arguments.engine)}
        except Exception as error:  # a failing case does not stop the others
            answer = {"error": f"{type(error).__name__}: {error}".splitlines()[0]}
        gc.collect()
        if engine is not None:
            engine.release()
        print(json.dumps(answer), flush=True)


main()
