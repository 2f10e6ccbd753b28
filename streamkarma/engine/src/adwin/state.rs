//! Saving the window to a model file and restoring it.

use super::scatter::{NUMBERS, Scatter};
use super::{Adwin, Bucket, MOST_ALIKE};
use crate::state::{Refused, State, ensure};

const WHY: &str = "the buckets of a window of errors contradict each other";
/// Number of arrays that `state` writes.
pub const ARRAYS: usize = 3;
/// Exclusive upper bound of a count in a state.
const MOST: f64 = 9_007_199_254_740_992.0;
/// Because of rounding, sums may differ from the sum of the parts by this fraction of the count.
const ROUNDING: f64 = 1e-6;

impl Adwin {
    /// Everything in the window.
    pub fn state(&self) -> State {
        let numbers = |bucket: &Bucket| [bucket.count, bucket.sum, bucket.squares];
        let mut state = State::default();
        let buckets = self.buckets.iter().flat_map(numbers).collect();
        state.put_f64s("buckets", buckets, &[self.buckets.len(), 3]);
        state.put_f64s("all", numbers(&self.all).to_vec(), &[3]);
        state.put_f64s("scatter", self.scatter.numbers(), &[NUMBERS]);
        state
    }

    /// The window of a state, with the `delta` of this one.
    ///
    /// # Errors
    ///
    /// If the arrays contradict each other.
    pub fn restored(&self, state: &State) -> Result<Self, Refused> {
        let ((buckets, shape), (all, all_shape)) = (state.f64s("buckets")?, state.f64s("all")?);
        ensure(state.0.len() == ARRAYS && all_shape == [3], WHY)?;
        let &[count, sum, squares] = all else { return Err(WHY.to_owned()) };
        let (buckets, rest) = buckets.as_chunks::<3>();
        ensure(rest.is_empty() && shape == [buckets.len(), 3], WHY)?;
        let buckets: Vec<Bucket> =
            buckets.iter().map(|&[count, sum, squares]| Bucket { count, sum, squares }).collect();
        let all = Bucket { count, sum, squares };
        ensure(buckets.iter().all(|bucket| bucket.is_sound() && bucket.count >= 1.0), WHY)?;
        ensure(buckets.is_sorted_by(|one, next| one.count >= next.count), WHY)?;
        let alike = |pair: &[Bucket]| pair[0].count == pair[MOST_ALIKE].count;
        ensure(!buckets.windows(MOST_ALIKE + 1).any(alike), WHY)?;
        let joined = buckets.iter().copied().fold(Bucket::default(), Bucket::joined);
        let near = |one: f64, other: f64| (one - other).abs() <= ROUNDING * count;
        ensure(all.is_sound() && count == joined.count, WHY)?;
        ensure(near(sum, joined.sum) && near(squares, joined.squares), WHY)?;
        let (numbers, shape) = state.f64s("scatter")?;
        let scatter = Scatter::restored(numbers).filter(|_| shape == [NUMBERS]).ok_or(WHY)?;
        Ok(Self { delta: self.delta, buckets: buckets.into(), all, scatter })
    }
}

impl Bucket {
    /// Whether the bucket can stem from values between 0 and 1, up to rounding.
    fn is_sound(self) -> bool {
        let Self { count, sum, squares } = self;
        let most = count * (1.0 + ROUNDING);
        (0.0..MOST).contains(&count)
            && count.fract() == 0.0
            && (0.0..=most).contains(&sum)
            && (0.0..=most).contains(&squares)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::Array;

    /// A window that has seen errors, which are higher from the 700th on.
    fn taught(events: u32) -> Adwin {
        let mut adwin = Adwin::new(0.002);
        for t in 0..events {
            let error = f64::from(t * 7919 % 100) / if t < 700 { 400.0 } else { 100.0 };
            adwin.update(1, error, error * error);
        }
        adwin
    }

    #[test]
    fn windows_round_trip_exactly() {
        for events in [0, 1, 100, 690, 720, 2000] {
            let (mut one, new) = (taught(events), Adwin::new(0.002));
            let mut two = new.restored(&one.state()).unwrap();
            for t in 0..200 {
                let error = f64::from(t * 7919 % 100) / 101.0;
                assert_eq!(one.update(1, error, error * error), two.update(1, error, error * error));
            }
            assert_eq!(one.state(), two.state());
        }
    }

    #[test]
    fn broken_windows_are_refused() {
        let adwin = taught(100);
        let buckets = |numbers: &[f64]| Array::F64(numbers.to_vec(), vec![numbers.len() / 3, 3]);
        let all = |numbers: [f64; 3]| Array::F64(numbers.to_vec(), vec![3]);
        let Bucket { count, sum, squares } = adwin.all;
        for (name, array) in [
            ("buckets", buckets(&[])),
            ("buckets", buckets(&[100.0, sum, -squares])),
            ("buckets", buckets(&[100.0, sum, f64::NAN])),
            ("buckets", buckets(&[100.0, 101.0, squares])),
            ("buckets", buckets(&[99.5, sum, squares, 0.5, 0.0, 0.0])),
            ("buckets", buckets(&[1.0, 0.0, 0.0, 99.0, sum, squares])),
            ("buckets", buckets(&[100.0, sum, squares, 0.0, 0.0, 0.0])),
            ("buckets", buckets(&[1.0, sum / 100.0, 0.0].repeat(100))),
            ("buckets", Array::F64(vec![count, sum], vec![1, 2])),
            ("buckets", Array::F64(vec![], vec![0, 1 << 60])),
            ("all", all([99.0, sum, squares])),
            ("all", all([100.0, sum + 1.0, squares])),
            ("all", all([100.0, sum, squares + 1.0])),
            ("all", all([f64::INFINITY, sum, squares])),
            ("all", Array::F64(vec![count], vec![1])),
            ("scatter", Array::F64(vec![-1.0; 18], vec![18])),
            ("scatter", Array::F64(vec![0.0; 18], vec![9, 2])),
            ("scatter", Array::F64(vec![0.0; 2], vec![2])),
            ("other", all([0.0; 3])),
        ] {
            let mut broken = adwin.state();
            broken.0.insert(name.to_owned(), array.clone());
            assert!(Adwin::new(0.002).restored(&broken).is_err(), "{name} {array:?}");
        }
    }
}
