//! RTP headers (RFC 3550 5.1) as SCReAM's tool writes and reads them. Facts: `scream.md` 3.2.
