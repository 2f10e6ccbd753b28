//! Sums of decision trees that were fitted elsewhere and are passed as arrays.

/// The nodes of all trees, one tree after another; children come after their parents.
#[derive(Clone, Copy, Debug)]
pub struct Trees<'a> {
    /// The column that each node splits on.
    pub feature: &'a [i32],
    /// Values up to the threshold go left.
    pub threshold: &'a [f64],
    /// Whether missing values go left.
    pub missing_left: &'a [bool],
    /// Left children; negative for leaves.
    pub left: &'a [i32],
    /// Right children.
    pub right: &'a [i32],
    /// The outputs of the leaves, `width` numbers each.
    pub value: &'a [f64],
    /// See `value`.
    pub width: usize,
}

impl Trees<'_> {
    /// Add the output of the leaf that a row reaches in a tree to `sums`; None if an index is out of bounds, or a child
    /// comes before its parent.
    fn add(&self, root: i32, row: &[f64], sums: &mut [f64]) -> Option<()> {
        let mut node = usize::try_from(root).ok()?;
        while *self.left.get(node)? >= 0 {
            let x = *row.get(usize::try_from(*self.feature.get(node)?).ok()?)?;
            let goes_left =
                if x.is_nan() { *self.missing_left.get(node)? } else { x <= *self.threshold.get(node)? };
            let next = usize::try_from(*if goes_left { self.left } else { self.right }.get(node)?).ok()?;
            if next <= node {
                return None;
            }
            node = next;
        }
        let value = self.value.get(node * self.width..(node + 1) * self.width)?;
        sums.iter_mut().zip(value).for_each(|(sum, each)| *sum += each);
        Some(())
    }

    /// Add up the trees for each row of `columns` values, where NaN is a missing value: `sums` has `outputs` numbers
    /// per row, and a tree adds to these from its own output on. Trees are added one after another, so that the bits do
    /// not depend on the number of rows.
    ///
    /// # Errors
    ///
    /// If the arrays contradict each other.
    pub fn sum(
        &self,
        roots: &[(i32, i32)],
        rows: &[f64],
        columns: usize,
        sums: &mut [f64],
        outputs: usize,
    ) -> Result<(), &'static str> {
        let wrong = "the trees contradict each other";
        for (row, own) in rows.chunks_exact(columns.max(1)).zip(sums.chunks_exact_mut(outputs.max(1))) {
            for &(root, output) in roots {
                let begin = usize::try_from(output).map_err(|_| wrong)?;
                let part = own.get_mut(begin..begin + self.width).ok_or(wrong)?;
                self.add(root, row, part).ok_or(wrong)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// x0 <= 1, else x1 <= 0; a missing x0 goes left, a missing x1 right.
    const TREE: Trees = Trees {
        feature: &[0, 0, 1, 0, 0],
        threshold: &[1.0, 0.0, 0.0, 0.0, 0.0],
        missing_left: &[true, false, false, false, false],
        left: &[1, -1, 3, -1, -1],
        right: &[2, -1, 4, -1, -1],
        value: &[0.0, 1.0, 0.0, 2.0, 4.0],
        width: 1,
    };

    #[test]
    fn rows_reach_the_right_leaves() {
        let nan = f64::NAN;
        let rows = [1.0, 0.0, nan, nan, 2.0, 0.0, 2.0, nan, 2.0, 0.5];
        let mut sums = [0.5; 10];
        TREE.sum(&[(0, 0), (0, 0), (2, 1)], &rows, 2, &mut sums, 2).unwrap();
        assert_eq!(sums, [2.5, 2.5, 2.5, 4.5, 4.5, 2.5, 8.5, 4.5, 8.5, 4.5]);
    }

    #[test]
    fn malformed_trees_are_refused() {
        let (rows, mut sums) = ([2.0, 0.0], [0.0]);
        for roots in [(-1, 0), (5, 0), (0, 1), (0, -1)] {
            assert!(TREE.sum(&[roots], &rows, 2, &mut sums, 1).is_err());
        }
        for broken in [
            Trees { right: &[0, -1, 4, -1, -1], ..TREE },
            Trees { right: &[9, -1, 4, -1, -1], ..TREE },
            Trees { right: &[-1, -1, 4, -1, -1], ..TREE },
            Trees { feature: &[2, 0, 1, 0, 0], ..TREE },
            Trees { threshold: &[], ..TREE },
            Trees { value: &[0.0], ..TREE },
        ] {
            assert!(broken.sum(&[(0, 0)], &rows, 2, &mut sums, 1).is_err());
        }
    }
}
