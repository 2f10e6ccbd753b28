//! The latest scores, in order of size.

use std::collections::VecDeque;

/// The latest numbers, as a queue and sorted.
#[derive(Clone, Debug, PartialEq)]
pub struct Window {
    most: usize,
    /// Total number of values pushed.
    count: u64,
    /// The numbers, the oldest first, each with the total when it arrived, or with 0 if it is provisional.
    queue: VecDeque<(u64, f64)>,
    sorted: Vec<f64>,
}

impl Window {
    /// With a capacity of `most` numbers, 1 or more.
    pub fn new(most: usize) -> Self {
        Self { most, count: 0, queue: VecDeque::new(), sorted: Vec::new() }
    }

    /// A window that has seen `count` numbers and holds these, the oldest first, at most `most`.
    pub fn of(most: usize, count: u64, numbers: Vec<(u64, f64)>) -> Self {
        let mut sorted: Vec<f64> = numbers.iter().map(|&(_, number)| number).collect();
        sorted.sort_unstable_by(f64::total_cmp);
        Self { most, count, queue: numbers.into(), sorted }
    }

    /// The capacity.
    pub fn most(&self) -> usize {
        self.most
    }

    /// Total number of values pushed.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Add a number, replacing the oldest if that is provisional, or if the window is full.
    pub fn push(&mut self, number: f64) {
        self.count += 1;
        if self.queue.front().is_some_and(|&(at, _)| at == 0) || self.queue.len() == self.most {
            self.drop_oldest();
        }
        self.insert(self.count, number);
    }

    /// Add a provisional number, unless there are others by now.
    pub fn push_provisional(&mut self, number: f64) {
        self.count += 1;
        if self.queue.back().is_some_and(|&(at, _)| at > 0) {
            return;
        }
        if self.queue.len() == self.most {
            self.drop_oldest();
        }
        self.insert(0, number);
    }

    fn drop_oldest(&mut self) {
        if let Some((_, oldest)) = self.queue.pop_front() {
            let place = self.sorted.partition_point(|each| each.total_cmp(&oldest).is_lt());
            self.sorted.remove(place);
        }
    }

    fn insert(&mut self, at: u64, number: f64) {
        self.queue.push_back((at, number));
        let place = self.sorted.partition_point(|each| each.total_cmp(&number).is_lt());
        self.sorted.insert(place, number);
    }

    /// The numbers, ascending.
    pub fn sorted(&self) -> &[f64] {
        &self.sorted
    }

    /// The numbers, the oldest first, each with the total when it arrived, or with 0 if it is provisional.
    pub fn in_order(&self) -> impl Iterator<Item = (u64, f64)> {
        self.queue.iter().copied()
    }

    /// Memory used, in bytes.
    pub fn bytes(&self) -> usize {
        self.queue.len() * size_of::<(u64, f64)>() + size_of_val(self.sorted.as_slice())
    }
}
