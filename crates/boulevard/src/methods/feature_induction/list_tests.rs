//! Lists of rules: what they promise, that they are short, and that they explain themselves.

use super::*;
use crate::data::{Categories, Dataset, Matrix, generate};
use crate::observe::Context;
use crate::persist::AnyModel;
use crate::random::Random;
use crate::svm::{Learner, Model};

fn listing(limit: RuleLimit) -> FeatureInduction {
    FeatureInduction { c: 0.1, max_rules: limit, max_induced: 8, ..FeatureInduction::default() }
}

#[test]
fn a_list_is_short_says_why_and_is_the_whole_model() {
    let data = generate::checkerboard(400, 0, 2, 1.0);
    let model = listing(RuleLimit::Auto).fit(&data).unwrap();
    let list = model.list.as_ref().unwrap();
    assert!(list.chosen > 0 && list.chosen <= SHOWN && list.errors.len() == SHOWN + 1);
    assert!(list.errors[list.chosen] - list.errors[list.best] <= list.uncertainties[list.chosen] + 1e-12);
    assert!(list.errors[list.chosen] < list.errors[0] - 0.2 && list.unlimited_error.is_some(), "{}", list.reason);
    assert!(list.reason.contains("held-out") && list.reason.contains("whole trees"));
    let rules = model.rules();
    assert_eq!(rules.len(), list.chosen);
    assert!(rules.windows(2).all(|pair| pair[0].weight >= pair[1].weight));
    // Constant, rules that hold and columns give the decision; the text shows all three.
    let z = model.transform(&data.x, &Context::single()).unwrap();
    assert_eq!(z.columns(), 2 + list.chosen);
    let decisions = model.decision_values(&data.x).unwrap();
    for row in [0, 7, 100] {
        let explained = model.explain(&data.x, row).unwrap().remove(0);
        assert!((explained.decision - decisions[row]).abs() < 1e-9);
        let sum = explained.bias + explained.contributions.iter().map(|part| part.adds).sum::<f64>();
        assert!((sum - decisions[row]).abs() < 1e-9 && explained.sentences.len() >= 3);
        for rule in &rules {
            let adds = explained.contributions.iter().find(|part| part.text == rule.text).map_or(0.0, |part| part.adds);
            assert!(adds == 0.0 || (adds - rule.adds).abs() < 1e-9);
        }
    }
    let text = model.export_text(SHOWN);
    assert!(text.contains("columns for class") && rules.iter().all(|rule| text.contains(&rule.text)));
    model.check().unwrap();
    let bytes = AnyModel::from(model.clone()).to_bytes().unwrap();
    let again = AnyModel::from_bytes(&bytes).unwrap();
    assert_eq!(again.get::<FeatureInductionModel>().unwrap(), &model);
}

#[test]
fn a_description_says_its_reason_once_and_explains_its_numbers() {
    let data = generate::checkerboard(400, 0, 2, 1.0);
    let model = listing(RuleLimit::Auto).fit(&data).unwrap();
    let text: String = model.facts().into_iter().map(|(name, fact)| format!("{name}: {fact}\n")).collect();
    assert_eq!(text.matches(&model.list.as_ref().unwrap().reason).count(), 1, "{text}");
    assert!(
        text.contains("  1 rule  ") && !text.contains(" 1 rules") && text.contains("+- one standard error of the difference"),
        "{text}"
    );
    let one = listing(RuleLimit::Exactly(1)).fit(&data).unwrap();
    assert!(!one.export_text(SHOWN).contains("1 rules") && one.export_text(0).contains("... and 1 more rule\n"));
}

#[test]
fn rules_are_simple_and_none_is_said_twice() {
    let data = generate::banana(300, 2);
    let model = listing(RuleLimit::Exactly(12)).fit(&data).unwrap();
    let (features, _) = model.own_features(0);
    let hold: Vec<Vec<bool>> =
        features.iter().map(|feature| feature.tree.evaluate(&data.x, Output::Hard).iter().map(|&value| value > 0.0).collect()).collect();
    for (place, rows) in hold.iter().enumerate() {
        for other in &hold[..place] {
            let opposite = rows.iter().zip(other).all(|(a, b)| a != b);
            assert!(rows != other && !opposite, "two rules about the same rows");
        }
        // A rule is about some rows, and the column it makes has unit spread.
        let count = rows.iter().filter(|holds| **holds).count();
        assert!((3..=297).contains(&count));
    }
    // Thresholds are short: columns of spread 1 need few digits.
    let texts: Vec<String> = model.rules().into_iter().map(|rule| rule.text).collect();
    let digits = |text: &str| text.split_whitespace().filter(|word| word.contains('.')).map(str::len).max().unwrap_or(0);
    assert!(texts.iter().all(|text| digits(text) <= 6), "{texts:?}");
    assert_eq!(model.column_names().len(), 2 + features.len());
}

#[test]
fn classes_share_their_rules_and_are_judged_together() {
    let mut random = Random::new(4, 0);
    let rows: Vec<[f64; 2]> = (0..360).map(|_| [2.0 * random.uniform() - 1.0, 2.0 * random.uniform() - 1.0]).collect();
    // The middle class is no half-plane's: a linear machine cannot tell it from the others.
    let code = |row: &[f64; 2]| if row[0].abs() < 0.4 && row[1].abs() < 0.6 { 1 } else { u32::from(row[0] > 0.0) * 2 };
    let codes: Vec<u32> = rows.iter().map(code).collect();
    let names = ["left", "middle", "right"].map(String::from).to_vec();
    let data = Dataset::classes(Matrix::from_rows(&rows).unwrap(), Categories::new(codes.clone(), names).unwrap());
    let model = listing(RuleLimit::Auto).fit(&data).unwrap();
    let list = model.list.as_ref().unwrap();
    assert!(list.chosen >= 2 && list.errors[list.chosen] < 0.5 * list.errors[0], "{}", list.reason);
    let wrong = model.predict(&data.x).unwrap().codes().iter().zip(&codes).filter(|(a, b)| a != b).count();
    assert!(wrong < 36, "{wrong} of 360");
    for rule in model.rules() {
        assert_eq!(rule.adds_by_class.len(), 3);
        assert!(rule.adds_by_class.iter().any(|adds| (adds - rule.adds).abs() < 1e-12));
    }
    // The text says what every rule and every column adds to every class, each once.
    let text = model.export_text(SHOWN);
    for rule in model.rules() {
        let adds: Vec<String> = rule.adds_by_class.iter().zip(&model.classes).map(|(adds, name)| format!("{name} {adds:+.4}")).collect();
        let (_, after) = text.split_once(&format!(" {}\n", rule.text)).unwrap();
        assert_eq!(after.lines().next().unwrap().trim(), adds.join(", "));
    }
    let crate::methods::feature_induction::model::Final::Linear(machine) = &model.machine else { unreachable!() };
    let of_x1: Vec<String> = (0..3).map(|k| format!("{} {:+.4}", model.classes[k], machine.output(k)[0])).collect();
    assert!(text.contains(&format!("    {}\n", of_x1.join(", "))) && text.matches("x1 (mean").count() == 1, "{text}");
    assert!(model.inductions[1].features.is_empty() && model.inductions[1].stages.len() == list.chosen + 1);
    let (staged, whole) =
        (model.staged_decisions(&data.x, list.chosen, &Context::single()).unwrap(), model.decision_values(&data.x).unwrap());
    assert!(staged.iter().zip(&whole).all(|(a, b)| (a - b).abs() < 1e-12), "the last stage is the model");
    model.check().unwrap();
    // The paper's settings, and a number of trees, stay what they were.
    let whole = FeatureInduction { n_induced: Amount::Exactly(2), ..listing(RuleLimit::Auto) }.fit(&data).unwrap();
    assert!(whole.list.is_none());
    assert!(!FeatureInduction::paper().lists_rules());
}

#[test]
fn lists_do_not_depend_on_threads_and_weights_are_repetition() {
    let data = generate::banana(120, 5);
    let learner = listing(RuleLimit::AtMost(6));
    let one = learner.fit_in(&data, &Context::single()).unwrap();
    let many = learner.fit_in(&data, &Context::default().with_threads(4)).unwrap();
    assert_eq!(one.machine, many.machine);
    let weights: Vec<f64> = (0..120).map(|i| if i % 3 == 0 { 2.0 } else { 1.0 }).collect();
    let order: Vec<usize> = (0..120).rev().flat_map(|i| vec![i; weights[i] as usize]).collect();
    let weighted = learner.fit(&data.clone().with_weights(weights)).unwrap();
    let repeated = learner.fit(&data.select(&order)).unwrap();
    let (a, b) = (weighted.decision_values(&data.x).unwrap(), repeated.decision_values(&data.x).unwrap());
    // Choices between near ties may fall another way; what the models say is nearly the same.
    let apart = a.iter().zip(&b).filter(|(a, b)| (**a > 0.0) != (**b > 0.0)).count();
    assert!(apart <= 12, "{apart} of 120 answers differ between weights and repetition");
    // Too few rows: nothing is induced, and why.
    let few = learner.fit(&data.select(&[0, 1, 2, 3, 4, 5])).map(|model| model.list.unwrap().reason);
    assert!(few.unwrap_or_else(|error| error.to_string()).contains("too few"));
    assert!(FeatureInduction { max_rules: RuleLimit::AtMost(5000), ..Default::default() }.validate().is_err());
}
