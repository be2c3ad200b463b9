//! Thrift's compact protocol, as far as Parquet's structures take it; fields in ascending order.

/// Wire types of fields and of the elements of lists.
const I32: u8 = 5;
const I64: u8 = 6;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const STRUCT: u8 = 12;
/// Above this a list's size follows its header.
const SHORT_LIST: usize = 14;

/// A structure under way.
#[derive(Default)]
pub(crate) struct Struct {
    bytes: Vec<u8>,
    last: u8,
}

impl Struct {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Its bytes.
    pub(crate) fn finish(mut self) -> Vec<u8> {
        self.bytes.push(0);
        self.bytes
    }

    /// A value of an enumeration.
    pub(crate) fn enumerated(self, id: u8, value: i32) -> Self {
        self.field(id, I32, |bytes| signed(bytes, i64::from(value)))
    }

    /// A count of 32 bits.
    pub(crate) fn int(self, id: u8, value: usize) -> Self {
        let value = i32::try_from(value).expect("a page or list below 2 GB");
        self.enumerated(id, value)
    }

    /// A count of 64 bits.
    pub(crate) fn long(self, id: u8, value: usize) -> Self {
        self.field(id, I64, |bytes| signed(bytes, value as i64))
    }

    pub(crate) fn text(self, id: u8, text: &str) -> Self {
        self.field(id, BINARY, |bytes| binary(bytes, text))
    }

    pub(crate) fn part(self, id: u8, part: Self) -> Self {
        self.field(id, STRUCT, |bytes| bytes.extend(part.finish()))
    }

    pub(crate) fn list(self, id: u8, parts: Vec<Self>) -> Self {
        self.field(id, LIST, |bytes| {
            head(bytes, STRUCT, parts.len());
            bytes.extend(parts.into_iter().flat_map(Self::finish));
        })
    }

    pub(crate) fn enumerated_list(self, id: u8, values: &[i32]) -> Self {
        self.field(id, LIST, |bytes| {
            head(bytes, I32, values.len());
            for value in values {
                signed(bytes, i64::from(*value));
            }
        })
    }

    pub(crate) fn text_list(self, id: u8, texts: &[&str]) -> Self {
        self.field(id, LIST, |bytes| {
            head(bytes, BINARY, texts.len());
            for text in texts {
                binary(bytes, text);
            }
        })
    }

    fn field(mut self, id: u8, kind: u8, write: impl FnOnce(&mut Vec<u8>)) -> Self {
        self.bytes.push((id - self.last) << 4 | kind);
        self.last = id;
        write(&mut self.bytes);
        self
    }
}

/// Seven bits a byte, the last ones first.
pub(crate) fn varint(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

fn signed(bytes: &mut Vec<u8>, value: i64) {
    varint(bytes, (value << 1 ^ value >> 63) as u64);
}

fn binary(bytes: &mut Vec<u8>, text: &str) {
    varint(bytes, text.len() as u64);
    bytes.extend(text.as_bytes());
}

fn head(bytes: &mut Vec<u8>, kind: u8, length: usize) {
    if length <= SHORT_LIST {
        bytes.push((length as u8) << 4 | kind);
    } else {
        bytes.push(0xf0 | kind);
        varint(bytes, length as u64);
    }
}

#[cfg(test)]
mod tests;
