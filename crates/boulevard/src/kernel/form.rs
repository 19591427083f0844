//! What is known about each kernel, in one place: the facts of a kernel ([`Kernel::form`]) and the list of those that have a name and
//! parameters ([`Kernel::CATALOGUE`]), which the program, Python and the documents read.
//!
//! To add a kernel: a variant of [`Kernel`], an entry of the catalogue, and whatever the compiler then asks for.

use serde::Serialize;
use serde_json::{Map, Value};

use super::function::{Gamma, GammaRule, Kernel};
use crate::check;
use crate::error::{Error, Result};
use crate::words::g;

/// What a kernel computes from two samples before its formula is applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Argument {
    /// `<x, z>`
    Product,
    /// `|x - z|^2`
    SquaredDistance,
    /// `|x - z|_1`
    AbsoluteDistance,
    /// `sum (x - z)^2 / (x + z)`
    ChiSquared,
    /// Values come with the table.
    Given,
    /// Other kernels, or a function of the caller's own.
    Composed,
}

impl Argument {
    /// Its value for two samples given as full rows; none where it takes more than the two.
    pub fn of(self, x: &[f64], z: &[f64]) -> Option<f64> {
        let pairs = || x.iter().zip(z);
        match self {
            Self::Product => Some(pairs().map(|(a, b)| a * b).sum()),
            Self::SquaredDistance => Some(pairs().map(|(a, b)| (a - b) * (a - b)).sum()),
            Self::AbsoluteDistance => Some(pairs().map(|(a, b)| (a - b).abs()).sum()),
            Self::ChiSquared => Some(pairs().filter(|(a, b)| *a + *b > 0.0).map(|(a, b)| (a - b) * (a - b) / (a + b)).sum()),
            Self::Given | Self::Composed => None,
        }
    }
}

/// The facts of one kernel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Form {
    /// Name, parameters and formula.
    pub info: &'static KernelInfo,
    /// What the formula is applied to.
    pub argument: Argument,
    /// Whether `k(x, z)` and `k(z, x)` come out of the tiles with the same bits.
    pub symmetric: bool,
    /// Whether `k(x, x)` is 1 for every sample.
    pub unit_diagonal: bool,
    /// Whether every kernel matrix is positive semi-definite: `Some(true)` proven, `Some(false)` not so in general, `None` unknown.
    pub definite: Option<bool>,
    /// Whether the kernel is `exp(-gamma argument)`: its logarithm needs no exponential.
    pub log_is_linear: bool,
    /// Factor of the argument, where there is one.
    pub gamma: Option<Gamma>,
    /// The exponent, where there is one.
    pub degree: Option<u32>,
    /// The constant, where there is one.
    pub coef0: Option<f64>,
}

/// A kernel that can be asked for by name.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct KernelInfo {
    /// As in files and options.
    pub name: &'static str,
    /// As in sentences.
    pub title: &'static str,
    /// Its parameters with their defaults, in the order in which short words give them.
    pub parameters: &'static [(&'static str, KernelDefault)],
    /// The formula in `x` and `z`, parameters by name; empty where there is none.
    pub formula: &'static str,
    /// What it asks of the data, if anything.
    pub note: &'static str,
}

/// The default of a kernel's parameter.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum KernelDefault {
    /// A rule that looks at the training data.
    Rule(GammaRule),
    /// A whole number.
    Whole(u32),
    /// A number.
    Number(f64),
}

impl std::fmt::Display for KernelDefault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Rule(GammaRule::Scale) => f.write_str("scale"),
            Self::Rule(GammaRule::Auto) => f.write_str("auto"),
            Self::Whole(number) => number.fmt(f),
            Self::Number(number) => number.fmt(f),
        }
    }
}

const GAMMA: (&str, KernelDefault) = ("gamma", KernelDefault::Rule(GammaRule::Scale));
const ZERO: (&str, KernelDefault) = ("coef0", KernelDefault::Number(0.0));
/// A multiquadric with constant 0 is a cone or a pole: 1 is the usual choice.
const ONE: (&str, KernelDefault) = ("coef0", KernelDefault::Number(1.0));

const fn named(name: &'static str, parameters: &'static [(&'static str, KernelDefault)], formula: &'static str) -> KernelInfo {
    KernelInfo { name, title: name, parameters, formula, note: "" }
}

static LINEAR: KernelInfo = named("linear", &[], "<x, z>");
static POLY: KernelInfo = named("poly", &[("degree", KernelDefault::Whole(3)), ZERO, GAMMA], "(gamma <x, z> + coef0)^degree");
static RBF: KernelInfo = named("rbf", &[GAMMA], "exp(-gamma |x - z|^2)");
static SIGMOID: KernelInfo = named("sigmoid", &[GAMMA, ZERO], "tanh(gamma <x, z> + coef0)");
static LAPLACIAN: KernelInfo = named("laplacian", &[GAMMA], "exp(-gamma |x - z|_1)");
static EPANECHNIKOV: KernelInfo =
    named("epanechnikov", &[GAMMA, ("degree", KernelDefault::Whole(1))], "max(0, 1 - gamma |x - z|^2)^degree");
static MULTIQUADRIC: KernelInfo = named("multiquadric", &[GAMMA, ONE], "sqrt(gamma |x - z|^2 + coef0^2)");
static INVERSE_MULTIQUADRIC: KernelInfo =
    KernelInfo { title: "inverse multiquadric", ..named("inverse_multiquadric", &[GAMMA, ONE], "1 / sqrt(gamma |x - z|^2 + coef0^2)") };
static CHI_SQUARED: KernelInfo = KernelInfo {
    title: "chi-squared",
    note: "values not negative",
    ..named("chi_squared", &[GAMMA], "exp(-gamma sum (x - z)^2 / (x + z))")
};
static PRECOMPUTED: KernelInfo = KernelInfo { note: "the table holds kernel values", ..named("precomputed", &[], "") };
static SUM: KernelInfo = named("sum", &[], "");
static NORMALIZED: KernelInfo = named("normalized", &[], "");
static CUSTOM: KernelInfo = named("custom", &[], "");

impl Kernel {
    /// The kernels that can be asked for by name. Sums and normalised kernels are built from them.
    pub const CATALOGUE: &'static [&'static KernelInfo] =
        &[&LINEAR, &POLY, &RBF, &SIGMOID, &LAPLACIAN, &EPANECHNIKOV, &MULTIQUADRIC, &INVERSE_MULTIQUADRIC, &CHI_SQUARED, &PRECOMPUTED];

    /// The facts: everything that other files need to know about a kernel without looking at its variant.
    pub fn form(&self) -> Form {
        let of = |info, argument| Form {
            info,
            argument,
            symmetric: false,
            unit_diagonal: false,
            definite: Some(false),
            log_is_linear: false,
            gamma: None,
            degree: None,
            coef0: None,
        };
        match self {
            Self::Linear => Form { symmetric: true, definite: Some(true), ..of(&LINEAR, Argument::Product) },
            Self::Poly { degree, gamma, coef0 } => Form {
                symmetric: true,
                definite: Some(*coef0 >= 0.0),
                gamma: Some(*gamma),
                degree: Some(*degree),
                coef0: Some(*coef0),
                ..of(&POLY, Argument::Product)
            },
            Self::Sigmoid { gamma, coef0 } => {
                Form { symmetric: true, gamma: Some(*gamma), coef0: Some(*coef0), ..of(&SIGMOID, Argument::Product) }
            }
            Self::Rbf { gamma } => Form {
                symmetric: true,
                unit_diagonal: true,
                definite: Some(true),
                log_is_linear: true,
                gamma: Some(*gamma),
                ..of(&RBF, Argument::SquaredDistance)
            },
            // Definite only for small dimension and large degree.
            Self::Epanechnikov { gamma, degree } => {
                Form { unit_diagonal: true, gamma: Some(*gamma), degree: Some(*degree), ..of(&EPANECHNIKOV, Argument::SquaredDistance) }
            }
            Self::Multiquadric { gamma, coef0 } => {
                Form { gamma: Some(*gamma), coef0: Some(*coef0), ..of(&MULTIQUADRIC, Argument::SquaredDistance) }
            }
            Self::InverseMultiquadric { gamma, coef0 } => Form {
                definite: Some(true),
                gamma: Some(*gamma),
                coef0: Some(*coef0),
                ..of(&INVERSE_MULTIQUADRIC, Argument::SquaredDistance)
            },
            Self::Laplacian { gamma } => Form {
                symmetric: true,
                unit_diagonal: true,
                definite: Some(true),
                log_is_linear: true,
                gamma: Some(*gamma),
                ..of(&LAPLACIAN, Argument::AbsoluteDistance)
            },
            Self::ChiSquared { gamma } => Form {
                unit_diagonal: true,
                definite: Some(true),
                log_is_linear: true,
                gamma: Some(*gamma),
                ..of(&CHI_SQUARED, Argument::ChiSquared)
            },
            Self::Precomputed => Form { definite: None, ..of(&PRECOMPUTED, Argument::Given) },
            Self::Sum { terms } => {
                let parts = terms.iter().map(|(weight, kernel)| if *weight >= 0.0 { kernel.form().definite } else { None });
                let definite = parts.reduce(|a, b| if a == Some(true) && b == Some(true) { a } else { None }).unwrap_or(Some(true));
                Form { definite, ..of(&SUM, Argument::Composed) }
            }
            Self::Normalized { kernel } => {
                Form { unit_diagonal: true, definite: kernel.form().definite, ..of(&NORMALIZED, Argument::Composed) }
            }
            Self::Custom(_) => Form { definite: None, ..of(&CUSTOM, Argument::Composed) },
        }
    }

    /// A kernel of the catalogue from its name and some of its parameters; the others have their defaults.
    ///
    /// ```
    /// use boulevard::kernel::Kernel;
    /// let parts = serde_json::json!({ "gamma": 0.5 });
    /// assert_eq!(Kernel::from_parts("rbf", parts.as_object().unwrap())?, Kernel::rbf(0.5));
    /// # Ok::<(), boulevard::Error>(())
    /// ```
    pub fn from_parts(name: &str, parts: &Map<String, Value>) -> Result<Self> {
        let plain = name.replace('-', "_");
        let Some(info) = Self::CATALOGUE.iter().find(|info| info.name == plain) else {
            let known: Vec<&str> = Self::CATALOGUE.iter().map(|info| info.name).collect();
            return Err(check::complaint("Kernel", "kernel", format!("one of {}", known.join(", ")), name.escape_debug()));
        };
        let mut record = Map::from_iter([("type".to_owned(), Value::from(info.name))]);
        for (parameter, default) in info.parameters {
            let value = match default {
                KernelDefault::Rule(_) => Value::from(default.to_string()),
                KernelDefault::Whole(number) => Value::from(*number),
                KernelDefault::Number(number) => Value::from(*number),
            };
            record.insert((*parameter).to_owned(), value);
        }
        for (parameter, value) in parts {
            if !info.has(parameter) {
                return Err(info.lacks(parameter));
            }
            record.insert(parameter.clone(), checked(parameter, value)?);
        }
        serde_json::from_value(Value::Object(record)).map_err(|error| Error::data(format!("kernel {}: {error}", info.name)))
    }

    /// The kernel in words: its title and its formula with the numbers.
    pub fn in_words(&self) -> String {
        let form = self.form();
        if form.info.formula.is_empty() {
            return form.info.title.to_owned();
        }
        let mut formula = form.info.formula.to_owned();
        let gamma = form.gamma.and_then(Gamma::value);
        for (name, value) in [("gamma", gamma), ("coef0", form.coef0), ("degree", form.degree.map(f64::from))] {
            if let Some(value) = value {
                formula = formula.replace(name, &g(value));
            }
        }
        format!("{}: {formula}", form.info.title)
    }

    /// The name with the parameters that differ between kernels of that name, as in `poly of degree 2, coef0 1, gamma 0.5`.
    pub fn in_brief(&self) -> String {
        let inner = if let Self::Normalized { kernel } = self { kernel } else { self };
        let form = inner.form();
        let mut words = form.info.name.to_owned();
        if let Some(degree) = form.degree {
            words.push_str(&format!(" of degree {degree}"));
        }
        if let Some(coef0) = form.coef0 {
            words.push_str(&format!(", coef0 {coef0}"));
        }
        if let Some(gamma) = form.gamma.and_then(Gamma::value) {
            words.push_str(&format!(", gamma {gamma}"));
        }
        words
    }
}

impl KernelInfo {
    /// Whether it has a parameter of this name.
    pub fn has(&self, parameter: &str) -> bool {
        self.parameters.iter().any(|(name, _)| *name == parameter)
    }

    /// The complaint about a parameter that it does not have, with the kernels that do.
    fn lacks(&self, parameter: &str) -> Error {
        let owners: Vec<&str> = Kernel::CATALOGUE.iter().filter(|info| info.has(parameter)).map(|info| info.name).collect();
        let parameter = parameter.escape_debug();
        Error::data(match &owners[..] {
            [] => format!("`{parameter}` is no parameter of any kernel; there are gamma, degree and coef0"),
            owners => format!("`{parameter}` does not apply to the {} kernel: it belongs to {}", self.title, owners.join(", ")),
        })
    }
}

/// The value of a kernel's parameter, if it is of the right kind.
fn checked(parameter: &str, value: &Value) -> Result<Value> {
    let (name, allowed, fits) = match parameter {
        "gamma" => ("gamma", "a number, `scale` or `auto`", value.is_number() || matches!(value.as_str(), Some("scale" | "auto"))),
        "degree" => {
            // Other languages may give a whole number as 2.0.
            let whole = value.as_f64().filter(|number| number.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(number));
            if let Some(whole) = whole {
                return Ok(Value::from(whole as u32));
            }
            ("degree", "a whole number that is not negative", false)
        }
        _ => ("coef0", "a number", value.is_number()),
    };
    if fits { Ok(value.clone()) } else { Err(check::complaint("Kernel", name, allowed, value)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn parts(value: Value) -> Map<String, Value> {
        value.as_object().unwrap().clone()
    }

    #[test]
    fn every_kernel_of_the_catalogue_can_be_made_stored_and_evaluated() {
        let (x, z) = ([0.5, 1.0, 2.0], [1.0, 0.25, 3.0]);
        for info in Kernel::CATALOGUE {
            let plain = Kernel::from_parts(info.name, &Map::new()).unwrap();
            assert_eq!((plain.name(), plain.form().info), (info.name, *info));
            plain.validate().unwrap();
            let given: Map<String, Value> = info.parameters.iter().map(|(name, _)| ((*name).to_owned(), json!(2))).collect();
            let kernel = Kernel::from_parts(info.name, &given).unwrap();
            let form = kernel.form();
            let stored: Kernel = serde_json::from_str(&serde_json::to_string(&kernel).unwrap()).unwrap();
            assert_eq!(stored, kernel);
            // The facts name exactly the parameters of the catalogue.
            let facts = [("gamma", form.gamma.is_some()), ("degree", form.degree.is_some()), ("coef0", form.coef0.is_some())];
            facts.iter().for_each(|(name, has)| assert_eq!(info.has(name), *has, "{} {name}", info.name));
            assert_eq!(form.gamma.is_some(), kernel.gamma().is_some());
            if info.name == "precomputed" {
                continue;
            }
            let value = kernel.evaluate(&x, &z).unwrap();
            assert!((value - kernel.evaluate(&z, &x).unwrap()).abs() <= 1e-15 * value.abs(), "{}", info.name);
            if form.unit_diagonal {
                assert!((kernel.evaluate(&x, &x).unwrap() - 1.0).abs() < 1e-15, "{}", info.name);
            }
            if form.log_is_linear {
                let halved = Kernel::from_parts(info.name, &parts(json!({ "gamma": 1 }))).unwrap();
                assert!((halved.evaluate(&x, &z).unwrap().ln() * 2.0 - value.ln()).abs() < 1e-12, "{}", info.name);
            }
        }
    }

    #[test]
    fn wrong_parts_are_explained() {
        let refuse = |name: &str, value: Value| Kernel::from_parts(name, &parts(value)).unwrap_err().to_string();
        assert_eq!(
            refuse("cubic", json!({})),
            "parameter `kernel` of Kernel must be one of linear, poly, rbf, sigmoid, laplacian, epanechnikov, multiquadric, \
             inverse_multiquadric, chi_squared, precomputed, got cubic"
        );
        assert_eq!(
            refuse("rbf", json!({ "coef0": 1 })),
            "`coef0` does not apply to the rbf kernel: it belongs to poly, sigmoid, multiquadric, inverse_multiquadric"
        );
        assert_eq!(refuse("rbf", json!({ "sigma": 1 })), "`sigma` is no parameter of any kernel; there are gamma, degree and coef0");
        assert_eq!(
            refuse("rbf", json!({ "gamma": "wide" })),
            "parameter `gamma` of Kernel must be a number, `scale` or `auto`, got \"wide\""
        );
        assert_eq!(
            refuse("poly", json!({ "degree": 1.5 })),
            "parameter `degree` of Kernel must be a whole number that is not negative, got 1.5"
        );
        assert_eq!(Kernel::from_parts("chi-squared", &Map::new()).unwrap().name(), "chi_squared");
    }

    /// The first columns of the table in the documents.
    #[test]
    fn the_documents_list_the_catalogue() {
        let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/concepts/kernels.md")).unwrap();
        for info in Kernel::CATALOGUE {
            let parameters: Vec<String> = info.parameters.iter().map(|(name, default)| format!("{name} = {default}")).collect();
            let formula = if info.formula.is_empty() { String::new() } else { format!("`{}`", info.formula.replace('|', "\\|")) };
            let row = format!("| `{}` | {} | {formula} |", info.name, parameters.join(", "));
            assert!(page.contains(&row), "docs/concepts/kernels.md lacks the row {row}");
            assert!(page.contains(info.note), "docs/concepts/kernels.md lacks `{}`", info.note);
        }
    }

    #[test]
    fn kernels_are_described() {
        assert_eq!(Kernel::poly(2, 0.5, 1.0).in_words(), "poly: (0.5 <x, z> + 1)^2");
        assert_eq!(
            Kernel::InverseMultiquadric { gamma: 2.0.into(), coef0: 3.0 }.in_words(),
            "inverse multiquadric: 1 / sqrt(2 |x - z|^2 + 3^2)"
        );
        assert_eq!(Kernel::default().in_words(), "rbf: exp(-gamma |x - z|^2)");
        assert_eq!(Kernel::Precomputed.in_words(), "precomputed");
        assert_eq!(Kernel::poly(2, 0.5, 1.0).in_brief(), "poly of degree 2, coef0 1, gamma 0.5");
        assert_eq!(Kernel::Normalized { kernel: Box::new(Kernel::rbf(0.5)) }.in_brief(), "rbf, gamma 0.5");
        assert_eq!(Kernel::Linear.in_brief(), "linear");
    }
}
