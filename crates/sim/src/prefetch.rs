//! What will be needed soon, asked of memory before it is needed. A hint: it waits for nothing and changes no result.

/// Asks for every line of the cache that a value lies in.
#[inline(always)]
pub(crate) fn one<T>(value: &T) {
    let first = std::ptr::from_ref(value).cast::<i8>();
    for line in 0..size_of::<T>().div_ceil(64) {
        fetch_line(first.wrapping_add(64 * line));
    }
}

/// Asks for every line of the cache that these lie in.
#[inline(always)]
pub(crate) fn all<T>(values: &[T]) {
    let first = values.as_ptr().cast::<i8>();
    for line in 0..size_of_val(values).div_ceil(64) {
        fetch_line(first.wrapping_add(64 * line));
    }
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn fetch_line(line: *const i8) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: a prefetch reads nothing that the program sees and faults on no address.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(line) }
}

#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
fn fetch_line(_: *const i8) {}
