//! What labels an entity's events had.

use crate::spelled::spelled_number;

/// The mean is that of about so many labels.
const LONGEST: u32 = 16;

/// A label.
#[derive(Clone, Debug, PartialEq)]
pub enum PastLabel {
    /// A number, or a boolean as 1 or 0.
    Number(f64),
    /// Any other.
    Text(Box<[u8]>),
}

/// The labels of an entity so far.
#[derive(Clone, Debug, PartialEq)]
pub struct PastLabels {
    /// The last one.
    pub last: PastLabel,
    /// When it came.
    pub time: f64,
    /// The mean of those that are numbers.
    pub mean: f64,
    /// How many of them it is of.
    pub count: u32,
}

impl PastLabel {
    /// A text, or the number that it spells.
    pub fn of_text(text: &[u8]) -> Self {
        spelled_number(text).map_or_else(|| Self::Text(text.into()), Self::Number)
    }
}

impl PastLabels {
    /// None but this one.
    pub fn new(last: PastLabel, time: f64) -> Self {
        let mut labels = Self { last, time, mean: 0.0, count: 0 };
        labels.count_in();
        labels
    }

    /// Take in another one.
    pub fn add(&mut self, label: PastLabel, time: f64) {
        (self.last, self.time) = (label, time);
        self.count_in();
    }

    fn count_in(&mut self) {
        if let PastLabel::Number(value) = self.last {
            self.count = (self.count + 1).min(LONGEST);
            // The difference of two numbers may be more than a number holds.
            let share = 1.0 / f64::from(self.count);
            self.mean = self.mean * (1.0 - share) + value * share;
        }
    }

    /// Whether these are newer than others; of two at once, ones are whatever their order.
    pub fn is_newer(&self, other: &Self) -> bool {
        let number = |labels: &Self| if let PastLabel::Number(value) = labels.last { value } else { f64::NAN };
        let order = self.time.total_cmp(&other.time).then(self.count.cmp(&other.count));
        let order = order.then(self.mean.total_cmp(&other.mean));
        let order = order.then(number(self).total_cmp(&number(other)));
        order.then_with(|| self.text().cmp(other.text())).is_gt()
    }

    /// Whether they can be any.
    pub fn is_sound(&self) -> bool {
        self.time.is_finite() && self.mean.is_finite() && self.count <= LONGEST
    }

    /// The last one, if it is a text.
    pub fn text(&self) -> &[u8] {
        if let PastLabel::Text(text) = &self.last { text } else { &[] }
    }

    /// The bytes they take.
    pub fn bytes(&self) -> usize {
        size_of::<Self>() + self.text().len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_is_that_of_the_last_few() {
        let mut labels = PastLabels::new(PastLabel::Number(1.0), 1.0);
        assert_eq!(labels.mean, 1.0);
        labels.add(PastLabel::Number(0.0), 2.0);
        assert_eq!((labels.mean, labels.count), (0.5, 2));
        labels.add(PastLabel::Text((*b"spam").into()), 3.0);
        assert_eq!((labels.mean, labels.count, labels.text()), (0.5, 2, &b"spam"[..]));
        for time in 4..100 {
            labels.add(PastLabel::Number(f64::MAX), f64::from(time));
        }
        assert!(labels.mean.is_finite() && labels.mean > 0.9 * f64::MAX && labels.count == LONGEST);
    }

    #[test]
    fn of_two_one_is_newer() {
        let all = [
            PastLabels::new(PastLabel::Number(1.0), 1.0),
            PastLabels::new(PastLabel::Number(1.0), 2.0),
            PastLabels::new(PastLabel::Number(2.0), 1.0),
            PastLabels::new(PastLabel::Text((*b"a").into()), 1.0),
            PastLabels::new(PastLabel::Text((*b"b").into()), 1.0),
        ];
        for (i, one) in all.iter().enumerate() {
            for (j, other) in all.iter().enumerate() {
                assert_eq!(one.is_newer(other) ^ other.is_newer(one), i != j);
            }
        }
    }
}
