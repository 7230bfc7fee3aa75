#define _XOPEN_SOURCE 700 /* pread() */

#include "audio/byte_range.h"

#include <stdio.h>
#include <unistd.h>

int64_t clf__byte_range_size(const struct clf__byte_range *range)
{
    return range->end - range->begin;
}

int64_t clf__byte_range_read(struct clf__byte_range *range, void *target, int64_t wanted)
{
    int64_t left = clf__byte_range_size(range) - range->at, done = 0;
    wanted = wanted < left ? wanted : left;
    while (done < wanted) {
        ssize_t got = pread(range->descriptor, (char *)target + done, (size_t)(wanted - done),
                            (off_t)(range->begin + range->at));
        if (got <= 0) {
            break;
        }
        done += got;
        range->at += got;
    }
    return done;
}

int64_t clf__byte_range_seek(struct clf__byte_range *range, int64_t offset, int whence)
{
    int64_t from = whence == SEEK_SET ? 0 : whence == SEEK_CUR ? range->at : clf__byte_range_size(range);
    range->at = offset < -from ? 0 : from + offset;
    return range->at;
}
