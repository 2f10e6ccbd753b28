//! Small numbers in ascending order, without comparisons.
//!
//! The attributes of an event come in whatever order its producer wrote them, and the processor mispredicts about half
//! of all comparisons of a sort. With one bit set for each number, they can be read off in order.

/// Reusable buffers for putting numbers in order.
#[derive(Clone, Debug, Default)]
pub struct Ascending {
    bits: Vec<u64>,
    places: Vec<usize>,
}

impl Ascending {
    /// Call `each` with the positions of numbers, all different and below `most`, in ascending order of the numbers.
    pub fn places(
        &mut self,
        numbers: impl Iterator<Item = (u32, usize)>,
        most: usize,
        mut each: impl FnMut(usize),
    ) {
        self.bits.resize(most.div_ceil(64), 0);
        self.places.resize(most, 0);
        let (mut low, mut high) = (usize::MAX, 0);
        for (number, place) in numbers {
            let (number, word) = (number as usize, number as usize / 64);
            self.bits[word] |= 1 << (number % 64);
            self.places[number] = place;
            (low, high) = (low.min(word), high.max(word + 1));
        }
        for (word, bits) in self.bits.iter_mut().enumerate().take(high).skip(low) {
            let mut left = std::mem::take(bits);
            while left != 0 {
                each(self.places[64 * word + left.trailing_zeros() as usize]);
                left &= left - 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_sorted_by_number() {
        let mut ascending = Ascending::default();
        for (numbers, most) in [(vec![], 1), (vec![5, 64, 0, 63, 129], 130), (vec![2, 1], 3)] {
            let (mut found, mut sorted) = (Vec::new(), numbers.clone());
            let places = numbers.iter().enumerate().map(|(place, &number)| (number, place));
            ascending.places(places, most, |place| found.push(numbers[place]));
            sorted.sort_unstable();
            assert_eq!(found, sorted);
        }
    }
}
