//! What C hands over, each looked at once: NULL is `None`.

use std::ffi::{CStr, c_char};

/// An object of this library.
pub(crate) fn object<'a, T>(pointer: *mut T) -> Option<&'a mut T> {
    // SAFETY: the header asks for NULL or what `_new` gave and `_free` has not taken, used by one
    // thread at a time.
    unsafe { pointer.as_mut() }
}

/// Ends an object.
pub(crate) fn free<T>(pointer: *mut T) {
    if !pointer.is_null() {
        // SAFETY: as for `object`; `_new` made it with `Box::into_raw`, and the caller gives it up.
        drop(unsafe { Box::from_raw(pointer) });
    }
}

/// Bytes to read; no bytes may be at NULL.
pub(crate) fn input<'a>(pointer: *const u8, length: usize) -> Option<&'a [u8]> {
    if length == 0 {
        return Some(&[]);
    }
    // SAFETY: the header asks for `length` readable bytes that nobody changes during the call.
    (!pointer.is_null()).then(|| unsafe { std::slice::from_raw_parts(pointer, length) })
}

/// Bytes to write.
pub(crate) fn room<'a>(pointer: *mut u8, size: usize) -> Option<&'a mut [u8]> {
    // SAFETY: the header asks for `size` writable bytes that nobody else uses during the call; what
    // they hold is not read.
    (!pointer.is_null()).then(|| unsafe { std::slice::from_raw_parts_mut(pointer, size) })
}

/// Writes a result that the caller may not want.
pub(crate) fn output<T>(pointer: *mut T, value: T) {
    if !pointer.is_null() {
        // SAFETY: the header asks for NULL or an aligned place for a `T`, whose old value needs no
        // drop.
        unsafe { pointer.write(value) };
    }
}

/// A text; NULL is an empty one.
pub(crate) fn text<'a>(pointer: *const c_char) -> Option<&'a str> {
    if pointer.is_null() {
        return Some("");
    }
    // SAFETY: the header asks for a text that ends in a zero and stays during the call.
    unsafe { CStr::from_ptr(pointer) }.to_str().ok()
}

/// Writes a line with a final zero, cut to `size` bytes at the end of a character.
pub(crate) fn write_line(line: &str, pointer: *mut c_char, size: usize) {
    let Some(out) = room(pointer.cast(), size).filter(|out| !out.is_empty()) else { return };
    let mut end = line.len().min(out.len() - 1);
    while !line.is_char_boundary(end) {
        end -= 1;
    }
    out[..end].copy_from_slice(&line.as_bytes()[..end]);
    out[end] = 0;
}
