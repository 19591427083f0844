//! Random changes of bytes: what breaks parsers is cut, doubled, joined, or has a number where nobody expected one.

/// Random numbers by a formula (splitmix64): the same seed is the same run everywhere.
#[derive(Clone, Debug)]
pub struct Dice(u64);

impl Dice {
    /// Dice that fall the same way for the same seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `end`, which is at least 1.
    pub fn below(&mut self, end: usize) -> usize {
        (self.bits() % end as u64) as usize
    }

    /// One of a list that is not empty.
    pub fn pick<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.below(list.len())]
    }
}

/// Numbers that overflow, underflow, or are none.
pub const NUMBERS: [&str; 34] = [
    "0",
    "-0",
    "1",
    "-1",
    "2",
    "0.5",
    "1e308",
    "-1e308",
    "1e309",
    "-1e309",
    "5e-324",
    "-5e-324",
    "2.2e-308",
    "1e-400",
    "inf",
    "-inf",
    "nan",
    "NaN",
    "4294967295",
    "4294967296",
    "2097152",
    "2097153",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "99999999999999999999999",
    "1e",
    "0x10",
    "+1",
    "1.",
    ".5",
    "1_000",
    "1e5",
];

/// Numbers that are valid and hostile.
pub const HOSTILE: [f64; 22] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    1e308,
    -1e308,
    f64::MAX,
    f64::MIN,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
    5e-324,
    -5e-324,
    f64::MIN_POSITIVE,
    1e-300,
    1e200,
    -1e200,
    1e154,
    1e100,
    1e30,
    -1e15,
    0.5,
];

/// Inputs longer than this are cut: long ones are slow, and what is wrong with a parser shows in short ones.
const LONGEST: usize = 1 << 14;

/// A changed copy of one of the `pool`, which is not empty; `words` are pieces that mean something to the parser. Half of the copies are of
/// the first `sound` ones: what comes of changes to changes is soon refused at its first byte.
pub fn mutated(dice: &mut Dice, pool: &[Vec<u8>], sound: usize, words: &[&[u8]]) -> Vec<u8> {
    let from = if dice.below(2) == 0 { &pool[..sound.clamp(1, pool.len())] } else { pool };
    let mut bytes = dice.pick(from).clone();
    let rounds = 1 + dice.below(4) * dice.below(3);
    for _ in 0..rounds {
        change(dice, &mut bytes, pool, words);
    }
    bytes.truncate(LONGEST);
    bytes
}

fn change(dice: &mut Dice, bytes: &mut Vec<u8>, pool: &[Vec<u8>], words: &[&[u8]]) {
    let at = dice.below(bytes.len() + 1);
    let end = (at + 1 + dice.below(16)).min(bytes.len());
    match dice.below(12) {
        0 if at < bytes.len() => bytes[at] ^= 1 << dice.below(8),
        1 if at < bytes.len() => bytes[at] = dice.bits() as u8,
        2 => bytes.truncate(at),
        3 => drop(bytes.drain(at..end)),
        4 => {
            let piece = bytes[at..end].to_vec();
            let to = dice.below(bytes.len() + 1);
            bytes.splice(to..to, piece);
        }
        5 | 6 if !words.is_empty() => {
            let word = dice.pick(words).to_vec();
            // In the place of something, or between two things.
            let end = if dice.below(2) == 0 { at } else { (at + word.len()).min(bytes.len()) };
            bytes.splice(at..end, word);
        }
        7 | 8 => {
            if let Some((start, end)) = number_near(bytes, at) {
                let number = dice.pick(&NUMBERS).as_bytes().to_vec();
                bytes.splice(start..end, number);
            }
        }
        9 => {
            // The head of one and the tail of another.
            let other = dice.pick(pool);
            let from = dice.below(other.len() + 1);
            bytes.truncate(at);
            bytes.extend_from_slice(&other[from..]);
        }
        10 => {
            // A line again, or a line away.
            let start = bytes[..at].iter().rposition(|&b| b == b'\n').map_or(0, |p| p + 1);
            let end = bytes[at..].iter().position(|&b| b == b'\n').map_or(bytes.len(), |p| at + p + 1);
            if dice.below(2) == 0 {
                let line = bytes[start..end].to_vec();
                bytes.splice(end..end, line);
            } else {
                bytes.drain(start..end);
            }
        }
        _ => {
            let value = *dice.pick(&[0u64, 1, 0x7f, 0x80, 0xff, 0xffff, 0x7fff_ffff, 0xffff_ffff, u64::MAX, 1 << 63]);
            let size = *dice.pick(&[1usize, 2, 4, 8]);
            for (slot, byte) in bytes.iter_mut().skip(at).zip(&value.to_le_bytes()[..size]) {
                *slot = *byte;
            }
        }
    }
}

/// The first run of characters of numbers at or after a place.
fn number_near(bytes: &[u8], at: usize) -> Option<(usize, usize)> {
    let digit = |b: &u8| b.is_ascii_digit() || matches!(b, b'.' | b'-' | b'+');
    let start = at + bytes[at..].iter().position(digit)?;
    let end = start + bytes[start..].iter().position(|b| !digit(b)).unwrap_or(bytes.len() - start);
    Some((start, end))
}
