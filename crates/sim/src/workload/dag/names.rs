//! Names of operations, with fast lookup among a million.

use spinewise_policy::hash;

/// Names, concatenated.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Names {
    text: String,
    ends: Vec<usize>,
}

impl Names {
    pub(super) fn get(&self, number: u32) -> &str {
        let number = number as usize;
        let start = if number == 0 { 0 } else { self.ends[number - 1] };
        &self.text[start..self.ends[number]]
    }

    pub(super) fn push(&mut self, name: &str) {
        self.text.push_str(name);
        self.ends.push(self.text.len());
    }

    pub(super) fn len(&self) -> u32 {
        self.ends.len() as u32
    }
}

/// Finds names by their hash, in a table that is at most half full.
pub(super) struct Index {
    slots: Vec<u32>,
}

const FREE: u32 = u32::MAX;

impl Index {
    /// An index of all names, or the number of a duplicate.
    pub(super) fn of(names: &Names) -> Result<Index, u32> {
        let mut index = Index { slots: vec![FREE; (2 * names.ends.len()).next_power_of_two()] };
        for number in 0..names.len() {
            let slot = index.slot(names, names.get(number));
            if index.slots[slot] != FREE {
                return Err(number);
            }
            index.slots[slot] = number;
        }
        Ok(index)
    }

    /// The slot of `name`, or where it would go.
    pub(super) fn slot(&self, names: &Names, name: &str) -> usize {
        let mask = self.slots.len() - 1;
        let mut slot = hash::name(name) as usize & mask;
        while self.slots[slot] != FREE && names.get(self.slots[slot]) != name {
            slot = (slot + 1) & mask;
        }
        slot
    }

    pub(super) fn get(&self, names: &Names, name: &str) -> Option<u32> {
        Some(self.slots[self.slot(names, name)]).filter(|&number| number != FREE)
    }
}
