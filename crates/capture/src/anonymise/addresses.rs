//! Addresses in the place of others: two have as long a common prefix as the two that they stand for.
//!
//! Source: Xu, Fan, Ammar and Moon, "Prefix-Preserving IP Address Anonymization: Measurement-based Security
//! Evaluation and a New Cryptography-based Scheme", ICNP 2002, section 3 (Crypto-PAn). IPv6 has the same
//! construction over 128 bits.

use std::collections::HashMap;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use aes::Aes128;
use aes::cipher::{BlockCipherEncrypt, KeyInit};

/// Addresses that are remembered, so that a packet of a known flow costs no encryption.
const MOST_KNOWN: usize = 1 << 16;

/// What decides which address becomes which. Whoever has it can undo it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Key(pub [u8; 32]);

impl Key {
    /// One that nobody has had before.
    ///
    /// # Errors
    /// The system gives no random bytes.
    pub fn random() -> std::io::Result<Self> {
        let mut key = [0; 32];
        getrandom::fill(&mut key).map_err(std::io::Error::other)?;
        Ok(Self(key))
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(..)")
    }
}

/// The addresses under one key.
#[derive(Debug)]
pub struct Addresses {
    cipher: Aes128,
    /// Fills up the bits of an address that are not looked at yet.
    pad: u128,
    known: HashMap<IpAddr, IpAddr>,
}

impl Addresses {
    /// Those of this key.
    pub fn new(Key(key): &Key) -> Self {
        let (of_cipher, of_pad) = key.split_first_chunk::<16>().expect("a key has 32 bytes");
        let cipher = Aes128::new(&(*of_cipher).into());
        let pad = *of_pad.first_chunk::<16>().expect("a key has 32 bytes");
        let mut addresses = Self { cipher, pad: 0, known: HashMap::new() };
        addresses.pad = addresses.encrypt(u128::from_be_bytes(pad));
        addresses
    }

    /// What stands for this address.
    pub fn map(&mut self, address: IpAddr) -> IpAddr {
        if let Some(known) = self.known.get(&address) {
            return *known;
        }
        let mapped = match address {
            IpAddr::V4(v4) => {
                let bits = u128::from(v4.to_bits()) << 96;
                IpAddr::V4(Ipv4Addr::from_bits((self.bits(bits, 32) >> 96) as u32))
            }
            IpAddr::V6(v6) => IpAddr::V6(Ipv6Addr::from_bits(self.bits(v6.to_bits(), 128))),
        };
        if self.known.len() == MOST_KNOWN {
            self.known.clear();
        }
        self.known.insert(address, mapped);
        mapped
    }

    /// 3.2: bit i is changed by a bit that depends on the i bits before it alone.
    fn bits(&self, address: u128, len: u32) -> u128 {
        let changes = (0..len).map(|known| {
            let of_address = u128::MAX.checked_shl(128 - known).unwrap_or(0);
            let block = (address & of_address) | (self.pad & !of_address);
            (self.encrypt(block) >> 127) << (127 - known)
        });
        changes.fold(address, |address, change| address ^ change)
    }

    fn encrypt(&self, block: u128) -> u128 {
        let mut block = block.to_be_bytes().into();
        self.cipher.encrypt_block(&mut block);
        u128::from_be_bytes(block.into())
    }
}

#[cfg(test)]
mod tests;
