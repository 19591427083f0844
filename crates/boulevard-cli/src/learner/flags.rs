//! Flags and the fields they stand for.

use anyhow::{Result, bail};
use boulevard::any::{METHODS, Method};
use boulevard::kernel::Kernel;
use boulevard::svm::Learner;
use clap::ValueEnum;
use serde_json::{Map, Value};

use crate::args::{LearnerArgs, MethodName};

/// Fields whose flags have another name: LIBSVM's and scikit-learn's words, names that would say nothing among the flags of all methods,
/// and switches that turn something off.
const NAMES: [(&str, &str); 9] = [
    ("cache_megabytes", "cache_size"),
    ("max_iterations", "max_iter"),
    ("method", "decide"),
    ("output", "leaf_output"),
    ("regulariser", "penalty"),
    ("shrinking", "no_shrinking"),
    ("polish", "no_polish"),
    ("symmetric", "no_symmetric"),
    ("refit", "no_refit"),
];
/// Flags that are no field, with the library's name of the method they belong to: they say what the file holds.
const NO_FIELD: [(&str, &str); 1] = [("regression", "multitask_selection")];
/// The flags of a kernel, and that of methods with a Gaussian kernel of their own.
const KERNEL_FLAGS: [&str; 4] = ["kernel", "gamma", "degree", "coef0"];
const WIDTH: &str = "sigma_init";
/// Said in short where all of them have a flag.
const MACHINES: [&str; 5] = ["svc", "nu_svc", "svr", "nu_svr", "one_class"];

/// The flag of a field.
fn flag_of<'a>(method: &Method, field: &'a str) -> &'a str {
    if field == "bias" && method.kind.starts_with("linear") {
        return "intercept_scaling";
    }
    NAMES.iter().find(|(name, _)| *name == field).map_or(field, |(_, flag)| flag)
}

/// The flags of a method.
pub fn flags_of(method: &Method) -> Vec<String> {
    let own = NO_FIELD.iter().filter(|(_, owner)| *owner == method.name).map(|(flag, _)| (*flag).to_owned());
    method.fields().iter().map(|field| flag_of(method, field).to_owned()).chain(own).collect()
}

/// The flags that were given, by name, in the JSON form of their values.
pub fn given(args: &LearnerArgs) -> Map<String, Value> {
    match serde_json::to_value(args) {
        Ok(Value::Object(map)) => map.into_iter().filter(|(_, value)| !value.is_null()).collect(),
        _ => Map::new(),
    }
}

/// The library's method: where one name stands for two, the loss decides.
pub fn chosen(method: MethodName, args: &LearnerArgs) -> &'static Method {
    let place = usize::from(args.loss.is_some_and(|loss| loss.is_regression()));
    let names = method.methods();
    Method::named(names[place.min(names.len() - 1)]).expect("the names are the library's, which is tested")
}

/// Flags given that the method does not have.
pub fn misplaced(method: MethodName, args: &LearnerArgs, given: &Map<String, Value>) -> Vec<String> {
    let own = flags_of(chosen(method, args));
    given.keys().filter(|flag| !own.contains(flag)).cloned().collect()
}

/// The parameters of a method by field, from the flags that it has.
pub fn parameters(method: &Method, given: &Map<String, Value>, seed: u64) -> Map<String, Value> {
    let value = |field: String| {
        let flag = flag_of(method, &field);
        let value = match (field.as_str(), given.get(flag)?) {
            ("seed", _) => return None,
            (_, value) if flag.starts_with("no_") => Value::Bool(*value == Value::Bool(false)),
            (_, value) => value.clone(),
        };
        Some((field, value))
    };
    let seed = method.fields().iter().any(|field| field == "seed").then(|| ("seed".to_owned(), Value::from(seed)));
    method.fields().into_iter().filter_map(value).chain(seed).collect()
}

/// The sentence about a flag that none of the methods has.
pub fn complaint(flag: &str, methods: &[MethodName]) -> String {
    let dashed = flag.replace('_', "-");
    let owners: Vec<&Method> = METHODS.iter().filter(|method| flags_of(method).iter().any(|own| own == flag)).collect();
    if let [method] = methods
        && let Some(place) = method.methods().iter().position(|name| owners.iter().any(|owner| owner.name == *name))
    {
        let (what, losses) = match place {
            0 => ("regression", "hinge and squared-hinge"),
            _ => ("classification", "epsilon-insensitive and squared-epsilon-insensitive"),
        };
        return format!("--{dashed} does not apply to {what}: it belongs to --loss {losses}");
    }
    let mut names: Vec<String> = Vec::new();
    let machines = MACHINES.iter().all(|name| owners.iter().any(|owner| owner.name == *name));
    if machines {
        names.push("the kernel machines".to_owned());
    }
    for owner in owners.iter().filter(|owner| !(machines && MACHINES.contains(&owner.name))) {
        let name = MethodName::value_variants().iter().find(|method| method.methods().contains(&owner.name));
        names.extend(name.map(|name| name.text()).filter(|name| !names.contains(name)));
    }
    let asked: Vec<String> = methods.iter().map(|method| method.text()).collect();
    // Who gives the width of a kernel means this.
    let widths = |method: &MethodName| Method::with_field(WIDTH).iter().any(|owner| method.methods().contains(&owner.name));
    let hint =
        if KERNEL_FLAGS.contains(&flag) && methods.iter().all(widths) { "; the width of its own kernel is --sigma-init" } else { "" };
    format!("--{dashed} does not apply to --method {}: it belongs to {}{hint}", asked.join(", "), listed(&names))
}

/// Fails where a part of a kernel is given that the kernel does not have.
pub fn check_kernel(name: MethodName, method: &Method, parameters: &Map<String, Value>) -> Result<()> {
    let default = method.learner().kernel().map_or("linear", |kernel| kernel.name()).to_owned();
    let chosen = parameters.get("kernel").and_then(Value::as_str);
    let kernel = chosen.map_or(default, |kernel| kernel.replace('-', "_"));
    let Some(info) = Kernel::CATALOGUE.iter().find(|info| info.name == kernel) else { return Ok(()) };
    let Some(part) = KERNEL_FLAGS[1..].iter().find(|part| parameters.contains_key(**part) && !info.has(part)) else { return Ok(()) };
    if chosen.is_none() {
        bail!("--{part} needs a --kernel that has it: with {} the kernel is {kernel} unless you choose another", name.text());
    }
    let dashed = |has: bool| -> Vec<String> {
        Kernel::CATALOGUE.iter().filter(|info| info.has(part) == has).map(|info| info.name.replace('_', "-")).collect()
    };
    let (with, without) = (dashed(true), dashed(false));
    match with.len() > without.len() {
        true => bail!("--{part} does not apply to this kernel: it belongs to kernels other than {}", listed(&without)),
        false => bail!("--{part} does not apply to this kernel: it belongs to --kernel {}", listed(&with)),
    }
}

/// `a, b and c`.
fn listed(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use clap::{Args, Command};

    use super::*;

    /// Fields that no flag sets: LIBSVM's rounding belongs to the LIBSVM verbs.
    const NO_FLAG: [&str; 1] = ["libsvm_rounding"];
    /// Flags that are part of the request, not of the learner.
    const NOT_THE_LEARNERS: [&str; 1] = ["scale"];

    /// Every field of every method has a flag, and every flag is a field of some method.
    #[test]
    fn fields_are_flags() {
        let command = LearnerArgs::augment_args(Command::new("flags"));
        let flags: Vec<String> = command.get_arguments().map(|arg| arg.get_id().to_string()).collect();
        let mut owned: Vec<String> = NOT_THE_LEARNERS.map(String::from).to_vec();
        for method in METHODS {
            for flag in flags_of(method) {
                assert!(flags.contains(&flag) || NO_FLAG.contains(&flag.as_str()), "{} has no flag for `{flag}`", method.name);
                owned.push(flag);
            }
        }
        for flag in &flags {
            assert!(owned.contains(flag), "--{flag} is a field of no method");
        }
    }

    #[test]
    fn every_method_has_a_name_and_every_name_a_method() {
        let names: Vec<&str> = MethodName::value_variants().iter().flat_map(|name| name.methods()).copied().collect();
        assert!(METHODS.iter().all(|method| names.contains(&method.name)));
        assert!(names.iter().all(|name| Method::named(name).is_ok()));
    }

    #[test]
    fn a_flag_of_another_method_is_explained() {
        assert_eq!(
            complaint("gamma", &[MethodName::Select]),
            "--gamma does not apply to --method select: it belongs to the kernel machines, gather, induce and pareto"
        );
        assert_eq!(
            complaint("penalty", &[MethodName::Linear]),
            "--penalty does not apply to regression: it belongs to --loss hinge and squared-hinge"
        );
        assert_eq!(
            complaint("bias", &[MethodName::Svc, MethodName::NuSvc]),
            "--bias does not apply to --method svc, nu-svc: it belongs to select and pareto"
        );
    }
}
