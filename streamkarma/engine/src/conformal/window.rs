//! The latest scores, in order of size.

use std::collections::VecDeque;

/// The latest so many numbers: a queue, and the same sorted.
#[derive(Clone, Debug, PartialEq)]
pub struct Window {
    most: usize,
    /// How many came in all.
    count: u64,
    /// The numbers, the oldest first, each with how many there were by then.
    queue: VecDeque<(u64, f64)>,
    sorted: Vec<f64>,
}

impl Window {
    /// Of so many numbers, 1 or more.
    pub fn new(most: usize) -> Self {
        Self { most, count: 0, queue: VecDeque::new(), sorted: Vec::new() }
    }

    /// One that has met so many numbers and has some of them, the oldest first, no more than there is room for.
    pub fn of(most: usize, count: u64, numbers: Vec<(u64, f64)>) -> Self {
        let mut sorted: Vec<f64> = numbers.iter().map(|&(_, number)| number).collect();
        sorted.sort_unstable_by(f64::total_cmp);
        Self { most, count, queue: numbers.into(), sorted }
    }

    /// How many numbers there is room for.
    pub fn most(&self) -> usize {
        self.most
    }

    /// How many numbers came in all.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Take in a number in the place of the oldest.
    pub fn push(&mut self, number: f64) {
        if self.queue.len() == self.most
            && let Some((_, oldest)) = self.queue.pop_front()
        {
            let place = self.sorted.partition_point(|each| each.total_cmp(&oldest).is_lt());
            self.sorted.remove(place);
        }
        self.count += 1;
        self.queue.push_back((self.count, number));
        let place = self.sorted.partition_point(|each| each.total_cmp(&number).is_lt());
        self.sorted.insert(place, number);
    }

    /// The numbers, ascending.
    pub fn sorted(&self) -> &[f64] {
        &self.sorted
    }

    /// The numbers, the oldest first, each with how many there were by then.
    pub fn in_order(&self) -> impl Iterator<Item = (u64, f64)> {
        self.queue.iter().copied()
    }

    /// The memory that they take.
    pub fn bytes(&self) -> usize {
        self.queue.len() * size_of::<(u64, f64)>() + size_of_val(self.sorted.as_slice())
    }
}
