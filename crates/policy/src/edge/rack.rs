//! The hosts of a rack: positions follow host numbers.

use crate::HostView;

/// The hosts of a rack, by number.
pub fn hosts_of<'v>(view: &HostView<'v>, leaf: u32) -> impl Iterator<Item = u32> + Clone + use<'v> {
    view.leaf_of.iter().enumerate().filter(move |&(_, &of)| of == leaf).map(|(host, _)| host as u32)
}

/// The position of this view's host in its own rack; the first is 0.
pub fn place(view: &HostView<'_>) -> u32 {
    hosts_of(view, view.leaf).take_while(|&host| host < view.host).count() as u32
}

/// The host of rack `leaf` at this position, wrapping round if there are fewer; none if the rack is empty.
pub fn counterpart(view: &HostView<'_>, leaf: u32, place: u32) -> Option<u32> {
    let count = hosts_of(view, leaf).count();
    if count == 0 { None } else { hosts_of(view, leaf).nth(place as usize % count) }
}

#[cfg(test)]
mod tests {
    use super::*;
    extern crate std;
    use std::vec;
    use std::vec::Vec;

    #[test]
    fn places_and_counterparts_by_hand() {
        // Racks of hosts 0, 2, 5; 1, 4; none; 3.
        let view = HostView { host: 5, leaf: 0, leaf_of: &[0, 1, 0, 3, 1, 0], ..HostView::default() };
        assert_eq!(hosts_of(&view, 0).collect::<Vec<_>>(), vec![0, 2, 5]);
        assert_eq!(place(&view), 2);
        assert_eq!(place(&HostView { host: 1, leaf: 1, ..view }), 0);
        let of = |leaf| (0..3).map(|place| counterpart(&view, leaf, place)).collect::<Vec<_>>();
        assert_eq!(of(1), [Some(1), Some(4), Some(1)], "counted round");
        assert_eq!((of(2), of(3)), (vec![None; 3], vec![Some(3); 3]));
    }
}
