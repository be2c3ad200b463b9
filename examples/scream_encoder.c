/*
 * An encoder behind SCReAM, in C: 60 frames per second over an emulated bottleneck of 20 Mbit/s that shrinks to
 * 5 Mbit/s after ten seconds. Prints the target and the state once per second. docs/guide/scream-library.md
 *
 *     cargo build --release -p sojourn-scream
 *     cc -o encoder examples/scream_encoder.c -Icrates/capi/include target/release/libsojourn_scream.a -lpthread -lm -ldl
 *     ./encoder
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sojourn_scream.h"

#define MS ((uint64_t)1000000) /* ns */
#define SSRC 0x5c12u
#define PAYLOAD 1200
#define HEADER 12
#define OVERHEAD 28 /* IPv4 and UDP */
#define DELAY (20 * MS)
#define CE 3

/* Reports on their way back. */
static struct { uint64_t at; size_t length; uint8_t bytes[SOJOURN_SCREAM_REPORT]; } way[1024];
static unsigned first, count;

static void fail(const char *what, int result)
{
    fprintf(stderr, "%s: %d\n", what, result);
    exit(1);
}

static uint16_t encode(sojourn_scream_sender *tx, uint64_t now, uint16_t seq, uint64_t rate_bps)
{
    size_t left = rate_bps / 8 / 60;
    uint32_t timestamp = (uint32_t)(now / 1000 * 9 / 100); /* 90 kHz */
    uint8_t packet[HEADER + PAYLOAD] = {0x80};

    do {
        size_t payload = left < PAYLOAD ? left : PAYLOAD;
        left -= payload;
        packet[1] = (uint8_t)((left ? 0 : 0x80) | 96); /* marker: the frame ends */
        packet[2] = (uint8_t)(seq >> 8);
        packet[3] = (uint8_t)seq;
        for (int i = 0; i < 4; i++) {
            packet[4 + i] = (uint8_t)(timestamp >> (24 - 8 * i));
            packet[8 + i] = (uint8_t)(SSRC >> (24 - 8 * i));
        }
        int result = sojourn_scream_push(tx, now, packet, HEADER + payload);
        if (result != SOJOURN_SCREAM_OK && result != SOJOURN_SCREAM_FULL)
            fail("push", result);
        seq++;
    } while (left);
    return seq;
}

int main(void)
{
    char error[200];
    sojourn_scream_sender *tx = sojourn_scream_sender_new("ect1 max_rate 50Mbit", 0, error, sizeof error);
    sojourn_scream_receiver *rx = sojourn_scream_receiver_new("", 0, error, sizeof error);
    if (!tx || !rx) {
        fprintf(stderr, "%s\n", error);
        return 1;
    }
    int result = sojourn_scream_add_stream(tx, SSRC, 1, 500e3f, 2e6f, 50e6f);
    if (result != SOJOURN_SCREAM_OK)
        fail("add_stream", result);

    printf("%4s %12s %10s %10s %8s %6s\n", "s", "link kbit/s", "target", "queue ms", "CE %", "keys");
    uint64_t now = 0, frame = 0, free_at = 0, line = 1000 * MS, target = 0;
    uint16_t seq = 0;
    unsigned keys = 0;
    while (now < 20000 * MS) {
        uint64_t link = now < 10000 * MS ? 20000000 : 5000000, again = UINT64_MAX;
        if (now >= frame) {
            int lost = 0;
            sojourn_scream_target(tx, now, SSRC, &target, &lost);
            keys += lost != 0; /* a real encoder would make a key frame */
            seq = encode(tx, now, seq, target);
            frame += 1000 * MS / 60;
        }
        while (count && way[first].at <= now) {
            result = sojourn_scream_feedback(tx, now, way[first].bytes, way[first].length);
            if (result != SOJOURN_SCREAM_OK)
                fail("feedback", result);
            first = (first + 1) % 1024;
            count--;
        }
        uint8_t packet[HEADER + PAYLOAD];
        size_t length;
        while ((result = sojourn_scream_next(tx, now, packet, sizeof packet, &length, &again)) == SOJOURN_SCREAM_OK) {
            /* The bottleneck: a queue that marks above 1 ms, and a receiver behind it. */
            uint64_t start = now > free_at ? now : free_at, at;
            free_at = start + (length + OVERHEAD) * 8 * 1000000000ull / link;
            uint8_t tos = start - now > MS ? CE : (uint8_t)sojourn_scream_ecn(tx);
            sojourn_scream_arrived(rx, free_at, packet, length, tos);
            unsigned last = (first + count) % 1024;
            while (count < 1024 && sojourn_scream_report(rx, free_at, way[last].bytes, sizeof way[last].bytes,
                                                         &way[last].length, &at) == SOJOURN_SCREAM_OK) {
                way[last].at = free_at + DELAY;
                last = (first + ++count) % 1024;
            }
        }
        if (result != SOJOURN_SCREAM_NONE)
            fail("next", result);
        if (now >= line) {
            sojourn_scream_stats stats;
            sojourn_scream_get_stats(tx, &stats);
            printf("%4" PRIu64 " %12" PRIu64 " %10" PRIu64 " %10.1f %8.1f %6u\n", now / (1000 * MS), link / 1000,
                   target / 1000, stats.queue_delay_s * 1e3, stats.ce_percent, keys);
            line += 1000 * MS;
        }
        uint64_t next = frame < again ? frame : again;
        if (count && way[first].at < next)
            next = way[first].at;
        now = next > now ? next : now + 1;
    }
    sojourn_scream_sender_free(tx);
    sojourn_scream_receiver_free(rx);
    return 0;
}
