"""Writes a Whisper model with random weights in Hugging Face format, using only PyTorch and transformers.

small and large-v3 have the shapes of these models, an English vocabulary, and weights in fp16. Every window has the
maximum number of tokens, because the end token is never the most probable. --tiny makes everything except the window
small, to try out a script.
"""
import argparse
import json
import pathlib

import torch
from transformers import GenerationConfig, WhisperConfig, WhisperForConditionalGeneration

SHAPES = {"small": (12, 768, 80), "large-v3": (32, 1280, 128)}  # layers, width, mel bands
TINY = (1, 64)
VOCABULARY, END, START, FIRST_TIME = 51864, 50256, 50257, 50363


def write_weights(folder, layers, width, bands):
    torch.manual_seed(1)
    model = WhisperForConditionalGeneration(WhisperConfig(
        vocab_size=VOCABULARY, d_model=width, encoder_layers=layers, decoder_layers=layers, num_mel_bins=bands,
        encoder_attention_heads=max(1, width // 64), decoder_attention_heads=max(1, width // 64),
        encoder_ffn_dim=4 * width, decoder_ffn_dim=4 * width, bos_token_id=END, eos_token_id=END, pad_token_id=END,
        decoder_start_token_id=START)).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.dim() > 1 and "embed_positions" not in name:
                parameter.normal_(0, parameter[0].numel() ** -0.5)
        words = model.model.decoder.embed_tokens.weight
        words *= 3
        words[END:] = 0
    model.generation_config = GenerationConfig(
        bos_token_id=START, decoder_start_token_id=START, eos_token_id=END, pad_token_id=END, is_multilingual=False,
        max_initial_timestamp_index=50, max_length=448, no_timestamps_token_id=FIRST_TIME - 1, prev_sot_token_id=50360,
        return_timestamps=False, suppress_tokens=[1, 2, 7], begin_suppress_tokens=[220, END],
        alignment_heads=[[0, 0]])
    model.half().save_pretrained(folder)


def byte_characters():
    """Returns the characters that represent bytes in GPT-2's vocabulary."""
    shown = [*range(33, 127), *range(161, 173), *range(174, 256)]
    return [chr(i) for i in shown] + [chr(256 + i) for i in range(256 - len(shown))]


def write_tokenizer(folder, bands):
    """Uses pairs of bytes as words, so that the vocabulary has its full size and every id has a text."""
    single = byte_characters()
    pairs = [(a, b) for a in single for b in single][:END - len(single)]
    vocabulary = {word: i for i, word in enumerate(single + [a + b for a, b in pairs])}
    special = ["<|endoftext|>", "<|startoftranscript|>", "<|en|>", *(f"<|l{i}|>" for i in range(98)), "<|translate|>",
               "<|transcribe|>", "<|startoflm|>", "<|startofprev|>", "<|nospeech|>", "<|notimestamps|>"]
    times = [f"<|{i * 0.02:.2f}|>" for i in range(1501)]
    added = [{"id": END + i, "content": text, "single_word": False, "lstrip": False, "rstrip": False,
              "normalized": False, "special": i < len(special)} for i, text in enumerate(special + times)]
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    merges = [f"{a} {b}" for a, b in pairs]
    files = {
        "vocab.json": vocabulary,
        "added_tokens.json": {one["content"]: one["id"] for one in added},
        "tokenizer.json": {
            "version": "1.0", "truncation": None, "padding": None, "added_tokens": added, "normalizer": None,
            "pre_tokenizer": level, "post_processor": None, "decoder": {**level, "add_prefix_space": True},
            "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": "",
                      "end_of_word_suffix": "", "fuse_unk": False, "byte_fallback": False, "vocab": vocabulary,
                      "merges": merges}},
        "tokenizer_config.json": {
            "tokenizer_class": "WhisperTokenizer", "bos_token": "<|endoftext|>", "eos_token": "<|endoftext|>",
            "unk_token": "<|endoftext|>", "model_max_length": 1024, "additional_special_tokens": special,
            "added_tokens_decoder": {str(one["id"]): {key: one[key] for key in one if key != "id"} for one in added}},
        "preprocessor_config.json": {
            "feature_extractor_type": "WhisperFeatureExtractor", "feature_size": bands, "hop_length": 160,
            "n_fft": 400, "chunk_length": 30, "sampling_rate": 16000, "processor_class": "WhisperProcessor"},
    }
    for name, content in files.items():
        (folder / name).write_text(json.dumps(content, ensure_ascii=False), encoding="utf8")
    (folder / "merges.txt").write_text("#version: 0.2\n" + "".join(f"{one}\n" for one in merges), encoding="utf8")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("shape", choices=SHAPES)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--tiny", action="store_true")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    layers, width, bands = SHAPES[arguments.shape]
    write_tokenizer(arguments.folder, bands)
    write_weights(arguments.folder, *(TINY if arguments.tiny else (layers, width)), bands)


main()
