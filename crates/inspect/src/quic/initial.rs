//! Initial packets, opened with the keys that anybody can derive from the client's first connection ID (RFC 9001
//! 5.2, RFC 9369 3.3).

use aes_gcm::aead::inout::InOutBuf;
use aes_gcm::aead::{AeadInOut, KeyInit};
use aes_gcm::aes::Aes128;
use aes_gcm::aes::cipher::BlockCipherEncrypt;
use aes_gcm::{Aes128Gcm, Tag};
use hkdf::Hkdf;
use sha2::Sha256;

use super::header::{Cursor, Id, Long, V1, V2};

/// RFC 9001 5.2.
const SALT_V1: [u8; 20] = [
    0x38, 0x76, 0x2c, 0xf7, 0xf5, 0x59, 0x34, 0xb3, 0x4d, 0x17, 0x9a, 0xe6, 0xa4, 0xc8, 0x0c, 0xad,
    0xcc, 0xbb, 0x7f, 0x0a,
];
/// RFC 9369 3.3.1.
const SALT_V2: [u8; 20] = [
    0x0d, 0xed, 0xe3, 0xde, 0xf7, 0x00, 0xa6, 0xdb, 0x81, 0x93, 0x81, 0xbe, 0x6e, 0x26, 0x9d, 0xcb,
    0xf9, 0xbd, 0x2e, 0xd9,
];
/// draft-ietf-quic-tls-29 5.2; drafts from 33 on have that of version 1.
const SALT_29: [u8; 20] = [
    0xaf, 0xbf, 0xec, 0x28, 0x99, 0x93, 0xd2, 0x4c, 0x9e, 0x97, 0x86, 0xf1, 0x9c, 0x61, 0x11, 0xe0,
    0x43, 0x90, 0xa8, 0x99,
];
const DRAFT_33: u32 = 0xff00_0021;
const TAG: usize = 16;
/// RFC 9001 5.4.2: sample of the ciphertext, behind the longest packet number.
const SAMPLE: usize = 16;
const LONGEST_NUMBER: usize = 4;
/// Longest packet that is opened: a datagram over Ethernet with jumbo frames.
const LONGEST: usize = 9000;

/// Keys of one direction.
#[derive(Clone)]
pub(super) struct Keys {
    aead: Aes128Gcm,
    block: Aes128,
    iv: [u8; 12],
    header: Aes128,
}

impl std::fmt::Debug for Keys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Keys")
    }
}

impl Keys {
    /// Those of client and server for the connection ID to which the client sent first.
    pub(super) fn new(version: u32, destination: &Id) -> [Self; 2] {
        let (salt, label) = match version {
            V2 => (SALT_V2, "quicv2 "),
            V1 | DRAFT_33.. => (SALT_V1, "quic "),
            _ => (SALT_29, "quic "),
        };
        let initial = Hkdf::<Sha256>::new(Some(&salt), destination.bytes());
        ["client in", "server in"].map(|end| {
            let secret: [u8; 32] = expand(&initial, end);
            let secret = Hkdf::from_prk(&secret).expect("a hash is long enough");
            let key: [u8; 16] = expand(&secret, &format!("{label}key"));
            let header: [u8; 16] = expand(&secret, &format!("{label}hp"));
            Self {
                aead: Aes128Gcm::new(&key.into()),
                block: Aes128::new(&key.into()),
                iv: expand(&secret, &format!("{label}iv")),
                header: Aes128::new(&header.into()),
            }
        })
    }

    /// Removes the protection and reads the frames. None if these are not the keys. Of a packet that the
    /// capture has cut the tag is missing: then the reserved bits and what is there of the frames must be right.
    pub(super) fn open(&self, packet: &Long<'_>) -> Option<Opened> {
        let Long { bytes, number_at, len, .. } = *packet;
        let sample_at = number_at + LONGEST_NUMBER;
        let mut mask = *bytes.get(sample_at..)?.first_chunk::<SAMPLE>()?;
        if len > LONGEST || len < sample_at + SAMPLE {
            return None;
        }
        // RFC 9001 5.4.1.
        let mut block = mask.into();
        self.header.encrypt_block(&mut block);
        mask.copy_from_slice(&block);
        let mut header = bytes[..sample_at].to_vec();
        header[0] ^= mask[0] & 0x0f;
        let number_len = usize::from(header[0] & 3) + 1;
        header.truncate(number_at + number_len);
        let number_bytes = &mut header[number_at..];
        number_bytes.iter_mut().zip(&mask[1..]).for_each(|(byte, mask)| *byte ^= mask);
        // RFC 9000 A.3: Initial packets are too few for their numbers to wrap.
        let number = number_bytes.iter().fold(0, |all, byte| all << 8 | u32::from(*byte));
        let mut nonce = self.iv;
        nonce[8..].iter_mut().zip(number.to_be_bytes()).for_each(|(byte, n)| *byte ^= n);
        let is_whole = bytes.len() == len;
        let end = bytes.len().min(len - TAG);
        let mut text = bytes[header.len()..end].to_vec();
        if is_whole {
            let tag: Tag = bytes[end..].first_chunk::<TAG>().copied()?.into();
            let buffer = InOutBuf::from(&mut text[..]);
            self.aead.decrypt_inout_detached(&nonce.into(), &header, buffer, &tag).ok()?;
        } else {
            self.decipher(&nonce, &mut text);
            // RFC 9000 17.2: the reserved bits are zero, unless somebody greases them.
            (header[0] & 0x0c == 0).then_some(())?;
        }
        let frames = Frames::read(&text, is_whole)?;
        Some(Opened { number, acks: frames.acks, has_crypto: frames.has_crypto })
    }

    /// Protects a packet whose header ends with a number of `number_len` bytes (RFC 9001 5.3, 5.4).
    #[cfg(test)]
    pub(super) fn seal(&self, header: &[u8], number_len: usize, text: &[u8]) -> Vec<u8> {
        let number = &header[header.len() - number_len..];
        let mut nonce = self.iv;
        nonce[12 - number_len..].iter_mut().zip(number).for_each(|(byte, n)| *byte ^= n);
        let mut packet = [header, text].concat();
        let buffer = InOutBuf::from(&mut packet[header.len()..]);
        let tag = self.aead.encrypt_inout_detached(&nonce.into(), header, buffer);
        packet.extend(tag.expect("it is short"));
        let sample = header.len() - number_len + LONGEST_NUMBER;
        let mut mask = (*packet[sample..].first_chunk::<SAMPLE>().expect("a sample")).into();
        self.header.encrypt_block(&mut mask);
        packet[0] ^= mask[0] & 0x0f;
        let number = &mut packet[header.len() - number_len..header.len()];
        number.iter_mut().zip(&mask[1..]).for_each(|(byte, mask)| *byte ^= mask);
        packet
    }

    /// Counter mode without its authentication (NIST SP 800-38D 7.2: the counter of the first block is 2).
    fn decipher(&self, nonce: &[u8; 12], text: &mut [u8]) {
        for (counter, part) in (2_u32..).zip(text.chunks_mut(16)) {
            let mut block = [0; 16];
            block[..12].copy_from_slice(nonce);
            block[12..].copy_from_slice(&counter.to_be_bytes());
            let mut block = block.into();
            self.block.encrypt_block(&mut block);
            part.iter_mut().zip(block).for_each(|(byte, key)| *byte ^= key);
        }
    }
}

/// HKDF-Expand-Label without context (RFC 8446 7.1).
fn expand<const N: usize>(secret: &Hkdf<Sha256>, label: &str) -> [u8; N] {
    let label = format!("tls13 {label}");
    let head = [0, N as u8, label.len() as u8];
    let mut out = [0; N];
    secret
        .expand_multi_info(&[&head, label.as_bytes(), &[0]], &mut out)
        .expect("less than 255 hashes");
    out
}

/// What an Initial packet says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Opened {
    pub(super) number: u32,
    pub(super) acks: Acks,
    pub(super) has_crypto: bool,
}

/// ACK frames of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Acks {
    /// Frames without and with ECN counts.
    pub(super) frames: [u64; 2],
    /// Packets that the last one acknowledges.
    pub(super) packets: u64,
    /// Its counts: ECT(0), ECT(1), CE.
    pub(super) ecn: Option<[u64; 3]>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Frames {
    acks: Acks,
    has_crypto: bool,
}

impl Frames {
    /// Frames that an Initial packet may have (RFC 9000 12.4, 17.2.2). None if there are others. Of a packet that
    /// was cut the last frame may be incomplete, but there is one whole, or the beginning of a handshake message.
    fn read(text: &[u8], is_whole: bool) -> Option<Self> {
        let mut cursor = Cursor { bytes: text, at: 0 };
        let mut frames = Self::default();
        while cursor.at < text.len() {
            let at = cursor.at;
            match (frames.step(&mut cursor), is_whole) {
                (Some(true), _) => {}
                (Some(false), _) | (None, true) => return None,
                (None, false) => return (at > 0 || text[at] == CRYPTO).then_some(frames),
            }
        }
        Some(frames)
    }

    /// Reads a frame. None: it is not all there. False: it may not be here.
    fn step(&mut self, cursor: &mut Cursor<'_>) -> Option<bool> {
        match cursor.varint()? as u8 {
            PADDING | PING => {}
            kind @ (ACK | ACK_ECN) => self.acks.read(cursor, kind == ACK_ECN)?,
            CRYPTO => {
                self.has_crypto = true;
                cursor.varint()?;
                let len = cursor.varint()?;
                cursor.take(usize::try_from(len).ok()?)?;
            }
            CONNECTION_CLOSE => {
                cursor.varint()?;
                cursor.varint()?;
                let len = cursor.varint()?;
                cursor.take(usize::try_from(len).ok()?)?;
            }
            _ => return Some(false),
        }
        Some(true)
    }
}

const PADDING: u8 = 0x00;
const PING: u8 = 0x01;
const ACK: u8 = 0x02;
const ACK_ECN: u8 = 0x03;
const CRYPTO: u8 = 0x06;
const CONNECTION_CLOSE: u8 = 0x1c;

impl Acks {
    /// RFC 9000 19.3.
    fn read(&mut self, cursor: &mut Cursor<'_>, has_ecn: bool) -> Option<()> {
        let (_largest, _delay, ranges) = (cursor.varint()?, cursor.varint()?, cursor.varint()?);
        let mut packets = cursor.varint()?.saturating_add(1);
        // Each takes two bytes at least, so that what is there bounds them.
        for _ in 0..ranges {
            let (_gap, len) = (cursor.varint()?, cursor.varint()?);
            packets = packets.saturating_add(len).saturating_add(1);
        }
        let ecn = if has_ecn {
            Some([cursor.varint()?, cursor.varint()?, cursor.varint()?])
        } else {
            None
        };
        self.frames[usize::from(has_ecn)] += 1;
        (self.packets, self.ecn) = (packets, ecn);
        Some(())
    }
}

#[cfg(test)]
mod tests;
