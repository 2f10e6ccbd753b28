//! Freezing names and statistics.
//!
//! Models that are trained separately and then merged do best with the same names and scales, those of a first pass
//! over all events. What still changes is what gives a value its meaning by the events before: the last values of
//! entities, and the last points in time.

use super::{Encoder, New};

impl Encoder {
    /// Whether names and statistics are frozen, whatever is learned.
    pub fn is_frozen(&self) -> bool {
        self.frozen
    }

    /// Freeze names and statistics, or unfreeze them.
    ///
    /// While they are frozen, numbers are standardised by the scales learned before, a category without a coordinate
    /// is a rare one, and anything else without a coordinate is left out, and counted as ignored if the event is
    /// learned.
    pub fn set_frozen(&mut self, frozen: bool) {
        self.frozen = frozen;
    }

    pub(super) fn leave_out(&mut self, new: &[New], learned: bool) {
        let ignored = new.iter().filter(|each| !each.value.is_nan()).count();
        self.vocabulary.ignored += if learned { ignored as u64 } else { 0 };
    }
}

#[cfg(test)]
mod tests {
    use crate::encoded::Encoded;
    use crate::encoder::Encoder;
    use crate::names::Name;
    use crate::vocabulary::{Bounds, PASSING};

    fn learned(encoder: &mut Encoder, event: &[(&str, &str)]) -> Encoded {
        let mut out = Encoded::default();
        encoder.begin();
        event.iter().for_each(|(name, value)| encoder.text(Name::Text(name.as_bytes()), value.as_bytes()));
        encoder.finish(true, &mut out);
        out
    }

    #[test]
    fn freezing_keeps_names_and_statistics() {
        let bounds = Bounds { attributes: 99, coordinates: 200, name_bytes: 50, all_bytes: 9999 };
        let mut encoder = Encoder::new(bounds, true, f64::INFINITY);
        for i in 0..40 {
            let (category, number) = (format!("c{i}"), (i % 8).to_string());
            learned(
                &mut encoder,
                &[("k", &category), ("n", &number), ("at", &format!("2024-01-01T00:00:{i}Z"))],
            );
        }
        encoder.set_frozen(true);
        let before = encoder.clone();
        let n = before.vocabulary().find(Name::Text(b"n")).unwrap();
        let scale = before.scale_of(before.vocabulary().coordinate(n, None).unwrap() as usize);
        let (mean, deviation) = scale.mean_and_deviation();
        for (value, times) in [("3", 0), ("7", 1), ("3", 2), ("1000000", 3)] {
            let event =
                [("k", "new"), ("n", value), ("new", "1"), ("other", "x"), ("at", "2024-01-01T00:01:00Z")];
            let out = learned(&mut encoder, &event);
            assert!(out.coordinates.iter().all(|&k| k < PASSING));
            let own = out.attributes.iter().position(|&attribute| attribute == n);
            // An outlier is missing as ever, and its mark has no coordinate.
            assert_eq!(own.is_none(), value == "1000000");
            let z = (value.parse::<f64>().unwrap() - mean) / deviation;
            assert!(own.is_none_or(|at| out.values[at] == z));
            assert_eq!(encoder.vocabulary().ignored, 2 * times + 2 + u64::from(value == "1000000"));
        }
        // The rare category exists, since there were more than 32 categories.
        assert_eq!(learned(&mut encoder, &[("k", "new")]).attributes.len(), 2);
        assert_eq!(before.moments(), encoder.moments());
        assert_eq!((before.uses(), before.evicted()), (encoder.uses(), encoder.evicted()));
        assert!(before.once().rows().eq(encoder.once().rows()));
        let mut merged = before.clone();
        let changes = merged.merge(&[&encoder, &encoder, &before], false).unwrap();
        assert!(changes.iter().all(|change| change.keeps_names() && change.keeps_scales()));
        assert_eq!(merged.moments(), before.moments());
        assert_eq!(merged.vocabulary().ignored, 2 * encoder.vocabulary().ignored);
        // Learning continues from where it was.
        merged.set_frozen(false);
        learned(&mut merged, &[("new", "1"), ("n", "3")]);
        assert_eq!(merged.tallies()[0].values, 41);
        assert!(merged.vocabulary().find(Name::Text(b"new")).is_some());
    }
}
