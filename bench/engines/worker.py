"""Loads one peer and times cases on request.

Reads one JSON object per line from standard input, such as {"work": "translate", "batch": 8, "beam": 4, "calls": 3}, and
answers with {"seconds": [...]}, one number per call after a warm-up call for a new case, and "peak_bytes", the peak
memory of the process; or with {"error": "..."}. Times exclude loading, conversion and compilation. Every translation is
forced to 32 tokens, except "text", which translates a model's real lines without a fixed length. Transcription uses the
recording --work at temperature 0; the answer also has its "text", and "tokens" if the engine reports them. Reading the
file is not timed.
"""
import argparse
import importlib.metadata
import json
import os
import pathlib
import resource
import subprocess
import sys
import time

TOKENS = 32


class CTranslate2:
    def __init__(self, arguments):
        import ctranslate2
        kind = "float32" if arguments.precision == "fp32" else arguments.precision
        folder = arguments.cache / f"ctranslate2-{kind}"
        if not folder.exists():
            converter = pathlib.Path(sys.executable).with_name("ct2-transformers-converter")
            subprocess.run([converter, "--model", arguments.model, "--output_dir", folder, "--quantization", kind],
                           check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.engine = ctranslate2.Translator(str(folder), device="cpu", compute_type=kind,
                                             intra_threads=os.cpu_count())
        if arguments.source_ids:
            names = {i: name for name, i in json.loads((arguments.model / "vocab.json").read_text()).items()}
            lines = arguments.source_ids.read_text().splitlines()
            self.source = [[names[i] for i in json.loads(line)["ids"]] for line in lines]
        else:
            self.source = [line.split() + ["</s>"] for line in arguments.work.read_text().splitlines()]

    def call(self, case):
        lines = self.source[:case["batch"]]
        lengths = {
            "translate": {"min_decoding_length": TOKENS, "max_decoding_length": TOKENS},
            "encode and one step": {"min_decoding_length": 1, "max_decoding_length": 1},
            "text": {},
        }[case["work"]]
        self.engine.translate_batch(lines, beam_size=case["beam"], max_batch_size=64, **lengths)


class OpenVino:
    def __init__(self, arguments):
        import numpy
        import openvino
        ids = json.loads((arguments.model / "vocab.json").read_text())
        lines = arguments.work.read_text().splitlines()
        self.source = numpy.array([[ids[name] for name in line.split()] + [ids["</s>"]] for line in lines])
        onnx = arguments.cache / "encoder.onnx"
        if not onnx.exists():
            self.export(arguments.model, onnx)
        core = openvino.Core()
        if arguments.precision == "int8":
            quantized = arguments.cache / "encoder-int8.xml"
            if not quantized.exists():
                self.quantize(core.read_model(onnx), quantized)
            onnx = quantized
        hint = "bf16" if arguments.precision == "bf16" else "f32"
        compiled = core.compile_model(core.read_model(onnx), "CPU", {
            "PERFORMANCE_HINT": "LATENCY", "INFERENCE_NUM_THREADS": os.cpu_count(), "INFERENCE_PRECISION_HINT": hint})
        self.request = compiled.create_infer_request()

    def export(self, folder, path):
        import torch
        from transformers import MarianMTModel

        class Encoder(torch.nn.Module):
            def __init__(self, encoder):
                super().__init__()
                self.encoder = encoder

            def forward(self, ids):
                return self.encoder(ids).last_hidden_state

        model = MarianMTModel.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager").eval()
        torch.onnx.export(Encoder(model.model.encoder), (torch.from_numpy(self.source[:2]),), str(path),
                          input_names=["ids"], dynamic_axes={"ids": {0: "lines", 1: "tokens"}}, dynamo=False)

    def quantize(self, model, path):
        import nncf
        import openvino
        samples = [self.source[i:i + 8] for i in range(0, len(self.source), 8)]
        quantized = nncf.quantize(model, nncf.Dataset(samples, lambda sample: {"ids": sample}),
                                  model_type=nncf.ModelType.TRANSFORMER, subset_size=len(samples))
        openvino.save_model(quantized, path, compress_to_fp16=False)

    def call(self, case):
        self.request.infer({0: self.source[:case["batch"]]})


class Torch:
    """A training step with torch.compile, fused Adam, and autocast for bf16. The target of each line is the line itself."""

    def __init__(self, arguments):
        import torch
        from transformers import MarianMTModel
        torch.manual_seed(1)
        ids = json.loads((arguments.model / "vocab.json").read_text())
        lines = arguments.work.read_text().splitlines()
        self.labels = torch.tensor([[ids[name] for name in line.split()] + [ids["</s>"]] for line in lines])
        self.model = MarianMTModel.from_pretrained(arguments.model, dtype=torch.float32).train()
        start = torch.full_like(self.labels[:, :1], self.model.config.decoder_start_token_id)
        self.inputs = torch.cat([start, self.labels[:, :-1]], 1)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=1e-4, betas=(0.9, 0.98), eps=1e-9, fused=True)
        self.cast = lambda: torch.autocast("cpu", torch.bfloat16, enabled=arguments.precision == "bf16")
        self.loss = torch.compile(self.compute_loss)

    def compute_loss(self, labels, inputs):
        import torch
        logits = self.model(input_ids=labels, decoder_input_ids=inputs).logits
        return torch.nn.functional.cross_entropy(logits.float().flatten(0, 1), labels.flatten(), label_smoothing=0.1)

    def call(self, case):
        with self.cast():
            loss = self.loss(self.labels[:case["batch"]], self.inputs[:case["batch"]])
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()


def read_samples(path):
    import numpy
    from recording import read_recording
    return numpy.frombuffer(read_recording(path), "<i2").astype(numpy.float32) / 32768


class FasterWhisper:
    def __init__(self, arguments):
        import faster_whisper
        kind = "float32" if arguments.precision == "fp32" else arguments.precision
        self.engine = faster_whisper.WhisperModel(str(arguments.model / "ct2"), device="cpu", compute_type=kind,
                                                  cpu_threads=os.cpu_count())
        self.samples = read_samples(arguments.work)

    def call(self, case):
        segments = list(self.engine.transcribe(self.samples, language="en", beam_size=case["beam"], temperature=0.0)[0])
        self.said = {"text": "".join(one.text for one in segments), "tokens": sum(len(one.tokens) for one in segments)}


class OpenAiWhisper:
    def __init__(self, arguments):
        import torch
        import whisper
        torch.set_num_threads(os.cpu_count())
        self.engine = whisper.load_model(str(arguments.model / "openai.pt"), device="cpu")
        self.samples = read_samples(arguments.work)

    def call(self, case):
        beams = {"beam_size": case["beam"]} if case["beam"] > 1 else {}
        result = self.engine.transcribe(self.samples, language="en", temperature=0.0, fp16=False, **beams)
        self.said = {"text": result["text"], "tokens": sum(len(one["tokens"]) for one in result["segments"])}


class WhisperCpp:
    """Weights in fp16, as in the engine's own files."""

    def __init__(self, arguments):
        self.path, self.samples = str(arguments.model / "ggml.bin"), read_samples(arguments.work)
        self.engines = {}

    def call(self, case):
        from pywhispercpp.model import Model
        beam = case["beam"]
        if beam not in self.engines:
            search = {"beam_search": {"beam_size": beam, "patience": -1.0}} if beam > 1 else {"greedy": {"best_of": 1}}
            self.engines = {beam: Model(self.path, params_sampling_strategy=int(beam > 1), redirect_whispercpp_logs_to=None,
                                        n_threads=os.cpu_count(), language="en", temperature_inc=0.0, no_context=False,
                                        print_progress=False, print_realtime=False, **search)}
        self.said = {"text": " ".join(one.text for one in self.engines[beam].transcribe(self.samples))}


ENGINES = {"ctranslate2": CTranslate2, "openvino": OpenVino, "torch": Torch, "faster-whisper": FasterWhisper,
           "openai-whisper": OpenAiWhisper, "pywhispercpp": WhisperCpp}


def answer(engine, case, seen):
    key = json.dumps({**case, "calls": 0}, sort_keys=True)
    if key not in seen:
        engine.call(case)
        seen.add(key)
    seconds = []
    for _ in range(case["calls"]):
        begin = time.perf_counter()
        engine.call(case)
        seconds.append(time.perf_counter() - begin)
    return {"seconds": seconds, "peak_bytes": 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
            **getattr(engine, "said", {})}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("engine", choices=ENGINES)
    parser.add_argument("precision", choices=("fp32", "bf16", "int8"))
    parser.add_argument("--model", type=pathlib.Path, required=True)
    parser.add_argument("--cache", type=pathlib.Path, required=True, help="folder for converted models")
    parser.add_argument("--work", type=pathlib.Path, help="file of tokenized lines, or a recording")
    parser.add_argument("--source-ids", type=pathlib.Path, help="file of real lines instead: JSON objects with ids, one per line")
    arguments = parser.parse_args()
    arguments.cache.mkdir(parents=True, exist_ok=True)
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # sends the output of libraries to standard error
    try:
        engine = ENGINES[arguments.engine](arguments)
        first = {"version": importlib.metadata.version(arguments.engine)}
    except Exception as error:
        first = {"error": f"{type(error).__name__}: {error}"}
    print(json.dumps(first), file=answers, flush=True)
    seen = set()
    for line in sys.stdin:
        try:
            result = answer(engine, json.loads(line), seen)
        except Exception as error:
            result = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(result), file=answers, flush=True)


main()
