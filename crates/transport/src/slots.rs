//! Places that are reused, so that memory follows what is open.

/// Indices of a growing vector whose places are reused.
#[derive(Debug, Default)]
pub(crate) struct SlotPool {
    pub free: Vec<u32>,
    len: u32,
}

impl SlotPool {
    pub fn take(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            self.len += 1;
            self.len - 1
        })
    }

    pub fn give(&mut self, place: u32) {
        self.free.push(place);
    }
}

/// Puts an item into its place, which is in use or the next.
pub(crate) fn put<T>(items: &mut Vec<T>, place: u32, item: T) {
    if place as usize == items.len() {
        items.push(item);
    } else {
        items[place as usize] = item;
    }
}
