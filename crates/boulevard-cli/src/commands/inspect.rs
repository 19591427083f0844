//! `boulevard inspect`: the model in words.

use anyhow::Result;

use crate::Outcome;
use crate::args::InspectArgs;
use crate::model::Fitted;
use crate::report::{describe, print, print_json};

pub fn run(args: &InspectArgs) -> Result<Outcome> {
    let fitted = Fitted::load(&args.model)?;
    if args.json {
        print_json(&describe::json(&fitted))?;
    } else {
        print(&format!("{}\n{}", args.model.display(), describe::text(&describe::facts(&fitted))))?;
    }
    Ok(Outcome::Done)
}
