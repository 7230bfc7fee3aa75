/* Streams of samples: WAV whose length is unknown, and samples without a header, from files and pipes. */
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <clformer/audio.h>

#include "audio/live_reader.h"
#include "base/file.h"
#include "base/little_endian.h"
#include "support/process.h"

enum { COUNT = 20000, HEADER = 44 };

/* A WAV stream. */
struct wav {
    int rate, channels, bits, kind;
    uint32_t declared; /* bytes of samples according to the header */
    int has_list;      /* another chunk precedes the samples */
    uint8_t *bytes;
    size_t size;
};

static double value_at(int frame, int channel)
{
    return 0.4 * sin(0.01 * frame) + 0.1 * channel;
}

static void add(struct wav *wav, const void *bytes, size_t size)
{
    memcpy(wav->bytes + wav->size, bytes, size);
    wav->size += size;
}

static void add_number(struct wav *wav, uint32_t value, size_t size)
{
    uint8_t bytes[4];
    clf__write_32(bytes, value);
    add(wav, bytes, size);
}

static void add_sample(struct wav *wav, double value)
{
    if (wav->kind == 3) {
        float real = (float)value;
        add(wav, &real, sizeof real);
    } else if (wav->bits == 8) {
        add_number(wav, (uint32_t)lrint(value * 127) + 128, 1);
    } else {
        add_number(wav, (uint32_t)(int32_t)lrint(value * (ldexp(1, wav->bits - 1) - 1)),
                   (size_t)wav->bits / 8);
    }
}

static void write_wav(struct wav *wav, int frames)
{
    wav->bytes = support_array((size_t)frames * (size_t)(wav->channels * wav->bits / 8) + 200, 1);
    uint32_t frame = (uint32_t)(wav->channels * wav->bits / 8);
    add(wav, "RIFF\xff\xff\xff\xffWAVEfmt ", 16);
    add_number(wav, wav->kind == 0xFFFE ? 40 : 16, 4);
    add_number(wav, (uint32_t)wav->kind, 2);
    add_number(wav, (uint32_t)wav->channels, 2);
    add_number(wav, (uint32_t)wav->rate, 4);
    add_number(wav, (uint32_t)wav->rate * frame, 4);
    add_number(wav, frame, 2);
    add_number(wav, (uint32_t)wav->bits, 2);
    if (wav->kind == 0xFFFE) {
        add(wav, "\x16\0\0\0\0\0\0\0\x01\0\0\0\0\0\x10\0\x80\0\0\xaa\0\x38\x9b\x71", 24);
    }
    if (wav->has_list) {
        add(wav, "LIST\x05\0\0\0abcde\0", 14);
    }
    add(wav, "data", 4);
    add_number(wav, wav->declared, 4);
    for (int i = 0; i < frames; i++) {
        for (int c = 0; c < wav->channels; c++) {
            add_sample(wav, value_at(i, c));
        }
    }
}

/* Reads a whole stream. */
static int read_all(float *samples, struct clf__live_reader *reader)
{
    int total = 0;
    size_t count;
    do {
        assert_ok(clf__live_reader_read(samples + total, &count, reader, (size_t)(total % 700) + 1));
        total += (int)count;
    } while (count > 0);
    return total;
}

static const char *store(const void *bytes, size_t size)
{
    const char *folder = support_temporary_folder();
    process_write(folder, "stream", bytes, size);
    return process_format("%s/stream", folder);
}

/* All encodings give the same samples; data after the declared length is ignored. */
static void test_encodings(void **state)
{
    (void)state;
    const struct wav streams[] = {
        {16000, 1, 16, 1, 0xFFFFFFFF, 0, NULL, 0}, {16000, 1, 16, 1, 0, 1, NULL, 0},
        {16000, 2, 24, 1, 0x7FFFF000, 1, NULL, 0}, {16000, 3, 32, 1, 0xFFFFFFFF, 0, NULL, 0},
        {16000, 1, 8, 1, 0x80000000, 0, NULL, 0},  {16000, 2, 32, 3, 0xFFFFFFFF, 0, NULL, 0},
        {16000, 1, 16, 0xFFFE, 0, 0, NULL, 0},     {16000, 1, 16, 1, COUNT, 0, NULL, 0},
    };
    float *samples = support_array(COUNT + 1000, sizeof *samples);
    for (size_t i = 0; i < sizeof streams / sizeof *streams; i++) {
        struct wav wav = streams[i];
        struct clf__live_reader *reader;
        write_wav(&wav, COUNT);
        wav.size += i == 1 ? 1 : 0; /* an incomplete frame at the end */
        assert_ok(clf__live_reader_open(&reader, store(wav.bytes, wav.size), 0, NULL, NULL));
        assert_int_equal(clf__live_reader_waiting(reader), 0);
        assert_int_equal(read_all(samples, reader), wav.declared == COUNT ? COUNT / 2 : COUNT);
        for (int k = 0; k < COUNT / 2; k++) {
            double expected = value_at(k, 0) + 0.05 * (wav.channels - 1);
            assert_true(fabs((double)samples[k] - expected) < (wav.bits == 8 ? 0.01 : 1e-4));
        }
        clf__live_reader_free(reader);
    }
}

static void test_raw(void **state)
{
    (void)state;
    int16_t bytes[COUNT];
    float *samples = support_array(2 * COUNT + 1000, sizeof *samples);
    struct clf__live_reader *reader;
    for (int i = 0; i < COUNT; i++) {
        bytes[i] = (int16_t)lrint(value_at(i, 0) * 32768);
    }
    const char *path = store(bytes, sizeof bytes);
    assert_ok(clf__live_reader_open(&reader, path, 16000, NULL, NULL));
    assert_int_equal(read_all(samples, reader), COUNT);
    for (int i = 0; i < COUNT; i++) {
        assert_true(samples[i] == (float)bytes[i] / 32768);
    }
    clf__live_reader_free(reader);
    if (clf_audio_reads_files()) { /* built with the resampler: the same samples as a whole recording */
        struct clf_audio *audio;
        float *whole = support_array(2 * COUNT + 1000, sizeof *whole);
        size_t count;
        assert_ok(clf_audio_open_raw(&audio, path, 8000));
        assert_ok(clf_audio_read(whole, &count, audio, 2 * COUNT + 1000));
        clf_audio_free(audio);
        assert_ok(clf__live_reader_open(&reader, path, 8000, NULL, NULL));
        assert_int_equal(read_all(samples, reader), count);
        for (size_t i = 0; i < count; i++) {
            assert_true(fabs((double)samples[i] - (double)whole[i]) < 1e-6);
        }
        clf__live_reader_free(reader);
    }
}

static int ask(void *user)
{
    int *left = user;
    return --*left <= 0;
}

/* A pipe: samples are read as they arrive; a reader that waits can be interrupted. */
static void test_pipe(void **state)
{
    (void)state;
    int16_t bytes[1000] = {0};
    float samples[2000];
    size_t count;
    int polls = 1000;
    const char *path = support_temporary_path("pipe");
    struct clf__live_reader *reader;
    assert_int_equal(mkfifo(path, 0600), 0);
    int writer = open(path, O_RDWR);
    assert_true(writer >= 0);
    assert_ok(clf__live_reader_open(&reader, path, 16000, ask, &polls));
    for (int i = 1; i <= 5; i++) {
        assert_int_equal(write(writer, bytes, (size_t)i * 100 + 1), i * 100 + 1);
        assert_ok(clf__live_reader_read(samples, &count, reader, 2000));
        assert_int_equal(count, i * 50 + (i % 2 == 0)); /* half a sample of the previous block */
    }
    assert_int_equal(clf__live_reader_waiting(reader), 0);
    assert_int_equal(write(writer, bytes, 999), 999);
    assert_int_equal(clf__live_reader_waiting(reader), 500);
    polls = 3;
    assert_ok(clf__live_reader_read(samples, &count, reader, 2000));
    assert_int_equal(count, 500);
    assert_fails(clf__live_reader_read(samples, &count, reader, 2000), CLF_INTERRUPTED, "");
    polls = 1000;
    close(writer);
    assert_ok(clf__live_reader_read(samples, &count, reader, 2000));
    assert_int_equal(count, 0);
    clf__live_reader_free(reader);
}

static void refuse(const void *bytes, size_t size, const char *part)
{
    struct clf__live_reader *reader;
    float sample;
    size_t count;
    assert_ok(clf__live_reader_open(&reader, store(bytes, size), 0, NULL, NULL));
    assert_fails(clf__live_reader_read(&sample, &count, reader, 1), CLF_FORMAT, part);
    clf__live_reader_free(reader);
}

static void test_bad_streams(void **state)
{
    (void)state;
    const struct wav streams[] = {
        {999, 1, 16, 1, 0, 0, NULL, 0},   {1000001, 1, 16, 1, 0, 0, NULL, 0},
        {16000, 1, 64, 3, 0, 0, NULL, 0}, {16000, 1, 16, 17, 0, 0, NULL, 0},
        {16000, 1, 12, 1, 0, 0, NULL, 0},
    };
    struct wav good = {16000, 1, 16, 1, 0, 0, NULL, 0};
    struct clf__live_reader *reader;
    for (size_t i = 0; i < sizeof streams / sizeof *streams; i++) {
        struct wav wav = streams[i];
        write_wav(&wav, 10);
        refuse(wav.bytes, wav.size, "not a WAV stream of 8 to 32-bit samples");
    }
    refuse("", 0, "not a WAV stream");
    refuse("OggS............................................", 48, "not a WAV stream");
    write_wav(&good, 10);
    for (size_t size = 1; size < HEADER; size++) {
        refuse(good.bytes, size, "not a WAV stream");
    }
    memcpy(good.bytes + 12, "junk\xff\xff\xff\x7f", 8);
    refuse(good.bytes, good.size, "not a WAV stream");
    assert_fails(clf__live_reader_open(&reader, "/nowhere/stream", 0, NULL, NULL), CLF_FILE,
                 "/nowhere/stream: cannot be opened");
    assert_fails(clf__live_reader_open(&reader, "/tmp", 0, NULL, NULL), CLF_FILE, "/tmp: cannot be opened");
    assert_fails(clf__live_reader_open(&reader, "/tmp", 999, NULL, NULL), CLF_BAD_ARGUMENT, "999 Hz");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_encodings, support_teardown),
        cmocka_unit_test_teardown(test_raw, support_teardown),
        cmocka_unit_test_teardown(test_pipe, support_teardown),
        cmocka_unit_test_teardown(test_bad_streams, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
