//! The ECN field of the IP header (RFC 3168 §5), named by wire codepoint, not by meaning: L4S and
//! SCE read ECT(1) differently, and the marking discipline or controller decides which.

/// An ECN codepoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Ecn {
    /// `00`, not ECN-capable transport.
    #[default]
    NotEct = 0,
    /// `01`, L4S's input identifier (RFC 9331) and SCE's output mark.
    Ect1 = 1,
    /// `10`, classic ECN-capable transport.
    Ect0 = 2,
    /// `11`, congestion experienced.
    Ce = 3,
}

impl Ecn {
    /// The codepoint in the low two bits of a TOS or traffic-class byte.
    #[inline]
    pub const fn from_tos(tos: u8) -> Self {
        match tos & 3 {
            0 => Self::NotEct,
            1 => Self::Ect1,
            2 => Self::Ect0,
            _ => Self::Ce,
        }
    }

    /// `tos` with its ECN field replaced by this codepoint.
    #[inline]
    pub const fn on_tos(self, tos: u8) -> u8 {
        (tos & !3) | self as u8
    }

    /// Whether a router may mark instead of drop.
    #[inline]
    pub const fn is_capable(self) -> bool {
        !matches!(self, Self::NotEct)
    }

    /// The name that RFC 3168 and qlog use.
    pub const fn name(self) -> &'static str {
        match self {
            Self::NotEct => "Not-ECT",
            Self::Ect1 => "ECT(1)",
            Self::Ect0 => "ECT(0)",
            Self::Ce => "CE",
        }
    }
}
