/* Loads FFmpeg's libraries when a recording needs them, so programs start without them. */
#ifndef CLF_AUDIO_FFMPEG_LOAD_H
#define CLF_AUDIO_FFMPEG_LOAD_H

#include <stddef.h>

#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/channel_layout.h>
#include <libavutil/log.h>
#include <libswresample/swresample.h>

#define CLF__AVFORMAT_FUNCTIONS(X)                                                                           \
    X(av_find_best_stream)                                                                                   \
    X(av_read_frame)                                                                                         \
    X(avformat_alloc_context)                                                                                \
    X(avformat_close_input)                                                                                  \
    X(avformat_find_stream_info)                                                                             \
    X(avformat_open_input)                                                                                   \
    X(avio_alloc_context)                                                                                    \
    X(avio_context_free)

#define CLF__AVCODEC_FUNCTIONS(X)                                                                            \
    X(av_packet_alloc)                                                                                       \
    X(av_packet_free)                                                                                        \
    X(av_packet_unref)                                                                                       \
    X(avcodec_alloc_context3)                                                                                \
    X(avcodec_free_context)                                                                                  \
    X(avcodec_open2)                                                                                         \
    X(avcodec_parameters_to_context)                                                                         \
    X(avcodec_receive_frame)                                                                                 \
    X(avcodec_send_packet)

#define CLF__SWRESAMPLE_FUNCTIONS(X)                                                                         \
    X(swr_alloc_set_opts2)                                                                                   \
    X(swr_convert)                                                                                           \
    X(swr_free)                                                                                              \
    X(swr_init)

#define CLF__AVUTIL_FUNCTIONS(X)                                                                             \
    X(av_channel_layout_compare)                                                                             \
    X(av_channel_layout_copy)                                                                                \
    X(av_channel_layout_uninit)                                                                              \
    X(av_frame_alloc)                                                                                        \
    X(av_frame_free)                                                                                         \
    X(av_free)                                                                                               \
    X(av_freep)                                                                                              \
    X(av_log_format_line2)                                                                                   \
    X(av_log_set_callback)                                                                                   \
    X(av_malloc)                                                                                             \
    X(av_rescale_q)                                                                                          \
    X(av_strerror)

/* FFmpeg's functions, with the types and names of its headers. */
struct clf__ffmpeg_functions {
#define CLF__FUNCTION(name) __typeof__(name) *(name);
    CLF__AVFORMAT_FUNCTIONS(CLF__FUNCTION)
    CLF__AVCODEC_FUNCTIONS(CLF__FUNCTION)
    CLF__SWRESAMPLE_FUNCTIONS(CLF__FUNCTION)
    CLF__AVUTIL_FUNCTIONS(CLF__FUNCTION)
#undef CLF__FUNCTION
};

/* Loads the libraries with the major versions of the headers and keeps them loaded. If one is missing,
 * returns 0 and writes the reason to `reason`. */
int clf__ffmpeg_load(struct clf__ffmpeg_functions *functions, char *reason, size_t size);

#endif
