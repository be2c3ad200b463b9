//! The part of a stream that is in memory.

use std::io::{self, Read};

/// Bytes that are read at once: few enough that they leave a processor's second cache to who looks at the packets.
const CHUNK: usize = 1 << 16;

/// A buffer that slides over a stream.
pub(super) struct Window {
    source: Box<dyn Read + Send>,
    buffer: Vec<u8>,
    from: usize,
    to: usize,
    /// Of `from` in the stream.
    offset: u64,
    has_ended: bool,
    error: Option<io::Error>,
}

impl Window {
    pub(super) fn new(source: Box<dyn Read + Send>) -> Self {
        let buffer = vec![0; CHUNK];
        Self { source, buffer, from: 0, to: 0, offset: 0, has_ended: false, error: None }
    }

    /// Whether this number of bytes is there, which the stream is read for.
    #[inline]
    pub(super) fn has(&mut self, len: usize) -> bool {
        self.to - self.from >= len || self.fill(len)
    }

    #[cold]
    fn fill(&mut self, len: usize) -> bool {
        while self.to - self.from < len && !self.has_ended {
            if self.to == self.buffer.len() {
                self.make_room();
            }
            match self.source.read(&mut self.buffer[self.to..]) {
                Ok(0) => self.has_ended = true,
                Ok(read) => self.to += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    self.has_ended = true;
                    self.error = Some(error);
                }
            }
        }
        self.to - self.from >= len
    }

    /// Moves what is there to the front, or doubles the buffer where that would move more than was consumed. So it
    /// grows with what the stream has, not with what a length in it claims.
    fn make_room(&mut self) {
        if self.from >= self.to - self.from {
            self.buffer.copy_within(self.from..self.to, 0);
            self.to -= self.from;
            self.from = 0;
        } else {
            self.buffer.resize(2 * self.buffer.len(), 0);
        }
    }

    /// What is there, at least what [`Window::has`] was asked for.
    #[inline]
    pub(super) fn bytes(&self) -> &[u8] {
        &self.buffer[self.from..self.to]
    }

    /// Where in the buffer the bytes are, until the next call of [`Window::has`].
    #[inline]
    pub(super) fn position(&self) -> usize {
        self.from
    }

    /// Bytes by their place in the buffer.
    #[inline]
    pub(super) fn at(&self, at: usize, len: usize) -> &[u8] {
        &self.buffer[at..at + len]
    }

    /// Goes on by this number of bytes, which are there.
    #[inline]
    pub(super) fn consume(&mut self, len: usize) {
        debug_assert!(len <= self.to - self.from, "only what is there can be consumed");
        self.from += len;
        self.offset += len as u64;
    }

    /// Goes to the stream's end, and tells how many bytes that were.
    pub(super) fn skip_all(&mut self) -> u64 {
        let before = self.offset;
        while self.has(1) {
            self.consume(self.to - self.from);
        }
        self.offset - before
    }

    /// Bytes of the stream before those that are there.
    #[inline]
    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    /// What has ended the stream before its end.
    pub(super) fn error(&mut self) -> Option<io::Error> {
        self.error.take()
    }

    /// The first bytes, for a message.
    pub(super) fn beginning(&self) -> String {
        match self.bytes() {
            [] => "nothing".to_owned(),
            bytes => {
                let hex: Vec<String> =
                    bytes.iter().take(4).map(|byte| format!("{byte:02x}")).collect();
                format!("the bytes {}", hex.join(" "))
            }
        }
    }
}
