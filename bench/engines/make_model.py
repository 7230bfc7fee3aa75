"""Writes a MarianMT folder with random weights and a file of input lines of subword tokens.

base is a Transformer-base in the shape of OPUS-MT; long has positions for 2,048 source tokens and a small vocabulary; nllb
and bart have the shapes of NLLB-200 distilled 600M and of BART large, with weights in fp16. --tiny makes everything small
except the lengths, to try out a script. Translations are meaningless; only their times are used.
"""
import argparse
import io
import json
import pathlib
import random

import sentencepiece
import torch
from transformers import GenerationConfig, MarianConfig, MarianMTModel

BASE = {"vocabulary": 58101, "positions": 512, "width": 512, "layers": 6, "heads": 8, "ffn": 2048, "tokens": 31}
LARGE = {**BASE, "width": 1024, "layers": 12, "heads": 16, "ffn": 4096}
SHAPES = {  # a line has "tokens" tokens plus the end token
    "base": BASE,
    "long": {**BASE, "vocabulary": 4001, "positions": 2048},
    "nllb": {**LARGE, "vocabulary": 256206},
    "bart": {**LARGE, "vocabulary": 50265, "positions": 1024, "tokens": 349},
}
TINY = {"vocabulary": 1001, "width": 64, "layers": 1, "heads": 2, "ffn": 128}
LONG_TOKENS = (128, 512, 1024, 2048)


def train_sentencepiece(random_numbers):
    """Trains a SentencePiece model, which converters require; it is not used for the lines."""
    def words():
        for _ in range(2000):
            yield " ".join("".join(random_numbers.choices("aeioulnrstdmkp", k=5)) for _ in range(8))

    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=words(), model_writer=model, vocab_size=300, model_type="unigram", minloglevel=2,
        unk_id=0, bos_id=-1, eos_id=-1, pad_id=-1, hard_vocab_limit=False)
    return model.getvalue()


def write_texts(folder, size, random_numbers):
    pieces = train_sentencepiece(random_numbers)
    for side in ("source", "target"):
        (folder / f"{side}.spm").write_bytes(pieces)
    processor = sentencepiece.SentencePieceProcessor(model_proto=pieces)
    known = [processor.id_to_piece(i) for i in range(processor.get_piece_size())]
    names = list(dict.fromkeys(["</s>", "<unk>", *known]))
    names += [f"▁{i}" for i in range(len(names), size - 1)] + ["<pad>"]
    (folder / "vocab.json").write_text(json.dumps({name: i for i, name in enumerate(names)}, ensure_ascii=False))
    (folder / "tokenizer_config.json").write_text(json.dumps({
        "tokenizer_class": "MarianTokenizer", "source_lang": "xx", "target_lang": "yy", "separate_vocabs": False,
        "model_max_length": 2048}))
    return names[len(known) + 2:-1]


def write_lines(path, words, count, length, random_numbers):
    lines = (" ".join(random_numbers.choices(words, k=length)) for _ in range(count))
    path.write_text("".join(line + "\n" for line in lines))


def write_weights(folder, shape, is_half):
    pad = shape["vocabulary"] - 1
    config = MarianConfig(
        vocab_size=shape["vocabulary"], decoder_vocab_size=shape["vocabulary"],
        max_position_embeddings=shape["positions"], d_model=shape["width"], encoder_layers=shape["layers"],
        decoder_layers=shape["layers"], encoder_attention_heads=shape["heads"],
        decoder_attention_heads=shape["heads"], encoder_ffn_dim=shape["ffn"], decoder_ffn_dim=shape["ffn"],
        activation_function="swish", static_position_embeddings=True, scale_embedding=True,
        tie_word_embeddings=True, share_encoder_decoder_embeddings=True, pad_token_id=pad, eos_token_id=0,
        forced_eos_token_id=0, decoder_start_token_id=pad)
    model = MarianMTModel(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() == 2:
                parameter.normal_(0, parameter.shape[1] ** -0.5)
        model.model.shared.weight[pad] = 0
    model.generation_config = GenerationConfig(
        num_beams=4, max_length=128, bad_words_ids=[[pad]], pad_token_id=pad, eos_token_id=0, forced_eos_token_id=0,
        decoder_start_token_id=pad, renormalize_logits=True)
    (model.half() if is_half else model).save_pretrained(folder)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("shape", choices=SHAPES)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--lines", type=int, default=64, help="number of input lines (default: 64)")
    parser.add_argument("--tiny", action="store_true")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(1)
    random_numbers = random.Random(1)
    shape = {**SHAPES[arguments.shape], **(TINY if arguments.tiny else {})}
    words = write_texts(arguments.folder, shape["vocabulary"], random_numbers)
    if arguments.shape == "long":
        for tokens in LONG_TOKENS:
            write_lines(arguments.folder / f"work-{tokens}.txt", words, 1, tokens - 1, random_numbers)
    else:
        write_lines(arguments.folder / "work.txt", words, arguments.lines, shape["tokens"], random_numbers)
    write_weights(arguments.folder, shape, is_half=arguments.shape in ("nllb", "bart"))


main()
