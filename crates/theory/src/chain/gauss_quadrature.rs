//! Gauss quadrature for sums over consecutive integers: k weighted values of a function give the sum of M values,
//! exactly for polynomials of degree up to 2k - 1.
//!
//! Nodes are the zeros of the Gram (discrete Chebyshev) polynomial, orthogonal on 0..M with equal weights; its
//! recurrence is x p_j = p_{j+1} + b_j p_{j-1}, b_j = j^2 (M^2 - j^2) / (4 (4 j^2 - 1)), with x counted from the middle
//! (Gautschi, *Orthogonal Polynomials*, 2004, Table 1.2).

/// A node with its weight.
pub type Node = (f64, f64);

/// The rule of `k` nodes for the sum over first..first + length. A sum of up to `k` terms is exact.
pub fn rule(first: f64, length: u64, k: usize) -> Vec<Node> {
    if length <= k as u64 {
        return (0..length).map(|i| (first + i as f64, 1.0)).collect();
    }
    let m = length as f64;
    let b: Vec<f64> = (1..k)
        .map(|j| {
            let jj = (j * j) as f64;
            jj * (m * m - jj) / (4.0 * (4.0 * jj - 1.0))
        })
        .collect();
    let middle = first + (m - 1.0) / 2.0;
    (0..k)
        .map(|i| {
            let x = zero(&b, i, m / 2.0);
            (middle + x, m * weight(&b, x))
        })
        .collect()
}

/// The zero with index `i`, in ascending order, by bisection on the number of zeros below a point.
fn zero(b: &[f64], i: usize, bound: f64) -> f64 {
    let (mut low, mut high) = (-bound, bound);
    // Ends when there is no number between both ends.
    loop {
        let x = 0.5 * (low + high);
        if x <= low || x >= high {
            return x;
        }
        if zeros_below(b, x) > i {
            high = x;
        } else {
            low = x;
        }
    }
}

/// The number of zeros below `x`: that of negative terms in the Sturm sequence of the Jacobi matrix.
fn zeros_below(b: &[f64], x: f64) -> usize {
    let mut d = -x;
    let mut count = usize::from(d < 0.0);
    for &b in b {
        d = -x - b / if d == 0.0 { f64::MIN_POSITIVE } else { d };
        count += usize::from(d < 0.0);
    }
    count
}

/// The weight of a node as a share of the length: one over the sum of squares of the orthonormal polynomials there.
fn weight(b: &[f64], x: f64) -> f64 {
    let (mut previous, mut current, mut sum) = (0.0, 1.0, 1.0);
    let mut root = 0.0;
    for &b in b {
        let next_root = b.sqrt();
        (previous, current) = (current, (x * current - root * previous) / next_root);
        root = next_root;
        sum += current * current;
    }
    1.0 / sum
}

#[cfg(test)]
mod tests {
    use super::rule;

    #[test]
    fn polynomials_up_to_twice_the_nodes_are_summed_exactly() {
        for (length, k) in [(13, 12), (24, 12), (1000, 12), (1_000_000, 12), (40, 5)] {
            let nodes = rule(3.0, length, k);
            assert_eq!(nodes.len(), k);
            // Scaled to [0, 1], so that sums stay near one.
            let scaled = |x: f64| (x - 3.0) / length as f64;
            for degree in 0..2 * k as i32 {
                let exact: f64 = (0..length).map(|i| scaled(3.0 + i as f64).powi(degree)).sum();
                let found: f64 = nodes.iter().map(|&(x, g)| g * scaled(x).powi(degree)).sum();
                assert!((found / exact - 1.0).abs() < 1e-11, "{length} {k} {degree}: {found} {exact}");
            }
        }
    }

    #[test]
    fn few_numbers_are_summed_one_by_one() {
        assert_eq!(rule(5.0, 3, 12), [(5.0, 1.0), (6.0, 1.0), (7.0, 1.0)]);
    }
}
