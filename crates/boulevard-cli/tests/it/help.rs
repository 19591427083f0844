//! Help texts, completions, manual pages and the reference page.

use crate::common::{Place, golden};

#[test]
fn every_verb_has_help() {
    let place = Place::new();
    golden("help", &place.ok("--help"));
    for verb in [
        "demo",
        "train",
        "predict",
        "evaluate",
        "tune",
        "explore",
        "inspect",
        "check",
        "convert",
        "scale",
        "reproduce",
        "svm-train",
        "svm-predict",
        "completions",
        "man",
    ] {
        golden(&format!("help-{verb}"), &place.ok(&format!("{verb} --help")));
    }
}

#[test]
fn the_reference_page_is_up_to_date() {
    let known = include_str!("../../../../docs/reference/cli.md");
    let now = Place::new().ok("docs-cli");
    assert!(known == now, "docs/reference/cli.md is out of date: write it with `boulevard docs-cli > docs/reference/cli.md`");
}

#[test]
fn completions_and_manual_pages() {
    let place = Place::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        assert!(place.ok(&format!("completions {shell}")).contains("boulevard"), "{shell}");
    }
    place.ok("man pages");
    let page = place.read("pages/boulevard-train.1");
    assert!(page.contains(".TH") && page.contains("calibrate"));
}

#[test]
fn mistakes_get_a_suggestion() {
    let place = Place::with_data();
    golden("mistake-verb", &place.refused("trian flowers.csv"));
    golden("mistake-flag", &place.refused("train flowers.csv --lable species"));
    golden("mistake-value", &place.refused("train flowers.csv --kernel rfb"));
    assert!(place.refused("train flowers.csv --label spezies").contains("did you mean `species`?"));
    assert_eq!(place.run("").code, 2);
    assert_eq!(place.ok("--version"), format!("boulevard {}\n", env!("CARGO_PKG_VERSION")));
}
