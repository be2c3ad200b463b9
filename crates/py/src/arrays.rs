//! Columns as arrays of numpy.

use pyo3::prelude::*;
use pyo3::types::PyByteArray;

/// What an array may hold.
pub(crate) trait Element: Copy {
    /// Its name among numpy's types.
    const DTYPE: &'static str;
    const BYTES: usize;
    fn write(self, to: &mut [u8]);
}

macro_rules! elements {
    ($($number:ty: $dtype:literal),*) => {
        $(impl Element for $number {
            const DTYPE: &'static str = $dtype;
            const BYTES: usize = size_of::<Self>();
            fn write(self, to: &mut [u8]) {
                to.copy_from_slice(&self.to_ne_bytes());
            }
        })*
    };
}

elements!(u8: "u1", u16: "u2", u32: "u4", u64: "u8", i64: "i8", f64: "f8");

impl Element for bool {
    const DTYPE: &'static str = "?";
    const BYTES: usize = 1;
    fn write(self, to: &mut [u8]) {
        u8::from(self).write(to);
    }
}

/// A copy of these values that Python owns and may change.
pub(crate) fn array<'py, T: Element>(py: Python<'py>, values: &[T]) -> PyResult<Bound<'py, PyAny>> {
    let bytes = PyByteArray::new_with(py, values.len() * T::BYTES, |to| {
        for (to, value) in to.chunks_exact_mut(T::BYTES).zip(values) {
            value.write(to);
        }
        Ok(())
    })?;
    py.import("numpy")?.call_method1("frombuffer", (bytes, T::DTYPE))
}
