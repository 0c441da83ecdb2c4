use super::*;
use crate::data::schema::{LabelColumn, NumberColumn};

fn close(what: &str, got: f64, want: f64) {
    assert!((got - want).abs() < 1e-12, "{what}: got {got}, want {want}");
}

/// Values by scikit-learn 1.5: mean_absolute_error, root_mean_squared_error, r2_score.
#[test]
fn errors_of_numbers_are_in_the_units_of_the_file() {
    let column = |name: &str, mean, std| NumberColumn { name: name.into(), mean, std };
    let targets = Targets::Numbers { columns: vec![column("a", 5.0, 2.0), column("b", 0.0, 1.0)] };
    let (truth, outputs) = ([1.0_f32, 0.0, 2.0, 1.0, 4.0, 5.0], [1.5, 0.0, 2.0, 2.0, 3.0, 5.0]);
    let mut tally = Tally::new(&targets);
    for (target, output) in truth.chunks_exact(2).zip(outputs.chunks_exact(2)) {
        tally.add(Loss::Mse, 0.0, output, target, 1.0);
    }
    let scores = tally.scores(&targets, &spread(&truth, 2));
    let Scores::Numbers { loss, mae, rmse, r2 } = scores else { panic!("numbers, got {scores:?}") };
    close("loss", loss, 2.25 / 6.0);
    close("mae", mae, f64::midpoint(1.0, 1.0 / 3.0));
    close("rmse", rmse, f64::midpoint(2.0 * (1.25_f64 / 3.0).sqrt(), (1.0_f64 / 3.0).sqrt()));
    close("r2", r2, f64::midpoint(1.0 - 1.25 / (14.0 / 3.0), 1.0 - 1.0 / 14.0));
}

/// r2_score([3, 3], [3, 3]), r2_score([3, 3], [3, 4]), r2_score([3], [4]) by scikit-learn 1.9.
#[test]
fn of_targets_that_are_all_the_same_r2_is_one_or_zero_and_of_one_row_none() {
    let columns = vec![NumberColumn { name: "a".into(), mean: 0.0, std: 1.0 }];
    let targets = Targets::Numbers { columns };
    let score = |outputs: &[f64]| {
        let mut tally = Tally::new(&targets);
        outputs.iter().for_each(|&output| tally.add(Loss::Mse, 0.0, &[output], &[3.0], 1.0));
        tally.scores(&targets, &spread(&vec![3.0; outputs.len()], 1)).named()[3]
    };
    assert_eq!((score(&[3.0, 3.0]), score(&[3.0, 4.0])), (("r2", 1.0), ("r2", 0.0)));
    assert!(score(&[4.0]).1.is_nan(), "one row");
}

#[test]
fn classes_are_counted_by_the_largest_output() {
    let targets = Targets::Classes { name: "c".into(), classes: ["x", "y", "z"].map(String::from).to_vec() };
    let mut tally = Tally::new(&targets);
    let rows = [(0.0, [2.0, 1.0, 0.0]), (0.0, [0.0, 1.0, 0.0]), (1.0, [0.0, 3.0, 0.0]), (2.0, [0.0, 0.5, 0.0])];
    for (class, outputs) in rows {
        tally.add(Loss::SoftmaxCrossEntropy, 0.0, &outputs, &[class], 1.0);
    }
    let scores = tally.scores(&targets, &[]);
    let Scores::Classes { loss, accuracy, balanced_accuracy, macro_f1, log_loss, auc } = scores else {
        panic!("classes, got {scores:?}")
    };
    close("accuracy", accuracy, 0.5);
    close("balanced accuracy", balanced_accuracy, 0.5);
    close("macro F1", macro_f1, (2.0 / 3.0 + 0.5) / 3.0);
    close("log loss", log_loss, loss);
    let entropy = |z: [f64; 3], c: usize| z.iter().map(|v| v.exp()).sum::<f64>().ln() - z[c];
    let want = entropy(rows[0].1, 0) + entropy(rows[1].1, 0) + entropy(rows[2].1, 1) + entropy(rows[3].1, 2);
    close("loss", loss, want / 4.0);
    assert_eq!(auc, None, "three classes");
}

#[test]
fn the_area_under_the_curve_counts_equal_scores_half() {
    close("ordered", area_under_curve(&[(0.1, false), (0.2, false), (0.3, true)]), 1.0);
    close("reversed", area_under_curve(&[(0.9, false), (0.2, true)]), 0.0);
    // roc_auc_score([0, 0, 1, 1, 1], [1, 2, 2, 3, 0]) = 0.5833333333333333
    let ranked = [(1.0, false), (2.0, false), (2.0, true), (3.0, true), (0.0, true)];
    close("mixed", area_under_curve(&ranked), 3.5 / 6.0);
    assert!(area_under_curve(&[(1.0, true)]).is_nan(), "one label only");
}

#[test]
fn labels_are_one_where_the_logit_is_not_negative() {
    let column = LabelColumn { name: "l".into(), classes: None };
    let targets = Targets::Labels { columns: vec![column] };
    let mut tally = Tally::new(&targets);
    for (label, logit) in [(1.0, 0.5), (1.0, -0.5), (0.0, -1.0), (0.0, -2.0)] {
        tally.add(Loss::BinaryCrossEntropy, 0.0, &[logit], &[label], 1.0);
    }
    let scores = tally.scores(&targets, &[]);
    let Scores::Labels { accuracy, balanced_accuracy, f1, auc, .. } = scores else { panic!("labels, got {scores:?}") };
    close("accuracy", accuracy, 0.75);
    close("balanced accuracy", balanced_accuracy, 0.75);
    close("F1", f1, 2.0 / 3.0);
    close("AUC", auc, 1.0);
}

#[test]
fn the_loss_weighs_rows() {
    let column = NumberColumn { name: "a".into(), mean: 0.0, std: 1.0 };
    let targets = Targets::Numbers { columns: vec![column] };
    let mut tally = Tally::new(&targets);
    tally.add(Loss::Mse, 0.0, &[1.0], &[0.0], 3.0);
    tally.add(Loss::Mse, 0.0, &[2.0], &[0.0], 1.0);
    let scores = tally.scores(&targets, &[1.0]);
    close("loss", scores.loss(), 7.0 / 4.0);
    close("mae", scores.named()[1].1, 1.5);
}
