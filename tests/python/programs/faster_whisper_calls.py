"""faster-whisper's calls: faster_whisper_calls.py FOLDER."""

import sys
import threading

from faster_whisper import BatchedInferencePipeline, WhisperModel
from shared import RATE, make_audio, put


def rows(segments):
    return [{"seek": one.seek, "times": [round(one.start, 2), round(one.end, 2)], "text": one.text, "tokens": one.tokens,
             "temperature": one.temperature, "avg_logprob": round(one.avg_logprob, 4),
             "no_speech_prob": round(one.no_speech_prob, 4),
             "words": None if one.words is None else [[w.word, round(w.start, 2), round(w.end, 2), round(w.probability, 3)]
                                                      for w in one.words]} for one in segments]


def main():
    model = WhisperModel(sys.argv[1], device="cpu", compute_type="float32", cpu_threads=1)
    audio = make_audio(41)
    common = {"temperature": 0, "no_speech_threshold": None, "compression_ratio_threshold": None, "log_prob_threshold": None,
              "language": "pt", "max_new_tokens": 20}
    found = {}
    for name, options in {
        "greedy": {"beam_size": 1}, "beam": {"beam_size": 5}, "words": {"beam_size": 1, "word_timestamps": True},
        "patience": {"beam_size": 3, "patience": 2.0, "length_penalty": 0.6},
        "prompt": {"beam_size": 2, "initial_prompt": "the heath", "condition_on_previous_text": False},
        "prefix": {"beam_size": 1, "prefix": " the"}, "hotwords": {"beam_size": 1, "hotwords": "heath"},
        "penalty": {"beam_size": 2, "repetition_penalty": 1.2, "no_repeat_ngram_size": 2},
        "all tokens": {"beam_size": 1, "suppress_tokens": [], "suppress_blank": False}, "clips": {"beam_size": 1, "clip_timestamps": "3,8"},
        "translation": {"beam_size": 1, "task": "translate", "max_initial_timestamp": 0.0},
    }.items():
        found[name] = rows(model.transcribe(audio, **{**common, **options})[0])
    segments, info = model.transcribe(audio, beam_size=1, **{**common, "language": None})
    found["detected"] = [info.language, round(info.language_probability, 4), rows(segments)]
    found["every window"] = rows(model.transcribe(audio, beam_size=1, multilingual=True, **common)[0])
    clips = [{"start": float(k), "end": k + 9.0} for k in (0, 9, 20)]
    found["batched"] = rows(BatchedInferencePipeline(model).transcribe(
        audio, batch_size=3, beam_size=2, word_timestamps=True, vad_filter=False, clip_timestamps=clips, **common)[0])
    texts = [None] * 3

    def run(k):
        texts[k] = rows(model.transcribe(audio, beam_size=1, **common)[0])

    threads = [threading.Thread(target=run, args=(k,)) for k in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found["threads"] = all(text == found["greedy"] for text in texts)
    samples = rows(model.transcribe(audio[: 5 * RATE], beam_size=1, best_of=2, **{**common, "temperature": [0.4]})[0])
    found["samples"] = all(one["temperature"] == 0.4 for one in samples)
    put(found)


main()
