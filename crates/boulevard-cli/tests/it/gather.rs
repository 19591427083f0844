//! One decision for several rows, with the real program.

use crate::common::{Numbers, Place, golden, self_contained};

/// Tracks of three to four echoes of boats and birds, rows of a track scattered through the file.
fn echoes(place: &Place) {
    let mut numbers = Numbers::new(3);
    let mut rows = Vec::new();
    for track in 0..60 {
        let bird = track % 2 == 0;
        for _ in 0..if track % 5 == 0 { 4 } else { 3 } {
            let mut value = |center: f64| center + 2.4 * (numbers.next() - 0.5);
            let (a, b) = (value(if bird { 0.4 } else { -0.4 }), value(if bird { -0.3 } else { 0.3 }));
            rows.push(format!("{a:.3},{b:.3},t{track:02},{}", if bird { "bird" } else { "boat" }));
        }
    }
    let half = rows.len() / 2;
    let scattered: Vec<&String> = (0..half).flat_map(|i| [&rows[i], &rows[i + half]]).collect();
    let text = scattered.iter().map(|row| format!("{row}\n")).collect::<String>();
    place.write("echoes.csv", &format!("bright,shift,track,kind\n{text}"));
}

#[test]
fn one_answer_per_group() {
    let place = Place::new();
    echoes(&place);
    golden(
        "train-echoes",
        &place.ok("train echoes.csv --method gather --decide direct --group track --gamma 0.3 --calibrate -o m --report r.html"),
    );
    golden("inspect-echoes", &place.ok("inspect m"));
    let run = place.run("predict m echoes.csv --group track --probability --decision");
    assert!(run.out.starts_with("group,prediction,decision:boat,probability:bird,probability:boat\nt00,bird,"), "{}", &run.out[..120]);
    assert_eq!(run.out.lines().count(), 61);
    assert!(run.err.starts_with("accuracy ") && run.err.contains("of 60 right"), "{}", run.err);
    let value: serde_json::Value = serde_json::from_str(&place.ok("predict m echoes.csv --group track --json")).unwrap();
    assert_eq!((value["predictions"][0]["group"].as_str(), value["rows"].as_u64()), (Some("t00"), Some(60)));
    // Without groups every row is a set of its own, and the program says so.
    let run = place.run("predict m echoes.csv --ignore track --label kind");
    assert!(run.err.starts_with("hint: no --group was given"), "{}", run.err);
    assert!(run.out.starts_with("prediction\n") && run.out.lines().count() > 180);
    // The same model without the files' labels.
    let bare: String = place.read("echoes.csv").lines().map(|line| line.rsplit_once(',').unwrap().0.to_owned() + "\n").collect();
    place.write("bare.csv", &bare);
    let (known, bare) = (place.ok("predict m echoes.csv --group track -q"), place.ok("predict m bare.csv --group track"));
    assert_eq!(known, bare);
}

#[test]
fn evaluation_and_search_judge_sets() {
    let place = Place::new();
    echoes(&place);
    golden(
        "evaluate-echoes",
        &place.ok("evaluate echoes.csv --method svc --method gather --decide direct --group track --gamma 0.3 --folds 3 --sizes 1,3,6 --curve c.html"),
    );
    let page = place.read("c.html");
    assert!(page.contains("\"id\":\"error-by-samples\""));
    self_contained(&page);
    let words = "evaluate echoes.csv --method gather --decide consensus --ignore track --label kind --folds 3 --sizes 1,2 --json";
    let value: serde_json::Value = serde_json::from_str(&place.ok(words)).unwrap();
    assert_eq!(value["curve"]["points"].as_array().unwrap().len(), 2);
    let tuned = place.ok("tune echoes.csv --method gather --group track --c-grid 1,10 --gamma-grid 0.1,0.5 --folds 3 -o t");
    assert!(tuned.contains("best: --c") && place.ok("inspect t").contains("classifier of sets"), "{tuned}");
    place.ok("tune echoes.csv --method gather --group track --c-grid 1,10 --gamma-grid 0.1 --folds 3 --scale standard");
    for decide in ["direct", "consensus", "vote"] {
        place.ok(&format!("train echoes.csv --method gather --group track --decide {decide} --scale standard -o m"));
        place.ok("predict m echoes.csv --group track -q");
    }
}

#[test]
fn bad_sets_are_refused_with_facts() {
    let place = Place::with_data();
    echoes(&place);
    place.ok("train echoes.csv --method gather --group track -o m");
    place.write("mixed.csv", &place.read("echoes.csv").replacen("bird", "boat", 1));
    let mut text = String::new();
    for words in [
        "train mixed.csv --method gather --group track",
        "train echoes.csv --method gather --group nobody",
        "train echoes.csv --method gather --group track --n-samples-per-decision 0",
        "train echoes.csv --method gather --group track --n-samples-per-decision 17",
        "train echoes.csv --method gather --group track --priors 0,1",
        "train echoes.csv --method gather --group track --priors 0.5,0.2,0.3",
        "train echoes.csv --method gather --group track --n-extended 0",
        "train echoes.csv --method gather --group track --no-symmetric --n-samples-per-decision 5",
        "train echoes.csv --method gather --group track --nu 0.5",
        "train flowers.csv --decide vote",
        "train flowers.csv --method svr --n-extended 100",
        "predict m echoes.csv --group nobody",
        "predict m mixed.csv --group track",
        "predict m flowers.csv",
        "predict m echoes.csv --group track --probability",
        "evaluate flowers.csv --sizes 1,2",
        "evaluate echoes.csv --method gather --group track --sizes 0",
        "evaluate echoes.csv --method gather --group track --curve c.html",
    ] {
        text.push_str(&format!("> {words}\n{}", place.refused(words)));
    }
    golden("errors-gather", &text);
}

#[test]
fn toy_tables_are_made_without_data() {
    let place = Place::new();
    std::fs::create_dir(place.path("data")).unwrap();
    let words = "reproduce esvm/table1 --quick --data data --only n=20 --out out -q";
    let text = place.ok(words);
    assert!(text.contains("ESVM^2") && text.contains("within two standard deviations"), "{text}");
    // What is finished is not computed again.
    assert_eq!(place.ok(words), text);
    assert!(place.refused("reproduce esvm/table3 --quick --data data --only nobody --out out").contains("no row `nobody`"));
}
