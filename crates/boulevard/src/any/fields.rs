//! Parameters under flat names, as flags and keyword arguments give them: `c` is in the penalty, `tolerance` in the solver's settings,
//! `gamma` in the kernel. Which names a method has follows from its default parameters; nothing is listed twice.

use serde_json::{Map, Value};

use super::AnyLearner;
use crate::error::{Error, Result};
use crate::kernel::Kernel;

/// A learner under the name that users know: a kind, and which alternatives of its parameters are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Method {
    /// Its name.
    pub name: &'static str,
    /// The kind of the learner.
    pub kind: &'static str,
    /// Parameters that differ from the kind's defaults, as JSON.
    preset: &'static str,
}

const fn plain(kind: &'static str) -> Method {
    Method { name: kind, kind, preset: "{}" }
}

/// All methods, in the order in which messages name them.
pub const METHODS: &[Method] = &[
    plain("svc"),
    Method { name: "nu_svc", kind: "svc", preset: r#"{"penalty":{"nu":0.5}}"# },
    plain("svr"),
    Method { name: "nu_svr", kind: "svr", preset: r#"{"tube":{"nu":0.5}}"# },
    plain("one_class"),
    plain("linear_svc"),
    plain("linear_svr"),
    plain("multi_sample"),
    plain("feature_induction"),
    plain("multitask_selection"),
    plain("boosted"),
    plain("pareto"),
];

/// Whether a list of names has this one; for checks while compiling.
pub const fn lists(names: &[&str], name: &str) -> bool {
    let mut place = 0;
    while place < names.len() {
        let (a, b) = (names[place].as_bytes(), name.as_bytes());
        let mut same = 0;
        while same < a.len() && same < b.len() && a[same] == b[same] {
            same += 1;
        }
        if same == a.len() && same == b.len() {
            return true;
        }
        place += 1;
    }
    false
}

/// A kind without a method could be fitted by nobody: the compiler says so.
const _: () = {
    let mut kind = 0;
    while kind < AnyLearner::KINDS.len() {
        let (mut found, mut method) = (false, 0);
        while method < METHODS.len() {
            found |= lists(&[METHODS[method].kind], AnyLearner::KINDS[kind]);
            method += 1;
        }
        assert!(found, "every kind of learner needs a line in METHODS");
        kind += 1;
    }
};

/// The parameter that holds a kernel; its parts have flat names too.
const KERNEL: &str = "kernel";
const KERNEL_PARTS: [&str; 3] = ["gamma", "degree", "coef0"];

impl Method {
    /// The method of this name.
    pub fn named(name: &str) -> Result<&'static Self> {
        METHODS.iter().find(|method| method.name == name).ok_or_else(|| {
            let known: Vec<&str> = METHODS.iter().map(|method| method.name).collect();
            Error::data(format!("there is no method `{}`; there are {}", name.escape_debug(), known.join(", ")))
        })
    }

    /// The methods that have a parameter of this flat name.
    pub fn with_field(field: &str) -> Vec<&'static Self> {
        METHODS.iter().filter(|method| method.fields().iter().any(|own| own == field)).collect()
    }

    /// The learner with the method's default parameters.
    pub fn learner(&self) -> AnyLearner {
        AnyLearner::from_json(self.kind, self.preset).expect("presets are sound, which is tested")
    }

    /// The flat names of its parameters.
    pub fn fields(&self) -> Vec<String> {
        self.places().into_iter().map(|(field, _)| field).collect()
    }

    /// Flat names, and the parameter that holds each: itself, or one that has several parts.
    fn places(&self) -> Vec<(String, String)> {
        let mut places = Vec::new();
        for (parameter, value) in object(self.learner().parameters()) {
            match value {
                Value::Object(_) if parameter == KERNEL => {
                    let names = std::iter::once(KERNEL).chain(KERNEL_PARTS);
                    places.extend(names.map(|name| (name.to_owned(), parameter.clone())));
                }
                Value::Object(parts) => places.extend(parts.into_iter().map(|(part, _)| (part, parameter.clone()))),
                _ => places.push((parameter.clone(), parameter)),
            }
        }
        places
    }

    /// The learner with some parameters given by flat names, each in its JSON form. A kernel is given by name, with its parts beside it,
    /// or whole.
    pub fn learner_with(&self, given: &Map<String, Value>) -> Result<AnyLearner> {
        let places = self.places();
        let mut parameters = object(self.learner().parameters());
        for (field, value) in given {
            let Some((_, parameter)) = places.iter().find(|(name, _)| name == field) else { return Err(self.lacks(field)) };
            let whole = parameter == field && parameter != KERNEL;
            match parameters.get_mut(parameter) {
                Some(place) if whole => *place = value.clone(),
                Some(Value::Object(parts)) if parameter != KERNEL => {
                    parts.insert(field.clone(), value.clone());
                }
                // The kernel is put together below.
                _ => {}
            }
        }
        if let Some(kernel) = given_kernel(parameters.get(KERNEL), given)? {
            parameters.insert(KERNEL.to_owned(), kernel);
        }
        match AnyLearner::read(self.kind, Value::Object(parameters))? {
            Ok(learner) => Ok(learner),
            Err(error) => Err(self.culprit(given).unwrap_or_else(|| Error::data(format!("parameters of {}: {error}", self.name)))),
        }
    }

    /// The complaint about the one parameter that is not of its kind: serde does not say which it was.
    fn culprit(&self, given: &Map<String, Value>) -> Option<Error> {
        let one = |(field, value): (&String, &Value)| {
            let mut parameters = object(self.learner().parameters());
            let parameter = self.places().into_iter().find(|(name, _)| name == field)?.1;
            match parameters.get_mut(&parameter)? {
                Value::Object(parts) if parameter != *field => drop(parts.insert(field.clone(), value.clone())),
                place => *place = value.clone(),
            }
            let error = AnyLearner::read(self.kind, Value::Object(parameters)).ok()?.err()?;
            Some(Error::data(format!("parameter `{field}` of {} cannot be {value}: {error}", self.name)))
        };
        given.iter().filter(|(field, _)| *field != KERNEL && !KERNEL_PARTS.contains(&field.as_str())).find_map(one)
    }

    /// The complaint about a parameter that the method does not have, with the methods that do.
    pub fn lacks(&self, field: &str) -> Error {
        let owners: Vec<&str> = Self::with_field(field).iter().map(|method| method.name).collect();
        let field = field.escape_debug();
        Error::data(match owners.is_empty() {
            true => format!("`{field}` is not a parameter of {}: it has {}", self.name, self.fields().join(", ")),
            false => format!("`{field}` does not apply to {}: it belongs to {}", self.name, owners.join(", ")),
        })
    }
}

/// The kernel that names and parts describe, as JSON; none if nothing was said. Parts alone change those of the kernel there is.
fn given_kernel(present: Option<&Value>, given: &Map<String, Value>) -> Result<Option<Value>> {
    let mut parts: Map<String, Value> = given
        .iter()
        .filter(|(field, _)| KERNEL_PARTS.contains(&field.as_str()))
        .map(|(field, value)| (field.clone(), value.clone()))
        .collect();
    let kernel = match (given.get(KERNEL), present) {
        (None, _) if parts.is_empty() => return Ok(None),
        (Some(Value::String(name)), _) => Kernel::from_parts(name, &parts)?,
        (None, Some(Value::Object(now))) => {
            let name = now.get("type").and_then(Value::as_str).unwrap_or_default();
            let kept = now.iter().filter(|(part, _)| *part != "type" && !given.contains_key(*part));
            parts.extend(kept.map(|(part, value)| (part.clone(), value.clone())));
            Kernel::from_parts(name, &parts)?
        }
        (Some(whole), _) if parts.is_empty() => {
            serde_json::from_value(whole.clone()).map_err(|error| Error::data(format!("parameter `kernel` cannot be {whole}: {error}")))?
        }
        _ => return Err(Error::data("gamma, degree and coef0 go with the name of a kernel, not with a whole one")),
    };
    Ok(Some(serde_json::to_value(kernel).expect("kernels of the catalogue are plain data")))
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

impl AnyLearner {
    /// The method it is: its kind, and the alternatives that its parameters have.
    pub fn method(&self) -> &'static Method {
        let parameters = self.parameters();
        let fits = |method: &&Method| {
            let preset: Value = serde_json::from_str(method.preset).expect("presets are sound, which is tested");
            let same = |(field, alternative): (&String, &Value)| {
                let keys = |value: &Value| value.as_object().map(|map| map.keys().cloned().collect::<Vec<_>>());
                keys(alternative) == keys(&parameters[field.as_str()])
            };
            method.kind == self.kind() && object(preset).iter().all(same)
        };
        // Presets first: a plain method fits every learner of its kind.
        METHODS.iter().rev().find(fits).expect("every kind has a method, which is tested")
    }

    /// Its parameters under flat names: what [`Method::learner_with`] would make the same learner from. A kernel outside the catalogue
    /// is given whole.
    pub fn flat(&self) -> Map<String, Value> {
        let parameters = object(self.parameters());
        let mut flat = Map::new();
        for (field, parameter) in self.method().places() {
            match &parameters[&parameter] {
                Value::Object(parts) if parameter == KERNEL && field == KERNEL => {
                    let name = parts.get("type").and_then(Value::as_str).unwrap_or_default();
                    let known = Kernel::CATALOGUE.iter().any(|info| info.name == name);
                    flat.insert(field, if known { Value::from(name) } else { parameters[&parameter].clone() });
                }
                Value::Object(parts) if parameter != field => {
                    if let Some(part) = parts.get(&field) {
                        flat.insert(field, part.clone());
                    }
                }
                whole => {
                    flat.insert(field, whole.clone());
                }
            }
        }
        flat
    }
}
