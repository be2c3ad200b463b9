//! Numbers of the pcapng format, which reader and writer share.
//!
//! Source: draft-ietf-opsawg-pcapng-04.

/// Types of blocks (4, 10.1).
pub(crate) mod block {
    /// Section Header Block: the same in both byte orders.
    pub(crate) const SECTION: u32 = 0x0a0d_0d0a;
    /// Interface Description Block.
    pub(crate) const INTERFACE: u32 = 1;
    /// Packet Block, obsolete.
    pub(crate) const PACKET: u32 = 2;
    /// Simple Packet Block.
    pub(crate) const SIMPLE_PACKET: u32 = 3;
    /// Interface Statistics Block.
    pub(crate) const STATISTICS: u32 = 5;
    /// Enhanced Packet Block.
    pub(crate) const ENHANCED_PACKET: u32 = 6;
}

/// Codes of options: those of all blocks, then of each.
pub(crate) mod option {
    pub(crate) const END: u16 = 0;
    pub(crate) const COMMENT: u16 = 1;

    pub(crate) const SECTION_HARDWARE: u16 = 2;
    pub(crate) const SECTION_OS: u16 = 3;
    pub(crate) const SECTION_APPLICATION: u16 = 4;

    pub(crate) const INTERFACE_NAME: u16 = 2;
    pub(crate) const INTERFACE_DESCRIPTION: u16 = 3;
    pub(crate) const INTERFACE_RESOLUTION: u16 = 9;
    pub(crate) const INTERFACE_TIME_OFFSET: u16 = 14;

    pub(crate) const PACKET_FLAGS: u16 = 2;
    pub(crate) const PACKET_ID: u16 = 5;

    pub(crate) const STATISTICS_START: u16 = 2;
    pub(crate) const STATISTICS_END: u16 = 3;
    pub(crate) const STATISTICS_RECEIVED: u16 = 4;
    pub(crate) const STATISTICS_DROPPED: u16 = 5;
}

/// Tells the byte order of a section (4.1).
pub(crate) const BYTE_ORDER_MAGIC: u32 = 0x1a2b_3c4d;

/// Bytes of a block around its body: type, and length twice.
pub(crate) const FRAME_BYTES: usize = 12;

/// What fills up to the next multiple of four bytes.
pub(crate) const fn padding(len: usize) -> usize {
    len.wrapping_neg() % 4
}
