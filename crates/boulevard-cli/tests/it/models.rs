//! Train, predict, inspect, evaluate, tune, convert: on real files with the real program.

use crate::common::{Place, golden, self_contained};

#[test]
fn five_minutes_with_flowers() {
    let place = Place::with_data();
    golden("check-flowers", &place.ok("check flowers.csv"));
    golden("train-flowers", &place.ok("train flowers.csv --c 10 --scale standard --calibrate -o flowers.model --report report.html"));
    let inspected = place.ok("inspect flowers.model");
    golden("inspect-flowers", &inspected);
    let table = place.run("predict flowers.model flowers.csv --probability --decision");
    assert!(table.out.starts_with("prediction,decision:setosa,decision:versicolor,decision:virginica,probability:setosa,"));
    assert_eq!(table.out.lines().count(), 91);
    assert!(table.err.starts_with("accuracy 9") && table.err.ends_with("right)\n"), "{}", table.err);
    let page = place.read("report.html");
    assert!(page.contains("<table>") && page.contains("prefers-color-scheme:dark"));
    self_contained(&page);
    golden("evaluate-flowers", &place.ok("evaluate flowers.csv --method svc --method nu-svc --nu 0.2 --folds 3 --repeats 2"));
    golden("tune-flowers", &place.ok("tune flowers.csv --c-grid 1,10 --gamma-grid 0.1,1 --folds 3 -o tuned.model"));
    assert!(place.ok("inspect tuned.model").contains("classifier, C ="));
}

#[test]
fn rows_without_an_answer_are_named() {
    let place = Place::with_data();
    place.ok("train flowers.csv -o m");
    // The second and fourth row lose their first value.
    let holes: String = place
        .read("flowers.csv")
        .lines()
        .enumerate()
        .map(|(i, line)| {
            if i == 2 || i == 4 {
                line.split_once(',').map_or(String::new(), |(_, rest)| format!(",{rest}\n"))
            } else {
                format!("{line}\n")
            }
        })
        .collect();
    place.write("holes.csv", &holes);
    assert!(place.refused("predict m holes.csv").contains("is missing"));
    let run = place.run("predict m holes.csv --drop-missing");
    assert_eq!(run.out.lines().count(), 1 + 88);
    assert!(run.err.contains("2 of 90 rows have missing values and get no answer: lines 3, 5"), "{}", run.err);
    let json: serde_json::Value = serde_json::from_str(&place.run("predict m holes.csv --drop-missing --json").out).unwrap();
    assert_eq!(json["dropped_lines"], serde_json::json!([3, 5]));
}

#[test]
fn a_class_is_weighted_once() {
    let place = Place::with_data();
    assert!(place.refused("train flowers.csv --class-weight setosa=2,setosa=3").contains("`setosa` is named twice"));
}

#[test]
fn induced_rules_are_read_and_saved() {
    let place = Place::with_data();
    let flags = "--method induce --n-induced 4 --max-depth 2 --c 0.1 --leaf-output hard --gamma-rule w/C --class-weight balanced";
    let trained = place.ok(&format!("train flowers.csv {flags} --calibrate -o rules.model --report rules.html"));
    assert!(trained.contains("linear classifier with induced rules") && trained.contains("petal"), "{trained}");
    let inspected = place.ok("inspect rules.model");
    for part in ["rules", "class setosa: ", "weight     adds  support   edge", "petal <= ", "class weights"] {
        assert!(inspected.contains(part), "{part} is missing in\n{inspected}");
    }
    let json: serde_json::Value = serde_json::from_str(&place.ok("inspect rules.model --json")).unwrap();
    assert_eq!(json["induced"]["classes"].as_array().unwrap().len(), 3);
    assert!(json["induced"]["rules"][0]["weight"].as_f64().unwrap() > 0.0);
    assert!(place.read("rules.html").contains("\"id\":\"rules\""));
    let table = place.run("predict rules.model flowers.csv --probability --decision");
    assert!(table.out.starts_with("prediction,decision:setosa") && table.out.lines().count() == 91);
    place.ok("train flowers.csv --method induce --kernel rbf --gamma 0.5 --n-induced 2 --max-depth none --preset paper -o kernel.model");
    assert!(place.ok("inspect kernel.model").contains("last machine"));
    assert!(place.ok("evaluate flowers.csv --method induce --method linear --max-induced 3 --folds 3").contains("induce"));
    assert!(place.refused("train flowers.csv --n-induced 3").contains("--n-induced does not apply to --method svc: it belongs to induce"));
    assert!(place.refused("train flowers.csv --method induce --n-induced many").contains("a number or `auto`"));
    assert!(place.refused("train flowers.csv --method induce --gamma 2").contains("needs a --kernel"));
}

#[test]
fn columns_are_matched_by_name() {
    let place = Place::with_data();
    place.ok("train flowers.csv -o m");
    let flowers = place.read("flowers.csv");
    let pick = |order: &[usize]| -> String {
        flowers
            .lines()
            .map(|line| {
                let f: Vec<&str> = line.split(',').collect();
                order.iter().map(|&i| f[i]).collect::<Vec<_>>().join(",") + "\n"
            })
            .collect()
    };
    place.write("turned.csv", &pick(&[2, 0, 1, 3]));
    place.write("plain.csv", &pick(&[0, 1, 2]));
    place.write("short.csv", &pick(&[0, 1, 3]));
    let known = place.ok("predict m flowers.csv");
    assert_eq!(place.ok("predict m turned.csv"), known);
    let run = place.run("predict m plain.csv");
    assert_eq!((run.out, run.err.as_str()), (known.clone(), ""));
    assert_eq!(place.run_with("predict m -", &pick(&[0, 1, 2])).out, known);
    golden("predict-missing-column", &place.refused("predict m short.csv"));
    let other = "a,b\n1,2\n";
    place.write("other.csv", other);
    assert!(
        place.refused("predict m other.csv").contains("3 features and the file has 2")
            || place.refused("predict m other.csv").contains("missing: `length`")
    );
}

#[test]
fn one_hot_columns_come_back() {
    let place = Place::new();
    let rows: String =
        (0..40).map(|i| format!("{},{},{}\n", i % 7, ["red", "green", "blue"][i % 3], if i % 3 == 0 { "yes" } else { "no" })).collect();
    place.write("hot.csv", &format!("n,color,label\n{rows}"));
    assert!(place.refused("train hot.csv").contains("one-hot"));
    place.ok("train hot.csv --one-hot -o m");
    place.write("new.csv", "n,color\n3,red\n4,green\n");
    assert_eq!(place.ok("predict m new.csv"), "prediction\nyes\nno\n");
}

#[test]
fn every_method_trains_and_predicts() {
    let place = Place::with_data();
    for (method, file) in
        [("svc", "flowers.csv"), ("nu-svc --nu 0.1", "flowers.csv"), ("svr --c 10", "prices.csv"), ("nu-svr", "prices.csv")]
    {
        place.ok(&format!("train {file} --method {method} -o m"));
        let run = place.run(&format!("predict m {file} --decision --json"));
        let value: serde_json::Value = serde_json::from_str(&run.out).unwrap();
        assert!(value["score"].is_object() && value["predictions"].as_array().unwrap().len() >= 60, "{method}");
    }
    place.ok("train two.svm --method one-class --nu 0.2 -o m");
    let out = place.ok("predict m two.svm");
    assert!(out.contains("inside") && out.contains("outside"));
    golden("inspect-one-class", &place.ok("inspect m"));
    golden("evaluate-prices", &place.ok("evaluate prices.csv --method svr --c 10 --folds 4 --scale minmax --tolerance 1e-7"));
    assert!(place.ok("tune prices.csv --method svr --folds 3 --scale standard").contains("best: --c"));
    let tuned = place.ok("tune prices.csv --method svr --folds 3");
    assert!(tuned.contains("best: --c") && tuned.contains("--epsilon") && tuned.contains("points were added around the best"), "{tuned}");
    assert!(place.ok("tune flowers.csv --folds 3 --one-se").contains("within one standard error"));
    assert!(place.ok("tune flowers.csv --method nu-svc --folds 3").contains("best: --nu"));
}

#[test]
fn json_is_json() {
    let place = Place::with_data();
    for words in [
        "train flowers.csv --json -o m",
        "inspect m --json",
        "evaluate flowers.csv --folds 3 --json --method svc --method nu-svc --nu 0.1",
        "tune flowers.csv --folds 3 --json",
        "check flowers.csv --json",
        "demo --json",
        "predict m flowers.csv --json -o p.csv",
    ] {
        let value: serde_json::Value = serde_json::from_str(&place.ok(words)).unwrap_or_else(|error| panic!("{words}: {error}"));
        assert!(value.is_object(), "{words}");
        // The pictures of reports are described here too.
        let pictures = if words.starts_with("demo") { &value["stops"][0]["pictures"] } else { &value["pictures"] };
        if !words.starts_with("check") && !words.starts_with("predict") {
            let first = &pictures[0];
            assert!(first["sentence"].as_str().is_some_and(|text| text.ends_with('.')), "{words}: {first}");
            assert!(first["x"]["label"].is_string() && first["layers"][0]["columns"].is_object(), "{words}: {first}");
        }
    }
}

#[test]
fn results_do_not_depend_on_threads() {
    let place = Place::with_data();
    let words = "evaluate flowers.csv --folds 4 --scale standard --json --threads";
    assert_eq!(place.ok(&format!("{words} 1")), place.ok(&format!("{words} 3")));
}

#[test]
fn stopping_early_is_said_and_strict_is_strict() {
    let place = Place::with_data();
    let words = "train flowers.csv --max-iter 2 -o m";
    let run = place.run(words);
    assert_eq!(run.code, 0);
    assert!(run.err.contains("warning: the solver stopped at the iteration limit"), "{}", run.err);
    assert_eq!(place.run(&format!("{words} --strict")).code, 1);
    assert_eq!(place.run("train flowers.csv --strict").code, 0);
}

#[cfg(unix)]
#[test]
fn ctrl_c_saves_the_partial_model() {
    let place = Place::with_data();
    let mut numbers = crate::common::Numbers::new(3);
    let mut rows = String::from("a,b,c,d,y\n");
    for _ in 0..4000 {
        let mut cell = || numbers.next();
        rows.push_str(&format!("{},{},{},{},{}\n", cell(), cell(), cell(), cell(), if cell() < 0.5 { "p" } else { "q" }));
    }
    place.write("noise.csv", &rows);
    let mut child = std::process::Command::new(assert_cmd::cargo::cargo_bin!("boulevard"))
        .args(["train", "noise.csv", "--c", "1e6", "--gamma", "50", "--tolerance", "1e-9", "-o", "partial.model"])
        .current_dir(place.path("."))
        .stderr(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(std::time::Duration::from_millis(700));
    let kill = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    // The machine may have been fast enough to finish.
    if !kill.success() {
        child.wait().unwrap();
        return;
    }
    let output = child.wait_with_output().unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    if !String::from_utf8(output.stdout).unwrap().contains("converged") {
        assert!(err.contains("interrupted: the partial model"), "{err}");
        assert!(place.ok("inspect partial.model").contains("interrupted"));
    }
}

#[test]
fn data_and_models_are_converted() {
    let place = Place::with_data();
    place.ok("convert flowers.csv flowers.arff");
    place.ok("convert flowers.arff back.csv.gz");
    place.ok("convert back.csv.gz back.csv");
    let cells = |name: &str| -> Vec<String> {
        let text = place.read(name);
        // 2.120 is written as 2.12.
        let plain = |cell: &str| cell.parse::<f64>().map_or(cell.to_owned(), |value| value.to_string());
        text.lines().skip(1).flat_map(|line| line.split(',').map(plain).collect::<Vec<_>>()).collect()
    };
    assert_eq!(cells("back.csv"), cells("flowers.csv"));
    place.ok("train two.svm -o two.model");
    golden("convert-model", &place.ok("convert two.model two.libsvm --model libsvm"));
    place.ok("convert two.libsvm again.model --model native");
    assert_eq!(place.ok("predict two.libsvm two.svm"), place.ok("predict again.model two.svm"));
    place.ok("train flowers.csv -o flowers.model");
    place.ok("convert flowers.model numbers.libsvm --model libsvm --class-labels 1,2,3");
    assert!(place.read("numbers.libsvm").contains("\nlabel 1 2 3\n"));
    place.ok("train two.svm --scale standard -o scaled.model");
    assert!(place.refused("convert scaled.model x --model libsvm").contains("scales its columns"));
}

#[test]
fn selection_trains_predicts_and_explains() {
    let place = Place::with_data();
    let mut numbers = crate::common::Numbers::new(3);
    let mut rows = String::from("a,b,noise,site,label\n");
    for i in 0..90 {
        let (a, b, noise, site) = (numbers.next() - 0.5, numbers.next() - 0.5, numbers.next(), ["north", "south"][i % 2]);
        rows.push_str(&format!("{a:.3},{b:.3},{noise:.3},{site},{}\n", if a + 0.3 * b > 0.0 { "yes" } else { "no" }));
    }
    place.write("sites.csv", &rows);
    let said = place.ok("train sites.csv --method select --task site --scale standard --rho 0.05 -o m --report r.html");
    assert!(
        said.contains("classifier that selects features") && said.contains("2, sharing one set of switches: `north`, `south`"),
        "{said}"
    );
    assert!(place.read("r.html").contains("\"id\":\"switches\""));
    assert!(place.ok("inspect m").contains("largest switches  a "));
    let run = place.run("predict m sites.csv --task site");
    assert_eq!(run.out.lines().count(), 91);
    assert!(run.err.starts_with("accuracy 9") || run.err.starts_with("accuracy 100"), "{}", run.err);
    assert!(place.refused("predict m sites.csv --ignore site").contains("--task"));
    assert!(place.ok("evaluate sites.csv --method select --task site --folds 3").contains("select"));
    let kernels = "train flowers.csv --method select --select kernels --kernels linear,poly:2:1,rbf:0.5 --calibrate -o k";
    assert!(place.ok(kernels).contains("classifier that selects kernels"));
    assert!(place.run("predict k flowers.csv --probability").out.starts_with("prediction,probability:setosa"));
    assert!(
        place.ok("train prices.csv --method select --regression --margin-prior jj --bias flat --c 10").contains("regressor that selects")
    );
    let tuned = place.ok("tune flowers.csv --method select --c-grid 1.5,3 --folds 3 -o t");
    assert!(tuned.contains("best: --rho"), "{tuned}");
    let trivial = place.run("train flowers.csv --method select --c 1");
    assert!(trivial.code == 0 && trivial.err.contains("c > 1"), "{}", trivial.err);
    for (words, word) in [
        ("train flowers.csv --rho 0.1", "--rho does not apply to --method svc: it belongs to select"),
        ("train flowers.csv --method select --gamma 1", "belongs to the kernel machines"),
        ("train flowers.csv --method select --rho 2", "parameter `rho`"),
        ("train flowers.csv --method select --kernels linear", "--select kernels"),
        ("train flowers.csv --method select --select kernels --kernels cubic", "`cubic` is not a base kernel"),
        ("train sites.csv --method select --task site --label a --ignore label", "tell two classes apart"),
    ] {
        let refused = place.refused(words);
        assert!(refused.contains(word), "{words}: {refused}");
    }
}

/// A table of three labels on a plane, the last one rare.
fn labelled(place: &Place) {
    let mut numbers = crate::common::Numbers::new(11);
    let mut rows = String::from("x,y,right,high,far\n");
    for _ in 0..120 {
        let (x, y) = (4.0 * numbers.next() - 2.0, 4.0 * numbers.next() - 2.0);
        let on = |yes: bool| if yes { 1 } else { 0 };
        rows.push_str(&format!("{x:.3},{y:.3},{},{},{}\n", on(x > 0.0), on(y > 0.7), on(x * x + y * y > 5.5)));
    }
    place.write("labels.csv", &rows);
}

#[test]
fn rare_labels_are_boosted() {
    let place = Place::with_data();
    labelled(&place);
    let boost = "--method boost --labels right,high,far --max-rounds 4 --validation 3";
    golden("train-labels", &place.ok(&format!("train labels.csv {boost} -o m --report labels.html")));
    assert!(place.read("labels.html").contains("Weight on hard rows over the rounds"));
    golden("inspect-labels", &place.ok("inspect m"));
    let run = place.run("predict m labels.csv --probability");
    assert!(run.out.starts_with("right,high,far,probability:right,probability:high,probability:far\n"), "{}", run.out);
    assert!(run.err.contains("macro F1") && run.err.contains("Hamming loss"), "{}", run.err);
    // Files without the label columns are predicted too.
    let bare: String = place.read("labels.csv").lines().map(|line| line.split(',').take(2).collect::<Vec<_>>().join(",") + "\n").collect();
    place.write("bare.csv", &bare);
    let bare = place.run("predict m bare.csv --probability");
    assert_eq!((bare.out, bare.err.as_str()), (run.out, ""));
    let text = place.ok(&format!("evaluate labels.csv {boost} --folds 3"));
    assert!(
        text.contains("Hamming loss") && text.contains("G-mean") && text.find("\nfar").unwrap() < text.find("\nright").unwrap(),
        "{text}"
    );
    for words in [format!("evaluate labels.csv {boost} --folds 3 --json"), "predict m labels.csv --json".into(), "inspect m --json".into()]
    {
        let value: serde_json::Value = serde_json::from_str(&place.ok(&words)).unwrap();
        assert!(value.is_object(), "{words}");
    }
    let paper = "train labels.csv --method boost --labels right,high,far --preset paper --max-rounds 3 --sigma-init 1.5 --threads";
    place.ok(&format!("{paper} 1 -o one"));
    place.ok(&format!("{paper} 3 -o three"));
    assert_eq!(place.ok("predict one labels.csv --decision"), place.ok("predict three labels.csv --decision"));
    // Classes are boosted as well; flags of other methods are refused.
    assert!(place.ok("train flowers.csv --method boost --max-rounds 2 -o f").contains("boosted classifier"));
    assert!(place.run("predict f flowers.csv").err.starts_with("accuracy 9"));
    assert!(place.refused("train flowers.csv --method boost --gamma 1").contains("--sigma-init"));
    assert!(place.refused("train flowers.csv --method svc --max-rounds 3").contains("it belongs to boost"));
    assert!(place.refused("train flowers.csv --method boost --validation x").contains("a number of folds or a share such as 0.2"));
    assert!(place.refused("train flowers.csv --method boost --sampling-ratio 2").contains("`sampling_ratio`"));
    assert!(place.refused("tune flowers.csv --method boost").contains("evaluate"));
}

#[test]
fn fronts_are_trained_shown_and_used() {
    let place = Place::with_data();
    let front = "--method pareto --n-points 12 --gamma 0.5 --scale standard";
    let out = place.ok(&format!("train flowers.csv {front} --calibrate -o m --report front.html"));
    assert!(out.contains("exact front of 12 classifiers") && out.contains("picked") && out.contains("with intercept"), "{out}");
    let page = place.read("front.html");
    for id in ["front", "errors", "confusion", "roc", "precision-recall", "calibration", "map", "hardest", "pulls", "nearest"] {
        assert!(page.contains(&format!("\"id\":\"{id}\"")), "{id}");
    }
    self_contained(&page);
    assert!(place.ok("inspect m").contains("hold-out"));
    let family = place.ok("train flowers.csv --method pareto --n-points 6 --widths 0.1,1 -o w --report widths.html");
    assert!(family.contains("of 2 compared by their lowest estimated error"), "{family}");
    assert!(place.read("widths.html").contains("\"id\":\"widths\""));
    let value: serde_json::Value = serde_json::from_str(&place.run("inspect m --json").out).unwrap();
    assert_eq!(value["front"]["points"].as_array().unwrap().len(), 12);
    assert!(value["front"]["points"][3]["gap"].as_f64().unwrap() < 1e-4);
    let table = place.run("predict m flowers.csv --probability");
    assert!(table.out.starts_with("prediction,probability:setosa") && table.err.starts_with("accuracy 9"), "{}", table.err);
    // The same model for any number of threads.
    let train = |threads: usize| {
        place.ok(&format!("train flowers.csv {front} --threads {threads} -o n"));
        place.ok("predict n flowers.csv --decision")
    };
    assert_eq!(train(1), train(2));
    let evolved = "train flowers.csv --method pareto --mode evolve --generations 5 --population-size 8 --crossover arithmetic \
                   --mutation gaussian --variant textbook --bias objective --holdout 0.3 --pick knee";
    assert!(place.ok(evolved).contains("evolved front"));
    assert!(place.ok(&format!("evaluate flowers.csv {front} --folds 3 --holdout-repeats 1 --no-refit")).contains("pareto"));
    assert!(place.refused("train flowers.csv --method pareto --holdout 1").contains("`holdout`"));
    assert!(place.refused("train flowers.csv --method pareto --population-size 3").contains("at least 4"));
    assert!(place.refused("train flowers.csv --method pareto --pick best").contains("knee"));
    assert!(place.refused("train flowers.csv --method pareto --n-points 5 --pick 5").contains("below 5"));
    assert!(place.refused("train flowers.csv --method pareto --c 3").contains("belongs to"));
    assert!(place.refused("train flowers.csv --method svc --pick knee").contains("it belongs to pareto"));
    assert!(place.refused("tune flowers.csv --method pareto").contains("every C at once"));
}

/// What got no time is no result.
#[test]
fn a_time_limit_is_told() {
    let place = Place::with_data();
    assert!(place.refused("evaluate flowers.csv --max-time 0.000001").contains("no fold of svc was finished within --max-time"));
    assert!(place.refused("tune flowers.csv --max-time 0.000001").contains("points of the grid was finished within --max-time"));
    // Folds are laid out as they are needed: a number of repetitions that no memory holds ends with the time.
    let text = place.ok("evaluate flowers.csv --folds 2 --repeats 1000000000000 --max-time 0.5");
    assert!(text.contains("svc: only ") && text.contains(" of 2000000000000 folds were finished within --max-time"), "{text}");
    let json: serde_json::Value =
        serde_json::from_str(&place.ok("evaluate flowers.csv --folds 2 --repeats 1000000000000 --max-time 0.5 --json")).unwrap();
    let method = &json["methods"][0];
    assert_eq!(method["folds_finished"].as_u64().unwrap() as usize, method["folds"].as_array().unwrap().len());
    assert_eq!(method["folds_asked"].as_u64(), Some(2_000_000_000_000));
}

/// Every kernel with a formula can be a base kernel; those that are no inner products are refused by name when they are fitted.
#[test]
fn base_kernels_are_those_of_the_catalogue() {
    let place = Place::with_data();
    let words = "train flowers.csv --method select --select kernels --kernels linear,inverse-multiquadric:coef0=2,laplacian:gamma=0.5";
    assert!(place.ok(words).contains("classifier that selects kernels"));
    for (words, word) in [
        ("train flowers.csv --sampling all", "--sampling does not apply to --method svc: it belongs to induce and boost"),
        ("train flowers.csv --method boost --sampling resample", "expected one of `all`, `stratified`, `trimming`"),
        (
            "train flowers.csv --method linear --epsilon 1",
            "--epsilon does not apply to classification: it belongs to --loss epsilon-insensitive",
        ),
        ("train flowers.csv --c nan", "expected a finite number"),
        ("train flowers.csv --method select --select kernels --kernels rbf:degree=2", "does not apply to the rbf kernel"),
    ] {
        let refused = place.refused(words);
        assert!(refused.contains(word), "{words}: {refused}");
    }
}
