#include "support/samples.h"

#include "support/support.h"

int support_read_samples(float *samples, int most, struct clf_audio *audio)
{
    int total = 0;
    size_t count, wanted = 1;
    do {
        wanted = wanted % 3000 + 777;
        assert_true(total + (int)wanted <= most);
        assert_ok(clf_audio_read(samples + total, &count, audio, wanted));
        total += (int)count;
    } while (count == wanted);
    return total;
}
