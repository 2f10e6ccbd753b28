//! Of events with little weight only some are kept, with more weight.
//!
//! If each label is shared by many events, a learner that keeps the latest events would have room for a few labels
//! only. With some events of each label it reaches further back, and its neighbours do not all have the same label.
//!
//! Which events are kept is decided by the multiples of the golden ratio, which are spread evenly over any stretch of
//! steps (Weyl's sequence): about as many events of each label are kept, whereas random numbers would leave out some
//! labels.

/// Fractional part of the golden ratio, times 2^64.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// The weight with which the event of a step is kept, if it is kept: `least` if its own weight is smaller, and then
/// only so many of such events are kept that their weight stays the same on average.
pub fn kept_weight(weight: f64, least: f64, step: u64) -> Option<f64> {
    let part = (weight / least).min(1.0);
    let place = (step.wrapping_mul(GOLDEN) >> 11) as f64 / (1u64 << 53) as f64;
    (place < part).then_some(weight / part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_events_of_each_label_are_kept() {
        for events in [8, 50, 70, 300] {
            let weight = 1.0 / f64::from(events);
            let labels = (0..200).map(|label| {
                (0..events).filter_map(move |t| kept_weight(weight, 0.25, (label * events + t) as u64))
            });
            labels.for_each(|kept| assert!((2..=6).contains(&kept.count()), "{events}"));
        }
    }

    #[test]
    fn weights_stay_the_same_on_average() {
        let kept: Vec<f64> = (0..40_000).filter_map(|step| kept_weight(0.05, 0.25, step)).collect();
        assert!((7_990..=8_010).contains(&kept.len()) && kept.iter().all(|weight| *weight == 0.25));
        for weight in [0.25, 0.7, 3.0] {
            assert!((0..1000).all(|step| kept_weight(weight, 0.25, step) == Some(weight)));
        }
    }
}
