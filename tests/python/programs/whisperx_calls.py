"""The calls of WhisperX and WhisperS2T, by faster-whisper's classes: whisperx_calls.py FOLDER."""

import sys

import ctranslate2
import numpy
from faster_whisper import WhisperModel
from faster_whisper.audio import pad_or_trim
from shared import RATE, make_audio, put


def main():
    model = WhisperModel(sys.argv[1], device="cpu", compute_type="float32", cpu_threads=1)
    audio = make_audio(41)
    clips = (audio[: 9 * RATE], audio[9 * RATE : 20 * RATE], audio[20 * RATE :])
    features = numpy.stack([pad_or_trim(model.feature_extractor(clip)) for clip in clips])
    encoded = model.encode(features)
    prompt = [263, 264, 268]
    texts = model.model.generate(encoded, [prompt] * 3, beam_size=5, patience=1.0, length_penalty=1.0, max_length=64,
                                 suppress_blank=True, suppress_tokens=[-1], no_repeat_ngram_size=0, repetition_penalty=1.0,
                                 return_scores=True)
    found = {"shape": list(encoded.shape), "tokens": [one.sequences_ids[0] for one in texts],
             "scores": [round(one.scores[0], 4) for one in texts],
             "text": model.hf_tokenizer.decode_batch([one.sequences_ids[0] for one in texts])}
    view = ctranslate2.StorageView.from_array(features[[0, 2]])
    words = [[i for i in texts[k].sequences_ids[0] if i < 262] for k in (0, 2)]
    aligned = model.model.align(view, start_sequence=prompt, text_tokens=words, num_frames=list(numpy.array([900, 1200])),
                                median_filter_width=7)
    found["ends"] = [[one.alignments[0], one.alignments[-1]] for one in aligned]
    found["probabilities"] = [[round(p, 3) for p in one.text_token_probs] for one in aligned]
    short = ctranslate2.StorageView.from_array(features[:1, :, :1100].copy())
    found["short"] = model.model.generate(short, [prompt], beam_size=1, max_length=64)[0].sequences_ids
    put(found)


main()
