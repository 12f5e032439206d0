//! Tables of columns: each column declared once, with its type, unit, meaning and where its values come from.

/// The values of a column.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// 8-bit.
    U8(Vec<u8>),
    /// 16-bit.
    U16(Vec<u16>),
    /// 32-bit.
    U32(Vec<u32>),
    /// 64-bit.
    U64(Vec<u64>),
    /// Floating point.
    F64(Vec<f64>),
}

/// A column: its name, unit and meaning.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// Name.
    pub name: &'static str,
    /// Type, as numpy calls it; `bool` is stored as 0 or 1 in a byte. A `word8` or `word32` is a number of that many
    /// bits that encodes a word; the largest number means that there is none.
    pub dtype: &'static str,
    /// Unit.
    pub unit: &'static str,
    /// Meaning.
    pub meaning: &'static str,
}

/// A type that a column can have.
pub(crate) trait Cell: Sized {
    /// Its name in numpy.
    const DTYPE: &'static str;

    /// A column of these.
    fn values(cells: Vec<Self>) -> Values;
}

/// Types and how they are stored.
macro_rules! cells {
    ($($type:ty = $name:literal: $cells:ident => $values:expr;)*) => {
        $( impl Cell for $type {
            const DTYPE: &'static str = $name;

            fn values($cells: Vec<Self>) -> Values {
                $values
            }
        } )*
    };
}

cells! {
    u8 = "u8": cells => Values::U8(cells);
    u16 = "u16": cells => Values::U16(cells);
    u32 = "u32": cells => Values::U32(cells);
    u64 = "u64": cells => Values::U64(cells);
    f64 = "f64": cells => Values::F64(cells);
    bool = "bool": cells => Values::U8(cells.into_iter().map(u8::from).collect());
    Word8 = "word8": cells => Values::U8(cells.into_iter().map(|word| word.0).collect());
    Word32 = "word32": cells => Values::U32(cells.into_iter().map(|word| word.0).collect());
}

/// Index of a word in a list; the largest number means none.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Word8(pub u8);

impl Word8 {
    /// No word.
    pub(crate) const NONE: Word8 = Word8(u8::MAX);
}

/// Index of a word in a long list.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Word32(pub u32);

impl Word32 {
    /// No word.
    pub(crate) const NONE: Word32 = Word32(u32::MAX);
}

/// Declares a table: its columns for people, and the type that gathers them row by row.
///
/// `TABLE: Gatherer, |row: &Row<'_>| { name: type, "unit", "meaning" => value; … }`, the value being an expression of
/// `row`. `Gatherer::push` takes a row, `Gatherer::close` gives the columns in the order declared.
macro_rules! columns {
    ($(#[$meta:meta])* $table:ident: $gatherer:ident, |$row:ident: $row_type:ty| {
        $( $name:ident: $type:ty, $unit:literal, $meaning:literal => $value:expr; )*
    }) => {
        $(#[$meta])*
        #[allow(unreachable_pub)] // Other crates see most tables.
        pub const $table: &[$crate::columns::Column] = &[ $( $crate::columns::Column {
            name: stringify!($name),
            dtype: <$type as $crate::columns::Cell>::DTYPE,
            unit: $unit,
            meaning: $meaning,
        } ),* ];

        #[doc = concat!("Gathers the columns of [`", stringify!($table), "`].")]
        #[derive(Debug, Default)]
        struct $gatherer { $( $name: Vec<$type>, )* }

        impl $gatherer {
            /// Creates it with room for `rows` rows.
            fn with_capacity(rows: usize) -> Self {
                Self { $( $name: Vec::with_capacity(rows), )* }
            }

            /// Adds a row.
            fn push(&mut self, $row: $row_type) {
                $( self.$name.push($value); )*
            }

            /// Returns all columns.
            fn close(self) -> Vec<$crate::columns::Values> {
                vec![ $( $crate::columns::Cell::values(self.$name) ),* ]
            }
        }
    };
}
pub(crate) use columns;

#[cfg(test)]
mod tests {
    use super::*;

    columns! {
        /// Two columns.
        COLUMNS: Gatherer, |row: &(u32, bool)| {
            twice: u64, "m", "the number twice" => 2 * u64::from(row.0);
            told: bool, "", "as told" => row.1;
        }
    }

    #[test]
    fn a_column_is_declared_and_filled_in_one_place() {
        let mut table = Gatherer::with_capacity(2);
        [(3, true), (4, false)].iter().for_each(|row| table.push(row));
        assert_eq!(table.close(), [Values::U64(vec![6, 8]), Values::U8(vec![1, 0])]);
        let declared: Vec<_> = COLUMNS.iter().map(|c| (c.name, c.dtype, c.unit, c.meaning)).collect();
        assert_eq!(declared, [("twice", "u64", "m", "the number twice"), ("told", "bool", "", "as told")]);
    }
}
