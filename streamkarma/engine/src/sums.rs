//! Sums of outer products, event by event: the same bit for bit, however events are split into blocks.

/// Add `w v v'` to a square matrix of `width` columns for each row v, one after another. Rows are mostly zeros, which
/// are skipped.
pub fn add_outer_products(matrix: &mut [f64], width: usize, rows: &[f64], weights: &[f64]) {
    let mut there = Vec::with_capacity(width);
    for (row, weight) in rows.chunks_exact(width.max(1)).zip(weights) {
        there.clear();
        there.extend((0..width).filter(|&k| row[k] != 0.0));
        for &i in &there {
            let weighed = weight * row[i];
            let line = &mut matrix[i * width..(i + 1) * width];
            for &j in &there {
                line[j] += weighed * row[j];
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_row_adds_its_products() {
        let mut total = [0.0; 4];
        add_outer_products(&mut total, 2, &[1.0, 2.0, 0.0, 1.0], &[1.0, 3.0]);
        assert_eq!(total, [1.0, 2.0, 2.0, 7.0]);
    }
}
