//! The past labels of an entity.

/// Means are over about this many labels.
const LONGEST: u32 = 16;
/// Texts with a smaller share are dropped.
const LEAST_SHARE: f64 = 0.01;
/// Maximum number of shares, since each was at least [`LEAST_SHARE`].
const MOST_SHARES: usize = 100;

/// A label.
#[derive(Clone, Debug, PartialEq)]
pub enum PastLabel {
    /// A number, or a boolean as 1 or 0.
    Number(f64),
    /// Any other.
    Text(Box<[u8]>),
}

/// The past labels of an entity.
#[derive(Clone, Debug, PartialEq)]
pub struct PastLabels {
    /// The last one.
    pub last: PastLabel,
    /// The time of the latest label.
    pub time: f64,
    /// How many labels the mean or the shares are based on, up to [`LONGEST`].
    pub count: u32,
    /// The mean, if labels are numbers.
    pub mean: f64,
    /// The shares of texts, sorted by text, the last label among them.
    pub shares: Vec<(Box<[u8]>, f64)>,
}

impl PastLabels {
    /// Only this label.
    pub fn new(label: PastLabel, time: f64) -> Self {
        let mut labels = Self { last: label.clone(), time, count: 0, mean: 0.0, shares: Vec::new() };
        labels.add(label, time);
        labels
    }

    /// Add a label. A text after a number starts again from scratch, and so does a number after a text.
    pub fn add(&mut self, label: PastLabel, time: f64) {
        if std::mem::discriminant(&label) != std::mem::discriminant(&self.last) {
            (self.count, self.mean) = (0, 0.0);
            self.shares.clear();
        }
        self.count = (self.count + 1).min(LONGEST);
        let share = 1.0 / f64::from(self.count);
        match &label {
            // The difference of two numbers may overflow.
            PastLabel::Number(value) => self.mean = self.mean * (1.0 - share) + value * share,
            PastLabel::Text(text) => self.add_share(text, share),
        }
        (self.last, self.time) = (label, self.time.max(time));
    }

    fn add_share(&mut self, text: &[u8], more: f64) {
        for (_, share) in &mut self.shares {
            *share *= 1.0 - more;
        }
        match self.shares.binary_search_by(|(own, _)| (**own).cmp(text)) {
            Ok(at) => self.shares[at].1 += more,
            Err(at) => self.shares.insert(at, (text.into(), more)),
        }
        self.shares.retain(|(_, share)| *share >= LEAST_SHARE);
    }

    /// Whether these are newer than others; ties are broken, whatever the order of the two.
    pub fn is_newer(&self, other: &Self) -> bool {
        let order = self.time.total_cmp(&other.time).then(self.count.cmp(&other.count));
        let order = order.then(self.mean.total_cmp(&other.mean));
        let key = |labels: &Self| match &labels.last {
            PastLabel::Number(value) => (value.to_bits(), Box::default()),
            PastLabel::Text(text) => (0, text.clone()),
        };
        let shares = |labels: &Self| -> Vec<(Box<[u8]>, u64)> {
            labels.shares.iter().map(|(text, share)| (text.clone(), share.to_bits())).collect()
        };
        order.then_with(|| key(self).cmp(&key(other))).then_with(|| shares(self).cmp(&shares(other))).is_gt()
    }

    /// Whether the values are consistent.
    pub fn is_sound(&self) -> bool {
        let is_sorted = self.shares.is_sorted_by(|one, other| one.0 < other.0);
        let are_shares = self.shares.iter().all(|(_, share)| (LEAST_SHARE..=1.0 + 1e-9).contains(share));
        let is_number = matches!(self.last, PastLabel::Number(_));
        let few = self.shares.len() <= MOST_SHARES && self.shares.is_empty() == is_number;
        let counted = (1..=LONGEST).contains(&self.count);
        self.time.is_finite() && self.mean.is_finite() && counted && is_sorted && are_shares && few
    }

    /// Memory usage in bytes.
    pub fn bytes(&self) -> usize {
        let text = if let PastLabel::Text(text) = &self.last { text.len() } else { 0 };
        let shares = self.shares.capacity() * size_of::<(Box<[u8]>, f64)>();
        size_of::<Self>() + text + shares + self.shares.iter().map(|(text, _)| text.len()).sum::<usize>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &[u8]) -> PastLabel {
        PastLabel::Text(text.into())
    }

    #[test]
    fn mean_covers_the_latest_labels() {
        let mut labels = PastLabels::new(PastLabel::Number(1.0), 1.0);
        assert_eq!((labels.mean, labels.count), (1.0, 1));
        labels.add(PastLabel::Number(0.0), 2.0);
        assert_eq!((labels.mean, labels.count), (0.5, 2));
        for time in 3..100 {
            labels.add(PastLabel::Number(f64::MAX), f64::from(time));
        }
        assert!(labels.mean.is_finite() && labels.mean > 0.9 * f64::MAX && labels.count == LONGEST);
        assert!(labels.is_sound());
    }

    #[test]
    fn shares_cover_the_latest_texts() {
        let mut labels = PastLabels::new(text(b"spam"), 1.0);
        labels.add(text(b"ham"), 2.0);
        labels.add(text(b"spam"), 3.0);
        assert_eq!(labels.last, text(b"spam"));
        let shares: Vec<_> = labels.shares.iter().map(|(text, share)| (&**text, *share)).collect();
        assert!(shares[0].0 == b"ham" && (shares[0].1 - 1.0 / 3.0).abs() < 1e-12);
        assert!(shares[1].0 == b"spam" && (shares[1].1 - 2.0 / 3.0).abs() < 1e-12);
        for n in 0..1000 {
            labels.add(text(format!("other {n}").as_bytes()), 4.0);
            assert!(labels.is_sound() && labels.shares.len() <= MOST_SHARES);
        }
        assert!(labels.shares.iter().all(|(text, _)| text.starts_with(b"other")));
    }

    #[test]
    fn label_of_another_kind_starts_over() {
        let mut labels = PastLabels::new(text(b"spam"), 1.0);
        labels.add(PastLabel::Number(7.0), 2.0);
        assert_eq!(labels, PastLabels::new(PastLabel::Number(7.0), 2.0));
        labels.add(text(b"spam"), 3.0);
        assert_eq!(labels, PastLabels::new(text(b"spam"), 3.0));
    }

    #[test]
    fn exactly_one_of_two_is_newer() {
        let all = [
            PastLabels::new(PastLabel::Number(1.0), 1.0),
            PastLabels::new(PastLabel::Number(1.0), 2.0),
            PastLabels::new(PastLabel::Number(2.0), 1.0),
            PastLabels::new(text(b"a"), 1.0),
            PastLabels::new(text(b"b"), 1.0),
        ];
        for (i, one) in all.iter().enumerate() {
            for (j, other) in all.iter().enumerate() {
                assert_eq!(one.is_newer(other) ^ other.is_newer(one), i != j);
            }
        }
    }
}
