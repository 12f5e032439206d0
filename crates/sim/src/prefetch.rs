//! Prefetching: a hint that waits for nothing and changes no result.

/// Bytes of a line of the cache.
const LINE: usize = 64;

/// Prefetches every cache line of a value.
#[inline(always)]
pub(crate) fn one<T>(value: &T) {
    all(std::slice::from_ref(value));
}

/// Prefetches every cache line of these values.
#[inline(always)]
pub(crate) fn all<T>(values: &[T]) {
    let std::ops::Range { start, end } = values.as_ptr_range();
    let (mut line, end) = (start.cast::<u8>(), end.cast::<u8>());
    while line < end {
        fetch_line(line);
        line = line.wrapping_add(LINE);
    }
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn fetch_line(line: *const u8) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: a prefetch reads nothing that the program sees and faults on no address.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(line.cast()) }
}

#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
fn fetch_line(_: *const u8) {}
