//! Thrift's compact protocol, as far as Parquet's structures take it; fields in ascending order.

/// Wire types of fields and of the elements of lists.
const I32: u8 = 5;
const I64: u8 = 6;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const STRUCT: u8 = 12;
/// Above this a list's size follows its header.
const SHORT_LIST: usize = 14;
/// Lists and structures within each other: a footer has half as many.
const DEEPEST: u8 = 16;

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

/// A structure that was read: its fields.
#[derive(Debug)]
pub(crate) struct Fields(Vec<(i64, Value)>);

/// What a field or an element of a list holds, as far as Parquet's structures need it.
#[derive(Debug)]
pub(crate) enum Value {
    Int(i64),
    Bytes(Vec<u8>),
    List(Vec<Self>),
    Struct(Fields),
    /// A truth value or a double.
    Other,
}

impl Value {
    pub(crate) fn fields(&self) -> Option<&Fields> {
        match self {
            Self::Struct(fields) => Some(fields),
            _ => None,
        }
    }
}

impl Fields {
    fn get(&self, id: i64) -> Option<&Value> {
        self.0.iter().find(|field| field.0 == id).map(|field| &field.1)
    }

    pub(crate) fn int(&self, id: i64) -> Option<i64> {
        match self.get(id)? {
            Value::Int(value) => Some(*value),
            _ => None,
        }
    }

    pub(crate) fn text(&self, id: i64) -> Option<&str> {
        match self.get(id)? {
            Value::Bytes(bytes) => std::str::from_utf8(bytes).ok(),
            _ => None,
        }
    }

    pub(crate) fn part(&self, id: i64) -> Option<&Self> {
        self.get(id)?.fields()
    }

    pub(crate) fn list(&self, id: i64) -> Option<&[Value]> {
        match self.get(id)? {
            Value::List(values) => Some(values),
            _ => None,
        }
    }
}

/// Reads what may be damaged.
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
    depth: u8,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes, depth: 0 }
    }

    /// What was not read.
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    pub(crate) fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(length)?;
        self.rest = rest;
        Some(taken)
    }

    /// The bytes of a number.
    pub(crate) fn number<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    fn byte(&mut self) -> Option<u8> {
        self.take(1).map(|bytes| bytes[0])
    }

    pub(crate) fn varint(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }

    fn signed(&mut self) -> Option<i64> {
        let value = self.varint()?;
        Some((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    /// A structure.
    pub(crate) fn fields(&mut self) -> Option<Fields> {
        let (mut fields, mut id) = (Vec::new(), 0_i64);
        loop {
            let head = self.byte()?;
            if head == 0 {
                return Some(Fields(fields));
            }
            id = match head >> 4 {
                0 => self.signed()?,
                more => id.checked_add(i64::from(more))?,
            };
            // A truth value is in its field's head.
            let value =
                if matches!(head & 15, 1 | 2) { Value::Other } else { self.value(head & 15)? };
            fields.push((id, value));
        }
    }

    fn value(&mut self, kind: u8) -> Option<Value> {
        if self.depth > DEEPEST {
            return None;
        }
        Some(match kind {
            // A truth value or a byte.
            1..=3 => self.byte().map(|_| Value::Other)?,
            4..=I64 => Value::Int(self.signed()?),
            7 => self.take(8).map(|_| Value::Other)?,
            BINARY => {
                let length = usize::try_from(self.varint()?).ok()?;
                Value::Bytes(self.take(length)?.to_vec())
            }
            LIST => {
                let head = self.byte()?;
                let length = match head >> 4 {
                    15 => self.varint()?,
                    short => short.into(),
                };
                self.depth += 1;
                let values = (0..length).map(|_| self.value(head & 15)).collect::<Option<_>>()?;
                self.depth -= 1;
                Value::List(values)
            }
            STRUCT => {
                self.depth += 1;
                let fields = self.fields()?;
                self.depth -= 1;
                Value::Struct(fields)
            }
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests;
