/*
 * SCReAM in front of an encoder of one's own (docs/guide/scream-library.md).
 *
 * The library has no socket, thread or clock. `now_ns` is a monotonic time in nanoseconds, the same clock for all
 * calls of one object; it must not run backwards. An object belongs to one thread at a time; different objects are
 * independent. All functions accept NULL where they take an object, and say SOJOURN_SCREAM_NULL.
 */
#ifndef SOJOURN_SCREAM_H
#define SOJOURN_SCREAM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What functions return: below zero, nothing has changed. */
enum sojourn_scream_result {
    SOJOURN_SCREAM_OK = 0,        /* done */
    SOJOURN_SCREAM_NONE = 1,      /* nothing to send now */
    SOJOURN_SCREAM_NULL = -1,     /* a pointer is NULL that must not be */
    SOJOURN_SCREAM_BAD = -2,      /* bytes that are no RTP or no RTCP feedback, rates or priority out of range */
    SOJOURN_SCREAM_UNKNOWN = -3,  /* no stream has this SSRC, or one has it already */
    SOJOURN_SCREAM_FULL = -4,     /* the queue is full, or there are ten streams */
    SOJOURN_SCREAM_SMALL = -5,    /* the buffer is too small */
    SOJOURN_SCREAM_PANIC = -6     /* a defect of the library; the object must be freed */
};

typedef struct sojourn_scream_sender sojourn_scream_sender;
typedef struct sojourn_scream_receiver sojourn_scream_receiver;

/* State and totals of a sender. */
typedef struct sojourn_scream_stats {
    uint64_t pushed;          /* packets queued */
    uint64_t packets;         /* packets given out */
    uint64_t bytes;           /* their bytes, RTP header included */
    uint64_t discarded;       /* packets thrown out of the queues */
    uint64_t reports;         /* reports read */
    uint64_t lost;            /* packets declared lost */
    uint32_t cwnd;            /* bytes that may be in flight */
    uint32_t in_flight;       /* bytes in flight */
    double queue_delay_s;     /* estimate of the bottleneck's queue */
    double srtt_s;            /* smoothed RTT */
    double sent_rate_bps;     /* all streams */
    double ce_percent;        /* share of the acknowledged packets that came with CE */
} sojourn_scream_stats;

/* Version of the library, such as "0.1.0"; never freed. */
const char *sojourn_scream_version(void);

/*
 * A sender with the parameters of `cc = "scream ..."` (`sojourn cc scream` lists them), "" for the defaults. NULL if they
 * are wrong; `error` (may be NULL) then has one line, cut to `error_size` bytes with its final zero.
 */
sojourn_scream_sender *sojourn_scream_sender_new(const char *options, uint64_t now_ns, char *error, size_t error_size);
void sojourn_scream_sender_free(sojourn_scream_sender *sender);

/* Adds a stream, at most ten. Rates in bit/s of payload, 1000 <= min <= init <= max <= 1e11; priority 0.001 to 1. */
int sojourn_scream_add_stream(sojourn_scream_sender *sender, uint32_t ssrc, float priority, float min_bps,
                              float init_bps, float max_bps);

/* Queues a whole RTP packet, which is copied. The marker bit must end each frame. */
int sojourn_scream_push(sojourn_scream_sender *sender, uint64_t now_ns, const uint8_t *packet, size_t length);

/*
 * What the stream's encoder should aim at, to be asked before each frame. `lost` becomes 1 if packets were lost or
 * thrown away since the last question: time for a key frame. Both may be NULL.
 */
int sojourn_scream_target(sojourn_scream_sender *sender, uint64_t now_ns, uint32_t ssrc, uint64_t *rate_bps, int *lost);

/*
 * The packet that leaves now. SOJOURN_SCREAM_OK: send `*length` bytes of `packet`, and ask again.
 * SOJOURN_SCREAM_NONE: ask again at `*again_ns` (UINT64_MAX: not before), or after a push or feedback.
 * SOJOURN_SCREAM_SMALL: the packet was thrown away; a buffer of the largest pushed packet never fails.
 */
int sojourn_scream_next(sojourn_scream_sender *sender, uint64_t now_ns, uint8_t *packet, size_t size, size_t *length,
                        uint64_t *again_ns);

/* Reads an RTCP datagram with RFC 8888 feedback; the count of SCReAM's own tools is recognised. */
int sojourn_scream_feedback(sojourn_scream_sender *sender, uint64_t now_ns, const uint8_t *datagram, size_t length);

/* The two ECN bits for the IP header of media packets: 0 Not-ECT, 1 ECT(1), 2 ECT(0). */
int sojourn_scream_ecn(const sojourn_scream_sender *sender);

int sojourn_scream_get_stats(const sojourn_scream_sender *sender, sojourn_scream_stats *stats);

/* The receiving side, with the same parameters (`version`, `reported`, `ackdiff`, `count`). */
sojourn_scream_receiver *sojourn_scream_receiver_new(const char *options, uint64_t now_ns, char *error,
                                                     size_t error_size);
void sojourn_scream_receiver_free(sojourn_scream_receiver *receiver);

/* An RTP packet arrived with this TOS or traffic class byte. */
int sojourn_scream_arrived(sojourn_scream_receiver *receiver, uint64_t now_ns, const uint8_t *packet, size_t length,
                           uint8_t tos);

/* The report that leaves now, as sojourn_scream_next; `size` at least SOJOURN_SCREAM_REPORT. */
int sojourn_scream_report(sojourn_scream_receiver *receiver, uint64_t now_ns, uint8_t *datagram, size_t size,
                          size_t *length, uint64_t *again_ns);

#define SOJOURN_SCREAM_REPORT 2048

#ifdef __cplusplus
}
#endif

#endif
