//! Keys: each module declares once what a spec can say about it; reading, errors and the reference come from that.
//!
//! | file | contents |
//! |---|---|
//! | `key.rs` | what a key is: kind, unit, range, default, meaning |
//! | `declare.rs` | the macros that declare tables and words |
//! | `reader.rs` | reading a table by its declared keys |
//! | `auto.rs` | values that follow from the fabric |
//! | `error.rs` | [`SpecError`], and the nearest spelling |

pub(crate) mod auto;
mod declare;
mod error;
mod key;
mod reader;

pub use auto::Auto;
pub(crate) use auto::{AUTO, Autos};
pub(crate) use declare::{Declared, Field, Source, keys, tell, words};
pub use error::SpecError;
pub(crate) use key::{
    Default, FASTEST, Key, Kind, LARGEST_EXACT, LONGEST, Plain, Unit, Zero, bytes_said, is_printable, one_of, tenths,
    tidy, unit_of,
};
pub(crate) use reader::Reader;
