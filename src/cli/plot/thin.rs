//! A million points as the few thousand that a chart can show.

use super::curves::Place;

/// Of all places in one column of the paper the first, the last, and those with the least and the greatest middle, with the outer
/// values widened to all of the column. A column without finite values is one gap.
pub(super) fn thin(places: &[Place], column: impl Fn(f64) -> i32) -> Vec<Place> {
    let mut thinned = Vec::new();
    for part in places.chunk_by(|a, b| column(a.x) == column(b.x)) {
        match part {
            [_, _, _, _, _, ..] => thinned.extend(of_part(part)),
            few => thinned.extend_from_slice(few),
        }
    }
    thinned
}

fn of_part(part: &[Place]) -> Vec<Place> {
    let finite: Vec<_> = part.iter().enumerate().filter(|(_, place)| place.middle().is_finite()).collect();
    let by_middle = |a: &&(usize, &Place), b: &&(usize, &Place)| a.1.middle().total_cmp(&b.1.middle());
    let (Some(first), Some(last)) = (finite.first(), finite.last()) else { return part[..1].to_vec() };
    let (least, greatest) = (finite.iter().min_by(by_middle), finite.iter().max_by(by_middle));
    let mut kept: Vec<_> = [Some(first), least, greatest, Some(last)].into_iter().flatten().map(|(i, _)| *i).collect();
    kept.sort_unstable();
    kept.dedup();
    let widest = |i: usize, pick: fn(f64, f64) -> f64| {
        finite.iter().map(|(_, place)| place.values[i]).reduce(pick).unwrap_or(f64::NAN)
    };
    let (low, first_quartile) = (widest(0, f64::min), widest(1, f64::min));
    let (third_quartile, high) = (widest(3, f64::max), widest(4, f64::max));
    let outer = |place: &Place| Place { values: [low, first_quartile, place.middle(), third_quartile, high], ..*place };
    let ended = part.last().filter(|place| !place.middle().is_finite());
    kept.into_iter().map(|i| outer(&part[i])).chain(ended.copied()).collect()
}

#[cfg(test)]
mod tests {
    use plotters::coord::ranged1d::Ranged as _;

    use super::*;
    use crate::cli::chart::Axis;

    #[test]
    fn peaks_ends_and_gaps_survive() {
        let value = |i: u32| match i {
            31_415 => 100.0,
            27_182 => -100.0,
            90_000.. => f64::NAN,
            _ => f64::from(i % 7),
        };
        let places: Vec<_> = (0..100_000).map(|i| Place { x: f64::from(i), values: [value(i); 5] }).collect();
        let got = thin(&places, |x| Axis::of([0.0, 100_000.0].into_iter(), false, 0.0).map(&x, (0, 500)));
        assert!((500..=2500).contains(&got.len()), "{} of 100,000 places", got.len());
        assert!(got.is_sorted_by(|a, b| a.x < b.x), "in order");
        for peak in [31_415.0, 27_182.0] {
            assert!(got.iter().any(|place| place.x == peak), "the peak at {peak}");
        }
        assert_eq!((got[0].x, got[0].middle()), (0.0, 0.0), "the first");
        let last = got.iter().rfind(|place| place.middle().is_finite()).expect("finite values");
        assert_eq!(last.x, 89_999.0, "the last before the gap");
        assert!(got.last().is_some_and(|place| place.middle().is_nan()), "the gap");
    }
}
