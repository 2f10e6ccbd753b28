//! Equations with a symmetric positive definite matrix.

use super::pairwise_moments::ROUNDING;

/// A matrix as L L', L lower triangular.
///
/// L' is kept above the diagonal, so that both substitutions run along rows. Neither looks beyond the
/// entries it needs: a matrix that is not quite definite has its pivots held above 0.
#[derive(Clone, Debug, Default)]
pub struct Cholesky {
    size: usize,
    entries: Vec<f64>,
    /// One over the diagonal of L.
    inverse: Vec<f64>,
}

impl Cholesky {
    /// Room for a matrix: its rows, of which what is up to the diagonal is to be filled in.
    pub fn rows(&mut self, size: usize) -> std::slice::ChunksExactMut<'_, f64> {
        self.size = size;
        if self.entries.len() < size * size {
            self.entries.resize(size * size, 0.0);
            self.inverse.resize(size, 0.0);
        }
        self.entries[..size * size].chunks_exact_mut(size.max(1))
    }

    /// From the matrix that was filled in to its factors.
    pub fn factorise(&mut self) {
        let size = self.size;
        for i in 0..size {
            let (above, rest) = self.entries.split_at_mut(i * size);
            let row = &mut rest[..=i];
            for (j, earlier) in above.chunks_exact_mut(size).enumerate() {
                let entry = row[j] * self.inverse[j];
                row[j] = entry;
                earlier[i] = entry;
                // Includes the diagonal, from which the square goes.
                for (entry_of_k, other) in row[j + 1..].iter_mut().zip(&earlier[j + 1..]) {
                    *entry_of_k -= entry * other;
                }
            }
            self.inverse[i] = 1.0 / row[i].max(ROUNDING).sqrt();
        }
    }

    /// x becomes the solution of L L' y = x.
    pub fn solve(&self, x: &mut [f64]) {
        let size = self.size;
        let x = &mut x[..size];
        let rows = self.entries[..size * size].chunks_exact(size.max(1)).zip(&self.inverse);
        for (i, (row, inverse)) in rows.clone().enumerate() {
            let value = x[i] * inverse;
            x[i] = value;
            for (later, entry) in x[i + 1..].iter_mut().zip(&row[i + 1..]) {
                *later -= entry * value;
            }
        }
        for (i, (row, inverse)) in rows.enumerate().rev() {
            let value = x[i] * inverse;
            x[i] = value;
            for (earlier, entry) in x[..i].iter_mut().zip(row) {
                *earlier -= entry * value;
            }
        }
    }
}
