//! Plain bytes of a file that may be compressed, by how it begins. All three decoders read streams, with memory
//! for their windows alone.

use std::io::{self, BufRead, BufReader, Read};

use flate2::bufread::MultiGzDecoder;
use lzma_rust2::XzReader;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

use crate::facts::Compression;

/// Memory that xz may ask for, KiB: `xz -9` needs half of it. A window of zstd has the same bound by its crate.
const MOST_XZ_KIB: u32 = 128 << 10;

type Source = Box<dyn Read + Send>;

/// The stream without its compression.
pub(super) fn plain(mut source: Source) -> io::Result<(Source, Option<Compression>)> {
    let mut beginning = Vec::new();
    source.by_ref().take(6).read_to_end(&mut beginning)?;
    let compression = match beginning.as_slice() {
        // RFC 1952 2.3.1.
        [0x1f, 0x8b, ..] => Some(Compression::Gzip),
        // The .xz file format 1.2.1, 2.1.1.1.
        [0xfd, b'7', b'z', b'X', b'Z', 0] => Some(Compression::Xz),
        // RFC 8878 3.1.1, 3.1.2: a frame, or one to be skipped.
        [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => {
            Some(Compression::Zstd)
        }
        _ => None,
    };
    let whole = io::Cursor::new(beginning).chain(source);
    let source: Source = match compression {
        None => Box::new(whole),
        Some(Compression::Gzip) => Box::new(MultiGzDecoder::new(BufReader::new(whole))),
        Some(Compression::Xz) => {
            Box::new(XzReader::new_mem_limit(BufReader::new(whole), true, MOST_XZ_KIB))
        }
        Some(Compression::Zstd) => {
            Box::new(Zstd { source: BufReader::new(whole), decoder: FrameDecoder::new() })
        }
    };
    Ok((source, compression))
}

/// The frames of a zstd stream, one after the other (RFC 8878 3).
struct Zstd<R> {
    source: R,
    decoder: FrameDecoder,
}

impl<R: BufRead> Read for Zstd<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        loop {
            if self.decoder.can_collect() > 0 {
                return self.decoder.read(out);
            }
            if !self.decoder.is_finished() {
                let one = BlockDecodingStrategy::UptoBlocks(1);
                self.decoder.decode_blocks(&mut self.source, one).map_err(io::Error::other)?;
            } else if self.source.fill_buf()?.is_empty() {
                return Ok(0);
            } else {
                self.begin_frame()?;
            }
        }
    }
}

impl<R: BufRead> Zstd<R> {
    fn begin_frame(&mut self) -> io::Result<()> {
        match self.decoder.init(&mut self.source) {
            Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                length,
                ..
            })) => {
                io::copy(&mut self.source.by_ref().take(length.into()), &mut io::sink())?;
                Ok(())
            }
            other => other.map_err(io::Error::other),
        }
    }
}
