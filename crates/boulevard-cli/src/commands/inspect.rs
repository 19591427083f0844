//! `boulevard inspect`: the model in words.

use anyhow::Result;
use boulevard::persist::AnyModel;

use crate::Outcome;
use crate::args::InspectArgs;
use crate::model::Fitted;
use crate::report::{describe, front, print, print_json};

pub fn run(args: &InspectArgs) -> Result<Outcome> {
    let fitted = Fitted::load(&args.model)?;
    if args.json {
        print_json(&describe::json(&fitted))?;
    } else {
        let mut text = format!("{}\n{}", args.model.display(), describe::text(&describe::facts(&fitted)));
        if let AnyModel::Pareto(model) = &fitted.model {
            text.push_str(&format!("\n{}", front::table(model).text()));
        }
        print(&text)?;
    }
    Ok(Outcome::Done)
}
