//! The vectors of the corrected algorithm, properties, and unusual input.

use serde_json::Value;

use super::gamma::{bracket, edge, row_weights, sharpness};
use super::tree::{Output, SortedColumns, Tree, TreeSettings, extra_errors, grow, root_cuts};
use super::*;
use crate::data::{Categories, Dataset, Matrix, generate};
use crate::observe::{Context, StopReason};
use crate::svm::{Learner, Model};

fn vectors(name: &str) -> Value {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/vectors/feature_induction/");
    serde_json::from_str(&std::fs::read_to_string(format!("{folder}{name}.json")).unwrap()).unwrap()
}

fn list(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect()
}

fn rows(value: &Value) -> Vec<Vec<f64>> {
    value.as_array().unwrap().iter().map(list).collect()
}

fn near(a: f64, b: f64, tolerance: f64) -> bool {
    (a - b).abs() <= tolerance * b.abs().max(1.0)
}

#[test]
fn gamma_and_weights_are_those_of_the_vectors() {
    for case in vectors("gamma").as_array().unwrap() {
        let slacks: Vec<f64> = list(&case["margins"]).iter().map(|m| m - 1.0).collect();
        let ones = vec![1.0; slacks.len()];
        let rule: GammaRule = serde_json::from_value(case["reg_mode"].clone()).unwrap();
        let term = rule.term(case["w_norm"].as_f64().unwrap(), case["c"].as_f64().unwrap());
        assert!(near(term, case["reg"].as_f64().unwrap(), 1e-12), "{}", case["name"]);
        let found = sharpness(&slacks, &ones, term, case["cap"].as_f64().unwrap());
        assert_eq!(found.capped, case["capped"].as_bool().unwrap(), "{}", case["name"]);
        let gamma = case["gamma"].as_f64().unwrap();
        assert!((found.gamma - gamma).abs() <= 1e-10 * gamma, "{}: {} and {gamma}", case["name"], found.gamma);
        if let Some(ends) = case["bracket"].as_array() {
            let (low, high) = bracket(&slacks, &ones, term).unwrap();
            assert!((low / ends[0].as_f64().unwrap() - 1.0).abs() < 1e-10 && (high / ends[1].as_f64().unwrap() - 1.0).abs() < 1e-10);
        }
        let weights = row_weights(&slacks, found.gamma);
        let total: f64 = weights.iter().sum();
        for ((w, expected), p) in weights.iter().zip(list(&case["weights"])).zip(list(&case["probabilities"])) {
            assert!((w - expected).abs() <= 1e-10 * expected.max(1e-300), "{}: {w} and {expected}", case["name"]);
            assert!((w / total - p).abs() <= 1e-10 * p.max(1e-300));
        }
    }
}

#[test]
fn pessimistic_errors_are_those_of_the_vectors() {
    for case in vectors("add_errs").as_array().unwrap() {
        let get = |key: &str| case[key].as_f64().unwrap();
        let found = extra_errors(get("N"), get("e"), get("CF"));
        assert!((found - get("extra")).abs() < 1e-9, "{case}: {found}");
    }
}

fn same_tree(tree: &Tree, place: usize, expected: &Value) {
    let node = &tree.nodes[place];
    assert!(near(node.negative, expected["neg"].as_f64().unwrap(), 1e-9), "{node:?} {expected}");
    assert!(near(node.positive, expected["pos"].as_f64().unwrap(), 1e-9));
    match (node.children(), expected.get("left")) {
        (None, None) => {}
        (Some([left, right]), Some(_)) => {
            assert_eq!(u64::from(node.feature), expected["feature"].as_u64().unwrap());
            assert!(near(node.threshold, expected["threshold"].as_f64().unwrap(), 1e-9));
            same_tree(tree, left, &expected["left"]);
            same_tree(tree, right, &expected["right"]);
        }
        found => panic!("structure differs: {found:?}"),
    }
}

#[test]
fn trees_cuts_and_rules_are_those_of_the_vectors() {
    for case in vectors("tree").as_array().unwrap() {
        let x = Matrix::from_rows(&rows(&case["X"])).unwrap();
        let positive: Vec<bool> = list(&case["y"]).iter().map(|&y| y > 0.0).collect();
        let weights = list(&case["w"]);
        let params = &case["params"];
        let settings = TreeSettings {
            max_depth: params["max_depth"].as_u64().unwrap() as usize,
            min_leaf: params["min_leaf"].as_f64().unwrap(),
            confidence: params["CF"].as_f64().unwrap(),
        };
        let columns = SortedColumns::new(&x, 1);
        let (cuts, chosen) = root_cuts(&columns, &positive, &weights, &settings);
        let expected: Vec<&Value> = case["root_table"].as_array().unwrap().iter().filter(|v| !v.is_null()).collect();
        assert_eq!(cuts.len(), expected.len(), "{}", case["name"]);
        for (cut, expected) in cuts.iter().zip(expected) {
            assert_eq!(cut.feature as u64, expected["feature"].as_u64().unwrap());
            assert_eq!(cut.candidates as u64, expected["candidates"].as_u64().unwrap());
            for (found, key) in [
                (cut.threshold, "threshold"),
                (cut.gain, "gain"),
                (cut.corrected, "gain_mdl"),
                (cut.split_info, "split_info"),
                (cut.ratio, "ratio"),
                (cut.left_weight, "left_weight"),
            ] {
                assert!(near(found, expected[key].as_f64().unwrap(), 1e-9), "{}: {key}", case["name"]);
            }
        }
        assert_eq!(chosen.unwrap().feature as u64, case["root_choice"].as_u64().unwrap());
        let tree = grow(&columns, &positive, &weights, &settings);
        same_tree(&tree, 0, &case["tree"]);
        let probes = Matrix::from_rows(&rows(&case["probes"])).unwrap();
        for (output, key) in [(Output::Soft, "soft"), (Output::Hard, "hard"), (Output::Laplace, "laplace")] {
            for (found, expected) in tree.evaluate(&probes, output).iter().zip(list(&case[key])) {
                assert!((found - expected).abs() < 1e-9);
            }
        }
        let induced = Induced {
            shares: vec![0.0; tree.nodes.len()],
            tree,
            mean: 0.0,
            spread: 1.0,
            round: 1,
            gamma: 1.0,
            capped: false,
            edge: gamma::Edge::default(),
        };
        let found = induced.leaf_rules(Output::Soft, &|j| format!("x{j}"));
        let expected = case["rules"].as_array().unwrap();
        assert_eq!(found.len(), expected.len());
        for rule in expected {
            // Intervals of one feature are merged here; the vectors list both bounds.
            let ours = found.iter().find(|(_, value, support)| {
                near(*value, rule[1].as_f64().unwrap(), 1e-9) && near(*support, rule[2].as_f64().unwrap(), 1e-9)
            });
            let (text, ..) = ours.unwrap_or_else(|| panic!("{rule} is missing in {found:?}"));
            let theirs = rule[0].as_str().unwrap();
            assert!(text.contains('<') || text.contains('>'), "{text} for {theirs}");
        }
    }
}

#[test]
fn three_rounds_are_those_of_the_vectors() {
    for case in vectors("rounds").as_array().unwrap() {
        let x = Matrix::from_rows(&rows(&case["X"])).unwrap();
        let codes: Vec<u32> = list(&case["y"]).iter().map(|&y| u32::from(y > 0.0)).collect();
        let signs = list(&case["y"]);
        let data = Dataset::classes(x, Categories::new(codes, vec!["-1".into(), "1".into()]).unwrap());
        let steps = case["steps"].as_array().unwrap();
        let learner = FeatureInduction {
            c: case["C"].as_f64().unwrap(),
            n_induced: Amount::Exactly(steps.len()),
            max_depth: Depth::AtMost(3),
            sampling: Sampling::Weight,
            ..FeatureInduction::default()
        };
        let model = learner.fit(&data).unwrap();
        let induction = &model.inductions[0];
        let z = model.transform(&data.x, &Context::single()).unwrap();
        for (place, step) in steps.iter().enumerate() {
            let (stage, feature) = (&induction.stages[place], &induction.features[place]);
            assert!((stage.objective / step["objective"].as_f64().unwrap() - 1.0).abs() < 1e-7);
            let decisions = model.staged_from(&z, place).unwrap();
            let slacks: Vec<f64> = decisions.iter().zip(&signs).map(|(f, y)| y * f - 1.0).collect();
            for (h, expected) in slacks.iter().zip(list(&step["H"])) {
                assert!((h - expected).abs() < 1e-5, "{h} and {expected}");
            }
            assert!((feature.gamma / step["gamma"].as_f64().unwrap() - 1.0).abs() < 1e-5);
            same_structure(&feature.tree, 0, &step["tree"]);
            assert!(near(feature.mean, step["feature_mean"].as_f64().unwrap(), 1e-5));
            assert!(near(feature.spread, step["feature_sd"].as_f64().unwrap(), 1e-5));
            let ratio = step["edge_B"].as_f64().unwrap() / step["edge_A"].as_f64().unwrap();
            assert!((feature.edge.edge - ratio).abs() < 1e-5);
            assert!((feature.edge.step - step["alpha_star"].as_f64().unwrap()).abs() < 1e-5);
            assert!((feature.edge.decrease - step["guaranteed_decrease"].as_f64().unwrap()).abs() < 1e-4);
        }
    }
}

fn same_structure(tree: &Tree, place: usize, expected: &Value) {
    let node = &tree.nodes[place];
    match (node.children(), expected.get("left")) {
        (None, None) => {}
        (Some([left, right]), Some(_)) => {
            assert_eq!(u64::from(node.feature), expected["feature"].as_u64().unwrap());
            assert!(near(node.threshold, expected["threshold"].as_f64().unwrap(), 1e-9));
            same_structure(tree, left, &expected["left"]);
            same_structure(tree, right, &expected["right"]);
        }
        found => panic!("structure differs: {found:?}"),
    }
}

fn induce(count: usize) -> FeatureInduction {
    FeatureInduction { c: 1.0, n_induced: Amount::Exactly(count), max_depth: Depth::AtMost(3), ..FeatureInduction::default() }
}

#[test]
fn the_objective_never_rises_and_promises_are_kept() {
    for (seed, sampling, output, cross_fit) in [
        (0, Sampling::Resample, Output::Soft, false),
        (1, Sampling::Weight, Output::Hard, false),
        (2, Sampling::Resample, Output::Laplace, true),
        (3, Sampling::Resample, Output::Hard, false),
    ] {
        for c in [0.01, 1.0, 100.0] {
            let data = generate::banana(150, seed);
            let model = FeatureInduction { c, sampling, output, cross_fit, seed, ..induce(8) }.fit(&data).unwrap();
            let induction = &model.inductions[0];
            assert!(!induction.features.is_empty());
            for (before, after) in induction.stages.iter().zip(&induction.stages[1..]) {
                assert!(after.objective <= before.objective, "{} then {}", before.objective, after.objective);
            }
            for feature in &induction.features {
                assert!(feature.edge.decrease >= 0.0 && feature.edge.edge.abs() <= 1.0 && feature.gamma <= 50.0);
            }
        }
    }
}

#[test]
fn the_edge_bounds_the_true_decrease_of_the_smooth_loss() {
    let (slacks, signs, g) = ([-1.5, 0.3, -0.2, 2.0], [1.0, -1.0, 1.0, -1.0], [0.8, -0.5, -0.1, -1.0]);
    let gamma = 1.7;
    let weights = row_weights(&slacks, gamma);
    let found = edge(&weights, &signs, &g, gamma);
    let loss = |a: f64| (0..4).map(|i| (-gamma * (slacks[i] + a * signs[i] * g[i])).exp().ln_1p() / gamma).sum::<f64>();
    assert!(loss(0.0) - loss(found.step) >= found.decrease - 1e-12);
}

#[test]
fn decisions_are_the_transformed_table_times_the_weights() {
    let data = generate::banana(120, 1);
    let model = induce(5).fit(&data).unwrap();
    let z = model.transform(&data.x, &Context::single()).unwrap();
    let Final::Linear(machine) = &model.machine else { panic!("linear") };
    let decisions = model.decision_values(&data.x).unwrap();
    for row in 0..data.len() {
        let sum: f64 = (0..z.columns()).map(|j| z.get(row, j) * machine.weights[j]).sum::<f64>() + machine.biases[0];
        assert!((sum - decisions[row]).abs() < 1e-12);
    }
    assert_eq!(model.staged_decisions(&data.x, 5, &Context::single()).unwrap().len(), data.len());
    let explained = &model.explain(&data.x, 7).unwrap()[0];
    assert!((explained.decision - decisions[7]).abs() < 1e-12);
    assert_eq!(explained.contributions.len(), 7);
    let rules = model.rules();
    assert!(rules.windows(2).all(|pair| pair[0].weight >= pair[1].weight));
    assert!(model.export_text(3).contains("more rules"));
    assert_eq!(model.column_names().len(), z.columns());
}

#[test]
fn support_and_weight_of_a_rule_are_those_of_the_training_rows() {
    let weights: Vec<f64> = (0..100).map(|i| f64::from(1 + i % 4)).collect();
    let total: f64 = weights.iter().sum();
    let data = generate::banana(100, 3).with_weights(weights.clone());
    let model = induce(6).fit(&data).unwrap();
    let explained: Vec<Explanation> = (0..100).map(|row| model.explain(&data.x, row).unwrap().remove(0)).collect();
    for rule in model.rules() {
        let holds = |e: &Explanation| e.contributions.iter().any(|c| c.round.is_some() && c.text == rule.text);
        let share = explained.iter().zip(&weights).filter(|(e, _)| holds(e)).map(|(_, w)| w).sum::<f64>() / total;
        assert!((rule.support - share).abs() < 1e-12, "{}: {} and {share}", rule.text, rule.support);
        // The rule adds `adds` to a share of the rows and nothing to the others.
        assert!((rule.weight - rule.adds.abs() * (share * (1.0 - share)).sqrt()).abs() < 1e-12);
    }
    // A file that says otherwise is refused.
    let mut wrong = model.clone();
    wrong.inductions[0].features[0].shares[0] = -1.0;
    assert!(wrong.check().unwrap_err().to_string().contains("between 0 and 1"));
    wrong.inductions[0].features[0].shares.pop();
    assert!(wrong.check().is_err());
}

#[test]
fn threads_row_order_and_repeated_rows_do_not_matter() {
    let data = generate::banana(90, 5);
    let learner = FeatureInduction { n_induced: Amount::Exactly(6), ..FeatureInduction::default() };
    let one = learner.fit_in(&data, &Context::single()).unwrap();
    let many = learner.fit_in(&data, &Context::default().with_threads(4)).unwrap();
    assert_eq!(one.machine, many.machine);
    // Backwards, and with every third row twice instead of weight 2.
    let weights: Vec<f64> = (0..90).map(|i| if i % 3 == 0 { 2.0 } else { 1.0 }).collect();
    let weighted = learner.fit(&data.clone().with_weights(weights.clone())).unwrap();
    let order: Vec<usize> = (0..90).rev().flat_map(|i| vec![i; weights[i] as usize]).collect();
    let repeated = learner.fit(&data.select(&order)).unwrap();
    let (a, b) = (weighted.decision_values(&data.x).unwrap(), repeated.decision_values(&data.x).unwrap());
    assert!(a.iter().zip(&b).all(|(a, b)| (a - b).abs() < 1e-6), "weights are repetition");
    assert!(a.iter().zip(one.decision_values(&data.x).unwrap()).any(|(a, b)| (a - b).abs() > 1e-6), "and they matter");
}

#[test]
fn auto_helps_where_it_can_and_declines_where_it_cannot() {
    let board = generate::checkerboard(300, 0, 2, 1.0);
    let model = FeatureInduction { c: 1.0, max_induced: 12, ..FeatureInduction::default() }.fit(&board).unwrap();
    let choice = model.inductions[0].choice.as_ref().unwrap();
    assert!(choice.rounds > 0 && choice.error < choice.linear_error - 0.2, "{choice:?}");
    assert!(choice.curves.len() == 3 && choice.curves.iter().all(|curve| curve.errors.len() == 13));
    // Labels that no column explains: whatever is chosen, it is explained.
    let noise = generate::two_gaussians(60, 3, 2, 8.0);
    let model = FeatureInduction { max_induced: 5, ..FeatureInduction::default() }.fit(&noise).unwrap();
    assert_eq!(model.inductions[0].features.len(), 0, "a linear machine without errors needs no rule");
    assert!(model.inductions[0].declined.as_ref().unwrap().contains("held-out"));
}

#[test]
fn unusual_tables_have_defined_answers() {
    let classes = |codes: &[u32], names: usize| Categories::new(codes.to_vec(), (0..names).map(|i| format!("c{i}")).collect()).unwrap();
    // Constant columns: no tree, said so.
    let constant = Dataset::classes(Matrix::from_rows(&vec![[1.0, 2.0]; 30]).unwrap(), classes(&[0, 1].repeat(15), 2));
    let model = induce(5).fit(&constant).unwrap();
    assert!(model.inductions[0].features.is_empty() && model.inductions[0].declined.is_some());
    // Three rows: auto declines with a reason, a number is tried and may come to nothing.
    let tiny = Dataset::classes(Matrix::from_rows(&[[0.0], [1.0], [2.0]]).unwrap(), classes(&[0, 1, 1], 2));
    let model = FeatureInduction::default().fit(&tiny).unwrap();
    assert!(model.inductions[0].declined.as_ref().unwrap().contains("too few"), "{:?}", model.inductions[0].declined);
    let trees = FeatureInduction { max_rules: RuleLimit::Unlimited, ..FeatureInduction::default() }.fit(&tiny).unwrap();
    let chosen = |model: &FeatureInductionModel| model.facts().into_iter().find(|(name, _)| *name == "chosen").map(|(_, text)| text);
    assert!(chosen(&trees).unwrap().starts_with("class c1: linear, because 3 rows are too few"), "{:?}", chosen(&trees));
    assert_eq!(chosen(&induce(3).fit(&tiny).unwrap()), None);
    assert_eq!(model.predict(&tiny.x).unwrap().len(), 3);
    assert!(induce(1000).fit(&tiny).is_ok());
    // One class; NaN; too much asked for.
    let one = Dataset::classes(Matrix::from_rows(&[[0.0], [1.0]]).unwrap(), classes(&[0, 0], 2));
    assert!(induce(1).fit(&one).unwrap_err().to_string().contains("only `c0`"));
    let bad = Dataset::classes(Matrix::from_rows(&[[f64::NAN], [1.0]]).unwrap(), classes(&[0, 1], 2));
    assert!(induce(1).fit(&bad).unwrap_err().to_string().contains("NaN at row 0"));
    assert!(induce(200_000).validate().unwrap_err().to_string().contains("at most 100000"));
    // An unbalanced class against the rest, and a class that is never seen.
    let mut codes = vec![0u32; 40];
    codes[..3].fill(1);
    codes[3..20].fill(2);
    let x: Vec<[f64; 2]> = (0..40).map(|i| [f64::from(i), f64::from(i * 7 % 11)]).collect();
    let data = Dataset::classes(Matrix::from_rows(&x).unwrap(), classes(&codes, 4));
    let model = induce(4).fit(&data).unwrap();
    assert_eq!(model.inductions.len(), 4);
    assert!(model.inductions[3].declined.as_ref().unwrap().contains("no rows"));
    assert!(model.predict(&data.x).unwrap().codes().iter().all(|&code| code != 3));
    model.check().unwrap();
}

#[test]
fn sparse_and_dense_tables_and_kernels_agree() {
    let data = generate::banana(100, 2);
    let sparse = Dataset { x: data.x.to_sparse(), ..data.clone() };
    let (a, b) = (induce(4).fit(&data).unwrap(), induce(4).fit(&sparse).unwrap());
    assert_eq!(a.machine, b.machine);
    assert_eq!(a.decision_values(&data.x).unwrap(), a.decision_values(&sparse.x).unwrap());
    let kernel = FeatureInduction { kernel: crate::kernel::Kernel::rbf(0.5), ..induce(4) }.fit(&data).unwrap();
    let right = kernel.predict(&data.x).unwrap().codes().iter().zip(data.expect_classes().unwrap().codes()).filter(|(a, b)| a == b).count();
    assert!(right > 85, "{right}");
    assert!(kernel.explain(&data.x, 0).unwrap_err().to_string().contains("linear kernel"));
    kernel.check().unwrap();
}

#[test]
fn a_stopped_fit_is_usable() {
    let data = generate::banana(400, 0);
    let context = Context::single().with_time_limit(std::time::Duration::from_millis(30));
    let model = FeatureInduction { n_induced: Amount::Exactly(5000), ..induce(1) }.fit_in(&data, &context).unwrap();
    assert_eq!(model.report().stop, StopReason::TimeLimit);
    assert_eq!(model.predict(&data.x).unwrap().len(), 400);
}
