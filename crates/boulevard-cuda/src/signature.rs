//! What kernels take, read from their text: a call with other arguments never reaches the card.

use std::collections::HashMap;

/// Bytes of every argument of every kernel in a text.
pub(crate) fn signatures(text: &str) -> HashMap<&str, Vec<usize>> {
    let mut found = HashMap::new();
    for part in text.split(".entry ").skip(1) {
        let Some((name, rest)) = part.split_once('(') else { continue };
        let Some((arguments, _)) = rest.split_once(')') else { continue };
        let sizes = arguments.split(',').filter_map(size).collect();
        found.insert(name.trim(), sizes);
    }
    found
}

/// Bytes of one argument, such as `.param .u64 name` or `.param .align 8 .b8 name[32]`.
fn size(argument: &str) -> Option<usize> {
    let argument = argument.trim();
    let kind = argument.split_whitespace().rfind(|word| word.starts_with('.'))?;
    let each = kind.trim_start_matches(|c: char| !c.is_ascii_digit()).parse::<usize>().ok()? / 8;
    let times = match argument.split_once('[') {
        Some((_, length)) => length.trim_end_matches(']').parse().ok()?,
        None => 1,
    };
    Some(each * times)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_from_the_text() {
        let text =
            ".visible .entry first(\n.param .u64 a_0,\n.param .u32 a_1,\n.param .align 8 .b8 a_2[32]\n)\n{ }\n.visible .entry last()\n{ }";
        let found = signatures(text);
        assert_eq!(found["first"], [8, 4, 32]);
        assert!(found["last"].is_empty());
    }

    #[test]
    fn both_texts_have_the_kernels_of_the_engine() {
        let (tensor, plain) = (signatures(crate::TENSOR_TEXT), signatures(crate::PLAIN_TEXT));
        for (name, sizes) in &plain {
            assert_eq!(Some(sizes), tensor.get(name), "{name}");
        }
        assert_eq!(tensor["weigh_narrow_4"], [8, 8, 8, 4, 8, 8, 8, 8, 4, size_of::<crate::Formula>(), 8]);
        assert!(!plain.contains_key("weigh_narrow_4") && plain.contains_key("weigh_single_squared"));
        assert!(crate::TENSOR_TEXT.contains(".target sm_80") && crate::PLAIN_TEXT.contains(".target sm_60"));
        // Drivers refuse text of a newer version than their own: 8.0 is that of CUDA 12.0.
        assert!(
            [crate::TENSOR_TEXT, crate::PLAIN_TEXT, crate::HOPPER_TEXT, crate::GROUP_TEXT].iter().all(|text| text.contains(".version 8.0"))
        );
        // What takes a kernel's place is called like it.
        let hopper = signatures(crate::HOPPER_TEXT);
        assert!(hopper.contains_key("subtract_128") && hopper.iter().all(|(name, sizes)| tensor.get(name) == Some(sizes)));
        for form in ["m16n8k4.row.col.f64", "m16n8k8.row.col.f64", ".target sm_90"] {
            assert!(crate::HOPPER_TEXT.contains(form), "{form}");
        }
        // What Hopper alone has is called after what other cards do instead, and takes the same.
        let (group, several): (Vec<_>, Vec<_>) = signatures(crate::GROUP_TEXT).into_iter().partition(|(name, _)| name.contains("group"));
        assert!(group.len() == 4 && group.iter().all(|(name, sizes)| tensor.get(&*name.replace("group", "wide")) == Some(sizes)));
        // Several sums at once take what one takes, and how many there are; other cards compute them one by one.
        assert_eq!(several.len(), 2);
        for (name, sizes) in several {
            let one = &tensor[&*name.replace("several", "wide")];
            assert_eq!(sizes, [one.as_slice(), &[4]].concat(), "{name}");
        }
        assert!(crate::GROUP_TEXT.contains("m64n128k16") && crate::GROUP_TEXT.contains(".target sm_90a"));
    }
}
