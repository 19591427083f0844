//! `boulevard inspect`: the model in words.

use anyhow::Result;
use boulevard::svm::{Model, facts_text};

use crate::Outcome;
use crate::args::InspectArgs;
use crate::model;
use crate::report::{front, print, print_json};

pub fn run(args: &InspectArgs) -> Result<Outcome> {
    let model = model::load(&args.model)?;
    if args.json {
        let mut value = model.to_json();
        value["pictures"] = serde_json::json!(model.pictures(None, &boulevard::observe::Context::default())?);
        print_json(&value)?;
    } else {
        let mut text = format!("{}\n{}", args.model.display(), facts_text(&model.facts()));
        if let Some(model) = front::of(&model) {
            text.push_str(&format!("\n{}", front::table(model).text()));
        }
        print(&text)?;
    }
    Ok(Outcome::Done)
}
