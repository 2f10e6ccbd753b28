//! Tables whose columns are the slots of support vectors.

/// Slots come in multiples of this: loops over a tile of them are unrolled and vectorised.
pub const TILE: usize = 16;

/// A row for each index, with one number for each class and slot; rows that nobody needs are left out.
///
/// Slots of one class lie side by side: what one event needs of a row is one run over all slots.
#[derive(Clone, Debug)]
pub struct Table<T> {
    rows: Vec<Vec<T>>,
    classes: usize,
    slots: usize,
}

impl<T: Copy + Default> Table<T> {
    /// Without rows and slots.
    pub fn new(classes: usize) -> Self {
        Self { rows: Vec::new(), classes, slots: 0 }
    }

    /// Numbers in a row for each slot.
    pub fn classes(&self) -> usize {
        self.classes
    }

    /// Slots that there is room for: a multiple of [`TILE`].
    pub fn slots(&self) -> usize {
        self.slots
    }

    /// How many numbers there is room for.
    pub fn len(&self) -> usize {
        self.rows.iter().map(Vec::len).sum()
    }

    /// Whether there is such a row.
    pub fn has(&self, index: u32) -> bool {
        self.rows.get(index as usize).is_some_and(|row| !row.is_empty())
    }

    /// The numbers of one class, by slot; the row must be there.
    pub fn row(&self, index: u32, class: usize) -> &[T] {
        &self.rows[index as usize][class * self.slots..(class + 1) * self.slots]
    }

    /// One number; 0 where there is no such row.
    pub fn get(&self, index: u32, class: usize, slot: usize) -> T {
        let row = self.rows.get(index as usize);
        row.and_then(|row| row.get(class * self.slots + slot)).copied().unwrap_or_default()
    }

    /// One number, to be changed; its row is made if there is none.
    pub fn at(&mut self, index: u32, class: usize, slot: usize) -> &mut T {
        let index = index as usize;
        if index >= self.rows.len() {
            self.rows.resize_with(index + 1, Vec::new);
        }
        let row = &mut self.rows[index];
        if row.is_empty() {
            *row = vec![T::default(); self.classes * self.slots];
        }
        &mut row[class * self.slots + slot]
    }

    /// Make room for as many classes and slots, not fewer than there are; what is new is 0.
    pub fn grow(&mut self, classes: usize, slots: usize) {
        for row in self.rows.iter_mut().filter(|row| !row.is_empty()) {
            let mut larger = vec![T::default(); classes * slots];
            for (new, old) in larger.chunks_exact_mut(slots).zip(row.chunks_exact(self.slots)) {
                new[..self.slots].copy_from_slice(old);
            }
            *row = larger;
        }
        (self.classes, self.slots) = (classes, slots);
    }
}
