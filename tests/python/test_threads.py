"""Threads, asyncio, Ctrl-C, forked processes, and memory."""

import asyncio
import gc
import itertools
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

import clformer
from conftest import CONFIG, MODEL, SMALL, WHISPER, run_python


def test_many_threads(translator, french):
    lines = french[: 32 if SMALL else 500]
    expected = [str(x) for x in translator.translate_batch(lines, beam=1)]
    with ThreadPoolExecutor(16) as pool:
        assert list(pool.map(lambda line: translator.translate(line, beam=1), lines)) == expected


def test_all_calls_at_a_time(translator, french):
    """16 threads make different calls; every result is that of one thread."""
    lines = french[:16]
    expected = [str(x) for x in translator.translate_batch(lines, beam=1)]
    score = translator.score(lines[0], expected[0]).log_probability
    weights = translator.attention(lines[1], expected[1]).cross
    end = time.monotonic() + (2 if SMALL else 300)

    def translate(i):
        assert translator.translate(lines[i], beam=1) == expected[i]

    def stream(i):
        assert "".join(translator.stream(lines[i])) == expected[i]

    def stop_early(i):
        next(translator.stream(lines[i]))

    def other_options(i):
        assert translator.translate(lines[i], beam=1, max_length=2 + next(counter) % 40) is not None

    def run_tasks(i):
        async def main():
            task = asyncio.create_task(translator.translate_batch_async(lines))
            found = await asyncio.gather(*(translator.translate_async(line, beam=1) for line in lines))
            task.cancel()
            return found

        assert asyncio.run(main()) == expected

    def others(i):
        assert translator.score(lines[0], expected[0]).log_probability == pytest.approx(score, abs=1e-4)
        assert translator.attention(lines[1], expected[1]).cross == pytest.approx(weights, abs=1e-5)

    counter = itertools.count()
    calls = [translate, stream, stop_early, other_options, run_tasks, others]

    def work(i):
        count = 0
        while time.monotonic() < end:
            calls[(i + count) % len(calls)](i)
            count += 1
        return count

    with ThreadPoolExecutor(16) as pool:
        assert min(pool.map(work, range(16))) > 0
    assert wait_until_idle(translator)


def wait_until_idle(translator):
    """Waits for the callbacks of cancelled jobs. Returns whether all jobs were freed."""
    for _ in range(200):
        gc.collect()
        if not translator._engine.jobs and translator._engine.users == 0:
            return True
        time.sleep(0.05)
    return False


def test_the_lock_of_python_is_free(translator, french):
    """Another thread runs while this one translates."""
    ticks, over = [], threading.Event()

    def tick():
        while not over.is_set():
            ticks.append(time.monotonic())
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    translator.translate_batch(french[:100], beam=1)
    over.set()
    thread.join()
    assert len(ticks) > 5


def test_asyncio(translator, french):
    expected = [str(x) for x in translator.translate_batch(french[:20], beam=1)]

    async def main():
        found = await asyncio.gather(*(translator.translate_async(line, beam=1) for line in french[:20]))
        batch = await translator.translate_batch_async(french[:20], beam=1)
        parts = [part async for part in translator.stream_async(french[0])]
        with pytest.raises(ValueError, match="beam"):
            await translator.translate_async("Merci", beam=0)
        return found, [str(x) for x in batch], "".join(parts)

    assert asyncio.run(main()) == (expected, expected, expected[0])


def test_cancelled_task(translator, french):
    async def main():
        task = asyncio.create_task(translator.translate_batch_async(french * 20))
        await asyncio.sleep(0.05)
        start = time.monotonic()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await translator.translate_async("Je suis étudiant") == "I'm a student."
        return time.monotonic() - start

    assert asyncio.run(main()) < 5
    assert wait_until_idle(translator)


def test_closed_during_a_call(french):
    translator = clformer.Translator(MODEL)
    errors = []

    def work():
        try:
            translator.translate_batch(french * 20)
        except clformer.Error as error:
            errors.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    time.sleep(0.2)
    translator.close()
    thread.join()
    assert [str(error) for error in errors] == ["the translator was closed during the call"]

    async def main():
        translator = clformer.Translator(MODEL)
        task = asyncio.create_task(translator.translate_batch_async(french * 20))
        await asyncio.sleep(0.05)
        translator.close()
        with pytest.raises(clformer.ClosedError, match="was closed during the call"):
            await task

    asyncio.run(main())


INTERRUPTED = {
    "translate": f"""
        translator = clformer.Translator({MODEL!r})
        translator.translate("Merci")
        print("ready", flush=True)
        while True:
            translator.translate_batch(["Je suis étudiant depuis deux ans."] * 2000)
    """,
    "stream": f"""
        translator = clformer.Translator({MODEL!r})
        translator.translate("Merci", beam=1)
        print("ready", flush=True)
        while True:
            list(translator.stream("Je suis étudiant"))
    """,
    "attention": f"""
        translator = clformer.Translator({MODEL!r})
        translator.attention("Merci")
        print("ready", flush=True)
        while True:
            translator.attention("Merci")
    """,
    "transcribe": f"""
        import numpy
        transcriber = clformer.Transcriber({WHISPER!r}, beam=1, no_speech_threshold=None)
        noise = numpy.random.default_rng(1).standard_normal(16000 * 60)
        next(transcriber.transcribe(noise, temperature=[0]))
        print("ready", flush=True)
        while True:
            list(transcriber.transcribe(noise, temperature=[0]))
    """,
    "train": f"""
        print("ready", flush=True)
        clformer.train("model", train=["a.txt", "b.txt"], tokens=True, batch_tokens=60, max_updates=10**9,
                       config={CONFIG!r})
    """,
    "load": f"""
        print("ready", flush=True)
        while True:
            clformer.Translator({MODEL!r}).close()
    """,
}


@pytest.mark.parametrize("name", ["translate", "transcribe", "train"] if SMALL else list(INTERRUPTED))
def test_interrupt(name, digits):
    work = textwrap.indent(textwrap.dedent(INTERRUPTED[name]), "    ")
    code = f"import clformer\ntry:\n{work}\nexcept KeyboardInterrupt:\n    print('interrupted')\n"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.3)
        start = time.monotonic()
        process.send_signal(signal.SIGINT)
        assert process.stdout.readline() == "interrupted\n"
        assert time.monotonic() - start < 10  # less than a second, unless the machine is busy
        assert process.wait(60) == 0


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_fork():
    done = run_python("""
        import os, sys, clformer
        translator = clformer.Translator(sys.argv[1])
        assert translator.translate("Je suis étudiant") == "I'm a student."
        child = os.fork()
        if child == 0:
            for call in (lambda: translator.translate("Merci"), lambda: list(translator.stream("Merci")),
                         lambda: translator.attention("Merci"), lambda: clformer.Translator(sys.argv[1]), clformer.devices):
                try:
                    call()
                except clformer.ForkError as error:
                    print(error)
            translator.close()
            sys.exit(3)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3
        print(translator.translate("Je suis étudiant"))
        """, MODEL)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == 6 and lines[-1] == "I'm a student."
    assert all("this object belongs to process" in line for line in lines[:3])
    assert all("OpenCL was used before this process was forked" in line for line in lines[3:5])


def test_fork_before_use():
    done = run_python("""
        import os, sys, clformer
        child = os.fork()
        if child == 0:
            print(clformer.Translator(sys.argv[1]).translate("Je suis étudiant"), flush=True)
            sys.exit(0)
        sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        """, MODEL)
    assert (done.returncode, done.stdout) == (0, "I'm a student.\n"), done.stderr


def test_unclosed_objects_at_the_end():
    done = run_python("""
        import asyncio, sys, clformer
        translator = clformer.Translator(sys.argv[1])
        parts = translator.stream("Je suis étudiant")
        next(parts)
        transcriber = clformer.Transcriber(sys.argv[2])
        async def main():
            asyncio.create_task(translator.translate_batch_async(["Merci"] * 1000))
            await asyncio.sleep(0.05)
        asyncio.run(main())
        """, MODEL, WHISPER)
    assert (done.returncode, done.stderr) == (0, "")


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")


def test_memory(translator):
    """Memory does not grow over many calls."""
    calls = 300 if SMALL else 10000

    async def wait(count):
        for _ in range(count):
            await translator.translate_async("", beam=1)

    def work(count):
        for i in range(count):
            translator.translate("", beam=1, n_best=1)
            translator.translate_batch(["", ""], min_length=i % 50)
        for _ in range(count // 50):
            translator.translate_batch(["Merci"], beam=1)
            list(translator.stream("Merci"))
            translator.attention("Merci")
            translator.score("Merci", "Thanks.")
        asyncio.run(wait(count // 4))

    work(calls)
    before = resident()
    work(calls)
    assert resident() - before < 2_000_000


def test_memory_of_models():
    """Closing a translator frees the model."""

    def work(count):
        for _ in range(count):
            with clformer.Translator(MODEL) as translator:
                translator.translate("Merci", beam=1)

    work(2)
    before = resident()
    count = 4 if SMALL else 10
    work(count)
    assert resident() - before < count * 15_000_000  # the weights have 30 MB; the allocator keeps some freed memory
