//! Linear equations with a symmetric positive definite matrix.

use crate::math::{dot, log};

/// Lower bound of a pivot.
const LEAST_PIVOT: f64 = 1e-12;
/// The rank of the factor in a mixture. With a constant size, loops are unrolled.
pub const COMMON: usize = 8;

/// The factorisation U' U of a matrix, with U upper triangular.
///
/// If the matrix is not quite definite, its pivots are kept above 0.
#[derive(Clone, Debug, Default)]
pub struct Cholesky {
    size: usize,
    entries: Vec<f64>,
    /// Reciprocals of the diagonal of U.
    inverse: Vec<f64>,
    /// Rows of the inverse of U', and of the inverse of the matrix.
    inverse_rows: Vec<f64>,
    inverse_matrix: Vec<f64>,
}

impl Cholesky {
    /// The rows of a matrix, whose entries from the diagonal on are to be filled in.
    pub fn rows(&mut self, size: usize) -> std::slice::ChunksExactMut<'_, f64> {
        self.size = size;
        if self.entries.len() < size * size {
            self.entries.resize(size * size, 0.0);
            self.inverse.resize(size, 0.0);
        }
        self.entries[..size * size].chunks_exact_mut(size.max(1))
    }

    /// Factorise the matrix that was filled in.
    ///
    /// Each row in turn is subtracted from all later ones: these updates do not depend on one another.
    pub fn factorise(&mut self) {
        match self.size {
            COMMON => self.factorise_of(COMMON),
            size => self.factorise_of(size),
        }
    }

    #[inline(always)]
    fn factorise_of(&mut self, size: usize) {
        for i in 0..size {
            let (above, below) = self.entries.split_at_mut((i + 1) * size);
            let row = &mut above[i * size + i..];
            self.inverse[i] = 1.0 / row[0].max(LEAST_PIVOT).sqrt();
            let row = &mut row[1..];
            row.iter_mut().for_each(|entry| *entry *= self.inverse[i]);
            for (j, target) in below.chunks_exact_mut(size).take(row.len()).enumerate() {
                subtract(&mut target[i + 1 + j..], row[j], &row[j..]);
            }
        }
    }

    /// Replace x with the solution y of U' U y = x.
    pub fn solve(&self, x: &mut [f64]) {
        match self.size {
            COMMON => self.solve_of(COMMON, x),
            size => self.solve_of(size, x),
        }
    }

    #[inline(always)]
    fn solve_of(&self, size: usize, x: &mut [f64]) {
        let x = &mut x[..size];
        for i in 0..size {
            let value = x[i] * self.inverse[i];
            x[i] = value;
            subtract(&mut x[i + 1..], value, &self.entries[i * size..][i + 1..size]);
        }
        for i in (0..size).rev() {
            let row = &self.entries[i * size..][i + 1..size];
            x[i] = (x[i] - dot(row, &x[i + 1..])) * self.inverse[i];
        }
    }

    /// The logarithm of the determinant of U, half that of the matrix.
    pub fn log_determinant(&self) -> f64 {
        -self.inverse[..self.size].iter().map(|&inverse| log(inverse)).sum::<f64>()
    }

    /// The rows of the inverse of U', each up to its diagonal; computed by [`Self::invert`].
    pub fn inverse_rows(&self) -> impl Iterator<Item = &[f64]> {
        self.inverse_rows.chunks_exact(self.size.max(1)).enumerate().map(|(i, row)| &row[..=i])
    }

    /// The inverse of the matrix, row by row; computed by [`Self::invert`].
    pub fn inverse_matrix(&self) -> &[f64] {
        &self.inverse_matrix
    }

    /// Compute the inverse of the matrix, for [`Self::add_solution`].
    pub fn invert(&mut self) {
        match self.size {
            COMMON => self.invert_of(COMMON),
            size => self.invert_of(size),
        }
    }

    #[inline(always)]
    fn invert_of(&mut self, size: usize) {
        self.inverse_rows.clear();
        self.inverse_rows.resize(size * size, 0.0);
        for (i, entries) in self.entries.chunks_exact(size.max(1)).take(size).enumerate() {
            let (above, below) = self.inverse_rows.split_at_mut((i + 1) * size);
            let row = &mut above[i * size..][..=i];
            row[i] = 1.0;
            row.iter_mut().for_each(|entry| *entry *= self.inverse[i]);
            for (target, entry) in below.chunks_exact_mut(size).zip(&entries[i + 1..]) {
                subtract(&mut target[..=i], *entry, row);
            }
        }
        self.inverse_matrix.clear();
        self.inverse_matrix.resize(size * size, 0.0);
        for (first, quad) in self.inverse_rows.chunks(4 * size.max(1)).enumerate() {
            // Beyond this column these rows are 0.
            let end = (4 * first + 4).min(size);
            for (i, entries) in self.inverse_matrix.chunks_exact_mut(size).take(end).enumerate() {
                let mut column = [0.0; 4];
                column.iter_mut().zip(quad.chunks_exact(size)).for_each(|(x, row)| *x = row[i]);
                add_rows(&mut entries[..end], &column[..quad.len() / size], quad, size);
            }
        }
    }

    /// Add the solution y of U' U y = x to `result`, using the inverse.
    #[inline(always)]
    pub fn add_solution(&self, x: &[f64], result: &mut [f64]) {
        add_rows(result, x, &self.inverse_matrix, x.len());
    }
}

/// Add rows of this width, each times its factor, to as many columns as `target` has; four rows per pass. Inlined, so
/// that loops over rows of a constant width are unrolled.
#[inline(always)]
fn add_rows(target: &mut [f64], factors: &[f64], rows: &[f64], width: usize) {
    let (quads, rest) = factors.as_chunks::<4>();
    let mut rows = rows.chunks_exact(width.max(1));
    for factors in quads {
        if let (Some(row0), Some(row1), Some(row2), Some(row3)) =
            (rows.next(), rows.next(), rows.next(), rows.next())
        {
            add_four(target, *factors, [row0, row1, row2, row3]);
        }
    }
    for (factor, row) in rest.iter().zip(rows) {
        subtract(target, -factor, row);
    }
}

/// Add four rows, each times its factor, in one pass.
pub fn add_four(target: &mut [f64], factors: [f64; 4], rows: [&[f64]; 4]) {
    let [row0, row1, row2, row3] = rows.map(|row| &row[..target.len()]);
    let [x0, x1, x2, x3] = factors;
    for (k, entry) in target.iter_mut().enumerate() {
        *entry += (x0 * row0[k] + x1 * row1[k]) + (x2 * row2[k] + x3 * row3[k]);
    }
}

/// Subtract a row times a factor.
fn subtract(target: &mut [f64], factor: f64, row: &[f64]) {
    for (entry, other) in target.iter_mut().zip(row) {
        *entry -= factor * other;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_random::TestRandom;

    #[test]
    fn equations_are_solved() {
        let mut random = TestRandom(2);
        let mut draw = || 2.0 * random.unit() - 1.0;
        for size in 0..12 {
            let rows: Vec<Vec<f64>> = (0..size).map(|_| (0..size).map(|_| draw()).collect()).collect();
            let entry = |i: usize, j: usize| dot(&rows[i], &rows[j]) + f64::from(i == j);
            let mut cholesky = Cholesky::default();
            for (i, row) in cholesky.rows(size).enumerate() {
                (i..size).for_each(|j| row[j] = entry(i, j));
            }
            cholesky.factorise();
            let right: Vec<f64> = (0..size).map(|_| draw()).collect();
            let (mut solved, mut by_inverse) = (right.clone(), vec![0.0; size]);
            cholesky.solve(&mut solved);
            cholesky.invert();
            cholesky.add_solution(&right, &mut by_inverse);
            for i in 0..size {
                let back: f64 = (0..size).map(|j| entry(i, j) * solved[j]).sum();
                assert!((back - right[i]).abs() < 1e-9);
                assert!((by_inverse[i] - solved[i]).abs() < 1e-9);
            }
        }
    }
}
