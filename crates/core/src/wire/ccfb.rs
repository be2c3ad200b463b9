//! Congestion control feedback (RFC 8888 with erratum 8166, and the count that SCReAM's tool writes).
//! Facts: `scream.md` 3.4, 3.6, 3.7.
