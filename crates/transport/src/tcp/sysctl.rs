//! How settings of a kernel mean parameters.

/// What the number of a setting says.
#[derive(Clone, Copy, Debug)]
pub enum Form {
    /// The value.
    Number,
    /// A size in bytes.
    Bytes,
    /// A time in nanoseconds.
    Nanoseconds,
    /// 0 is false, and these are true; others have no form.
    Flag(&'static [i128]),
    /// The value's text, by number.
    Choice(&'static [&'static str]),
    /// The buffer in this place of three: least, first and largest.
    Buffer(usize),
    /// `tcp_adv_win_scale`: the share of a buffer that is window.
    WindowShare,
    /// `tcp_ecn`, to which `tcp_sce` belongs.
    Ecn,
}
