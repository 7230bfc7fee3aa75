"""16 threads share a Translator and a Transcriber: results are those of one thread, and memory does not grow. Two variables
choose how long: CLFORMER_SOAK_SECONDS (0, the default: a fixed number of calls) and CLFORMER_SOAK_CALLS."""

import gc
import os
import time
from concurrent.futures import ThreadPoolExecutor

import numpy
import pytest

import clformer
from conftest import SMALL, WHISPER

THREADS = 16
SECONDS = float(os.environ.get("CLFORMER_SOAK_SECONDS", "0"))
CALLS = int(os.environ.get("CLFORMER_SOAK_CALLS", "400" if SMALL else "2000"))
ROUNDS = 3  # of each thread, without a time


@pytest.fixture(scope="module")
def calls(translator, french):
    """The calls, with the results of one thread."""
    transcriber = clformer.Transcriber(WHISPER, beam=1, temperature=[0], no_speech_threshold=None)
    noise = numpy.random.default_rng(7).uniform(-0.3, 0.3, (2, 16000 * 3)).astype(numpy.float32)

    def transcribe(samples):
        return [(segment.start, segment.end, segment.text, segment.avg_logprob) for segment in transcriber.transcribe(samples)]

    found = [lambda line=line: translator.translate(line, beam=1) for line in french[:6]]
    found.append(lambda: [str(x) for x in translator.translate_batch(french[6:12], beam=2)])
    found.append(lambda: translator.score(french[0], "A sentence.").log_probability)
    found += [lambda samples=samples: transcribe(samples) for samples in noise]
    with transcriber:
        yield [(call, call()) for call in found]


def test_threads_share(calls):
    end = time.monotonic() + SECONDS

    def work(number):
        count = 0
        while count < ROUNDS * len(calls) or time.monotonic() < end:
            call, expected = calls[(number + count) % len(calls)]
            found = call()
            # A score is computed in batches whose size changes the last bits.
            assert found == (pytest.approx(expected, abs=1e-4) if isinstance(expected, float) else expected)
            count += 1
        return count

    with ThreadPoolExecutor(THREADS) as pool:
        total = sum(pool.map(work, range(THREADS)))
    print(f"{total} calls of {THREADS} threads had the results of one thread")


def resident():
    gc.collect()
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")


def test_memory_is_flat(calls):
    """Memory does not grow after as many calls as fill the caches, at least 400."""

    def work(count):
        with ThreadPoolExecutor(4) as pool:
            for first in range(0, count, 40):  # the pool keeps the results of a part
                assert None not in pool.map(lambda i: calls[i % len(calls)][0](), range(first, min(first + 40, count)))

    work(max(CALLS // 4, 400))
    before = resident()
    work(CALLS)
    growth = resident() - before
    print(f"{CALLS} calls: {before >> 20} MB resident before them, {growth} bytes more after them")
    assert growth < 12_000_000  # the allocator keeps some freed memory
