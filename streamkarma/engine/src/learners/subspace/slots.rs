//! Assignment of a few slots to some of many items.

use super::NOBODY;

/// Items and their slots, in both directions.
#[derive(Clone, Debug, Default)]
pub struct Slots {
    /// By item: its slot, or [`NOBODY`].
    slots: Vec<u32>,
    /// By slot: its item, or [`NOBODY`].
    items: Vec<u32>,
}

impl Slots {
    /// Create from the item of each slot. None if an item is not below `count`, or has two slots.
    pub fn from_items(items: Vec<u32>, count: usize) -> Option<Self> {
        let mut slots = vec![NOBODY; count];
        for (slot, &item) in items.iter().enumerate().filter(|(_, item)| **item != NOBODY) {
            let place = slots.get_mut(item as usize).filter(|place| **place == NOBODY)?;
            *place = slot as u32;
        }
        Some(Self { slots, items })
    }

    /// Grow to so many items, and to as many slots up to `most`.
    pub fn grow(&mut self, count: usize, most: usize) {
        self.slots.resize(count.max(self.slots.len()), NOBODY);
        self.items.resize(count.min(most).max(self.items.len()), NOBODY);
    }

    /// The item of each slot, or [`NOBODY`].
    pub fn items(&self) -> &[u32] {
        &self.items
    }

    /// The slot of an item.
    pub fn of(&self, item: u32) -> Option<usize> {
        let slot = *self.slots.get(item as usize)?;
        (slot != NOBODY).then_some(slot as usize)
    }

    /// Give an item a slot: the one of its own number, or else the first free one. None if there is none.
    pub fn take(&mut self, item: u32) -> Option<usize> {
        let own = self.items.get(item as usize).is_some_and(|&holder| holder == NOBODY);
        let first = || self.items.iter().position(|&holder| holder == NOBODY);
        let slot = if own { item as usize } else { first()? };
        self.items[slot] = item;
        self.slots[item as usize] = slot as u32;
        Some(slot)
    }

    /// Free a slot.
    pub fn release(&mut self, slot: usize) {
        let item = std::mem::replace(&mut self.items[slot], NOBODY);
        self.slots[item as usize] = NOBODY;
    }
}
