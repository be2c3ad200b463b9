# %% [markdown]
# # SCReAM in front of an encoder
# 60 frames per second over an emulated bottleneck of 20 Mbit/s that shrinks to 5 Mbit/s after ten seconds. A program
# with a real encoder puts a socket where the emulated link is, and `time.monotonic_ns()` where `now` is.
# The calls are explained in `docs/guide/scream-library.md`.

# %%
import struct
from collections import deque

from sojourn.scream import Receiver, Sender

MS = 1_000_000  # ns
SSRC, PAYLOAD, OVERHEAD = 0x5C12, 1200, 28
DELAY, CE = 20 * MS, 3


def packets(frame: int, seq: int, size: int):
    """RTP packets of a frame; the last one has the marker bit."""
    while size > 0:
        payload = min(size, PAYLOAD)
        size -= payload
        header = struct.pack("!BBHII", 0x80, 96 | (0 if size else 0x80), seq & 0xFFFF, frame * 1500, SSRC)
        yield header + bytes(payload)
        seq += 1


# %%
tx = Sender("ect1 max_rate 50Mbit", now_ns=0)
tx.add_stream(SSRC, min_rate=500e3, init_rate=2e6, max_rate=50e6)
rx = Receiver(now_ns=0)

now = frame_at = free_at = 0
frame = seq = key_frames = 0
reports: deque[tuple[int, bytes]] = deque()
targets = []  # bit/s, once per second

while now < 20_000 * MS:
    link = 20e6 if now < 10_000 * MS else 5e6
    if now >= frame_at:
        target, lost = tx.target(now, SSRC)
        key_frames += lost  # a real encoder would make a key frame
        for packet in packets(frame, seq, target // 8 // 60):
            tx.push(now, packet)
            seq += 1
        if frame % 60 == 0:
            stats = tx.stats()
            print(
                f"{frame // 60:3} s  link {link / 1e6:4.0f} Mbit/s  target {target / 1e6:5.1f}  "
                f"queue {stats.queue_delay_s * 1e3:5.1f} ms  CE {stats.ce_percent:4.1f} %  key frames {key_frames}"
            )
            targets.append(target)
        frame, frame_at = frame + 1, (frame + 1) * 1000 * MS // 60
    while reports and reports[0][0] <= now:
        tx.feedback(now, reports.popleft()[1])
    while True:
        packet, again = tx.next(now)
        if packet is None:
            break
        # The bottleneck: a queue that marks above 1 ms, and a receiver behind it.
        start = max(now, free_at)
        free_at = start + int((len(packet) + OVERHEAD) * 8e9 / link)
        rx.arrived(free_at, packet, CE if start - now > MS else tx.ecn)
        while (report := rx.report(free_at).packet) is not None:
            reports.append((free_at + DELAY, report))
    then = [frame_at] + ([again] if again is not None else []) + ([reports[0][0]] if reports else [])
    now = max(min(then), now + 1)
