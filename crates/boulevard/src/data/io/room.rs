//! Whether a table will fit into memory, asked while it is read: a file larger than the machine is refused early, with the bytes it needs,
//! instead of ending the process.

use std::cell::Cell;
use std::io::{self, BufRead, Read};
use std::rc::Rc;

use crate::error::{Error, Result};
use crate::memory::free_memory;

const WHAT: &str = "the table in the file";
/// Below so many bytes nobody asks.
const SMALL: usize = 16 << 20;
/// Tables grow by this share of themselves: more might be asked for than there is, and never used.
const GROWTH: usize = 8;
/// This share of a table is left for labels, names and whoever uses it.
const LEFT: usize = 8;
/// The rest of a file may hold shorter rows than its beginning: only an estimate beyond this share of the memory is believed.
const BELIEVED: f64 = 1.25;

/// How far a file has been read.
#[derive(Clone, Default)]
pub(super) struct Place {
    read: Rc<Cell<u64>>,
    /// Its length, where it has one.
    length: Option<u64>,
}

impl Place {
    /// The beginning of a file of so many bytes.
    pub(super) fn of(length: u64) -> Self {
        Self { length: Some(length), ..Self::default() }
    }

    /// A reader that keeps the place.
    pub(super) fn follow<R: Read>(&self, reader: R) -> Followed<R> {
        Followed { reader, read: self.read.clone() }
    }

    /// The share that was read; none where the length is not known, or the end was reached.
    fn share(&self) -> Option<f64> {
        let (read, length) = (self.read.get(), self.length?);
        (0 < read && read < length).then(|| read as f64 / length as f64)
    }
}

/// A reader whose bytes are counted.
pub(super) struct Followed<R> {
    reader: R,
    read: Rc<Cell<u64>>,
}

impl<R: Read> Read for Followed<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.reader.read(buffer)?;
        self.read.set(self.read.get() + count as u64);
        Ok(count)
    }
}

/// What a table may take.
pub(super) struct Room {
    place: Place,
    free: fn() -> Option<usize>,
}

impl Room {
    pub(super) fn new(place: Place) -> Self {
        Self { place, free: free_memory }
    }

    /// Fails if a table of so many rows and columns cannot be held.
    pub(super) fn holds(&self, rows: usize, columns: usize, single: bool) -> Result<()> {
        let needed = rows.saturating_mul(columns).saturating_mul(if single { 4 } else { 8 });
        match (self.free)() {
            Some(free) if with_rest(needed) > free => Err(refusal(needed, free)),
            _ => Ok(()),
        }
    }

    /// Makes room for `more` values, if a table that is growing so will fit.
    #[inline]
    pub(super) fn reserve<T>(&self, values: &mut Vec<T>, more: usize) -> Result<()> {
        self.reserve_beside(values, more, 0)
    }

    /// The same where a value has so many bytes in other places.
    #[inline]
    pub(super) fn reserve_beside<T>(&self, values: &mut Vec<T>, more: usize, others: usize) -> Result<()> {
        let enough = values.capacity() - values.len() >= more || values.len() * size_of::<T>() < SMALL;
        if enough { Ok(()) } else { self.grow(values, more, size_of::<T>() + others) }
    }

    fn grow<T>(&self, values: &mut Vec<T>, more: usize, of_one: usize) -> Result<()> {
        let (bytes, more) = (values.len() * of_one, more.max(values.len() / GROWTH));
        let next = bytes.saturating_add(more.saturating_mul(of_one));
        // What is there already counts on both sides.
        let allowed = (self.free)().map_or(usize::MAX, |free| free.saturating_add(bytes));
        let expected = self.place.share().map_or(next, |share| next.max((bytes as f64 / share) as usize));
        if with_rest(next) > allowed || expected as f64 > BELIEVED * allowed as f64 {
            return Err(refusal(expected, allowed));
        }
        values.try_reserve_exact(more).map_err(|_| refusal(expected, allowed))
    }

    /// All bytes of a source.
    pub(super) fn read_to_end(&self, source: &mut dyn BufRead) -> Result<std::result::Result<Vec<u8>, io::Error>> {
        let mut bytes = Vec::new();
        loop {
            let part = match source.fill_buf() {
                Ok([]) => return Ok(Ok(bytes)),
                Ok(part) => part,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Ok(Err(error)),
            };
            self.reserve(&mut bytes, part.len())?;
            bytes.extend_from_slice(part);
            let count = part.len();
            source.consume(count);
        }
    }
}

fn refusal(table: usize, free: usize) -> Error {
    Error::FreeMemory { what: WHAT, needed: if table > free { table } else { with_rest(table) }, free }
}

fn with_rest(table: usize) -> usize {
    table.saturating_add(table / LEFT)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads values of 8 bytes from a file of so many bytes, 10 bytes each, and says how many there were when it was refused.
    fn fill(length: Option<u64>, free: fn() -> Option<usize>) -> std::result::Result<usize, (usize, usize, usize)> {
        let place = Place { length, ..Place::default() };
        let mut source = place.follow(io::repeat(7).take(length.unwrap_or(1 << 30)));
        let room = Room { place, free };
        let (mut values, mut cell) = (Vec::<u64>::new(), [0; 10]);
        while source.read_exact(&mut cell).is_ok() {
            match room.reserve(&mut values, 1) {
                Ok(()) => values.push(7),
                Err(Error::FreeMemory { needed, free, .. }) => return Err((values.len(), needed, free)),
                Err(error) => panic!("{error}"),
            }
        }
        Ok(values.len())
    }

    #[test]
    fn a_file_that_will_not_fit_is_refused_early() {
        // 80 MB of values, and 40 MB of memory beside what was read before somebody asked.
        let (there, needed, free) = fill(Some(100_000_000), || Some(40_000_000)).unwrap_err();
        assert!(there * 8 < 20_000_000, "{there}");
        assert!(needed.abs_diff(80_000_000) < 1_000_000 && (40_000_000..60_000_000).contains(&free), "{needed} {free}");
        assert_eq!(fill(Some(100_000_000), || Some(90_000_000)), Ok(10_000_000));
    }

    #[test]
    fn where_nobody_knows_the_length_the_next_piece_counts() {
        let (there, needed, free) = fill(None, || Some(3_000_000)).unwrap_err();
        assert!(needed > free && there * 8 > 16_000_000, "{there} {needed} {free}");
        assert_eq!(fill(None, || None), Ok((1 << 30) / 10));
    }

    #[test]
    fn whole_tables_and_bytes() {
        let room = Room { place: Place::default(), free: || Some(900) };
        assert!(room.holds(100, 2, true).is_ok() && room.holds(100, 1, false).is_ok());
        let refused = room.holds(usize::MAX, 3, false).unwrap_err().to_string();
        assert!(refused.contains(&usize::MAX.to_string()) && refused.ends_with("only 900 bytes of memory are free"), "{refused}");
        let bytes = vec![3; 1 << 20];
        assert_eq!(room.read_to_end(&mut &bytes[..]).unwrap().unwrap(), bytes);
    }
}
