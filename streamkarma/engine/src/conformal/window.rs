//! The latest scores, in order of size.

/// The latest so many numbers: a queue, and the same sorted.
#[derive(Clone, Debug, PartialEq)]
pub struct Window {
    most: usize,
    /// A ring: the oldest is at `next` once it is full.
    queue: Vec<f64>,
    next: usize,
    sorted: Vec<f64>,
}

impl Window {
    /// Of so many numbers, 1 or more.
    pub fn new(most: usize) -> Self {
        Self { most, queue: Vec::new(), next: 0, sorted: Vec::new() }
    }

    /// One of so many numbers, the oldest first; no more than there is room for.
    pub fn of(most: usize, numbers: &[f64]) -> Self {
        let mut sorted = numbers.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        Self { most, queue: numbers.to_vec(), next: 0, sorted }
    }

    /// How many numbers there is room for.
    pub fn most(&self) -> usize {
        self.most
    }

    /// Take in a number in the place of the oldest.
    pub fn push(&mut self, number: f64) {
        if self.queue.len() == self.most {
            let oldest = std::mem::replace(&mut self.queue[self.next], number);
            self.next = (self.next + 1) % self.most;
            let place = self.sorted.partition_point(|each| each.total_cmp(&oldest).is_lt());
            self.sorted.remove(place);
        } else {
            self.queue.push(number);
        }
        let place = self.sorted.partition_point(|each| each.total_cmp(&number).is_lt());
        self.sorted.insert(place, number);
    }

    /// The numbers, ascending.
    pub fn sorted(&self) -> &[f64] {
        &self.sorted
    }

    /// The numbers, the oldest first.
    pub fn in_order(&self) -> Vec<f64> {
        let (newer, older) = self.queue.split_at(self.next);
        [older, newer].concat()
    }

    /// The memory that they take.
    pub fn bytes(&self) -> usize {
        2 * size_of_val(self.queue.as_slice())
    }
}
