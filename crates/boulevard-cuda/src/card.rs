//! A card with its kernels, memory on it, and calls.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::{Arc, Mutex, OnceLock};

use crate::driver::{Address, Driver, Handle, Slot};
use crate::error::CudaError;
use crate::lane::Lanes;
use crate::pool::{KEPT_BLOCK, KEPT_BYTES, KEPT_SHARE, Pool, ROUNDED};
use crate::signature::signatures as signatures_of;
use crate::{Formula, GROUP_TEXT, HOPPER_TEXT, PLAIN_TEXT, TENSOR_TEXT};

pub use crate::driver::Plain;

/// Attributes by the driver's numbers.
const PROCESSORS: i32 = 16;
const MAJOR: i32 = 75;
const MINOR: i32 = 76;
const SHARED_BYTES: i32 = 97;

/// Copies from this size on go by several threads through memory that the card reads by itself; threads and bytes at once. The driver's own
/// way, one thread and a small buffer of its own, has a fraction of the rate.
const STAGED: usize = 4 << 20;
const STAGING_THREADS: usize = 8;
const STAGING_BYTES: usize = 2 << 20;

/// Compute capability of the cards that have instructions for four warps at once; those after it have others.
const WARPGROUPS: (i32, i32) = (9, 0);

/// A card whose kernels are loaded. Opened once per process and number, then shared.
pub struct Card {
    pub(crate) driver: &'static Driver,
    context: Handle,
    module: Handle,
    /// Kernels that this card has larger instructions for, and their names.
    newer: Vec<(Handle, HashSet<&'static str>)>,
    signatures: HashMap<&'static str, Vec<usize>>,
    functions: Mutex<HashMap<&'static str, (Handle, usize)>>,
    pool: Mutex<Pool>,
    /// Bytes that the pool may have.
    kept: usize,
    pub(crate) lanes: Lanes,
    /// Two slots per thread, from the first large copy on; nobody's while one goes on. Two sets of them, for two copies at a time: while
    /// threads of one begin, those of the other are at work.
    staging: [Mutex<Vec<[Slot; 2]>>; 2],
    name: String,
    capability: (i32, i32),
    processors: usize,
    shared: usize,
    process: u32,
}

impl fmt::Debug for Card {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}.{}, {} processors)", self.name, self.capability.0, self.capability.1, self.processors)
    }
}

impl Card {
    /// How many cards there are, or why there are none.
    pub fn count() -> Result<usize, CudaError> {
        Driver::get()?.count()
    }

    /// The card with this number.
    pub fn open(number: usize) -> Result<Arc<Self>, CudaError> {
        static CARDS: OnceLock<Mutex<HashMap<usize, Arc<Card>>>> = OnceLock::new();
        let mut cards = CARDS.get_or_init(Mutex::default).lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(card) = cards.get(&number) {
            card.enter()?;
            return Ok(card.clone());
        }
        let card = Arc::new(Self::load(number)?);
        cards.insert(number, card.clone());
        Ok(card)
    }

    fn load(number: usize) -> Result<Self, CudaError> {
        let driver = Driver::get()?;
        let found = driver.count()?;
        if number >= found {
            return Err(CudaError::NoCard { asked: number, found });
        }
        let (device, name, facts) = driver.card(number, &[MAJOR, MINOR, PROCESSORS, SHARED_BYTES])?;
        let capability = (facts[0], facts[1]);
        if capability.0 < 6 {
            return Err(CudaError::OldCard { name, major: capability.0, minor: capability.1 });
        }
        let context = driver.context(device)?;
        driver.enter(context)?;
        let text = if capability.0 >= 8 { TENSOR_TEXT } else { PLAIN_TEXT };
        let module = driver.load(text)?;
        let (mut newer, mut signatures) = (Vec::new(), signatures_of(text));
        for (there, text) in [(capability.0 >= 9, HOPPER_TEXT), (capability == WARPGROUPS, GROUP_TEXT)] {
            if there {
                let of_text = signatures_of(text);
                newer.push((driver.load(text)?, of_text.keys().copied().collect()));
                signatures.extend(of_text);
            }
        }
        Ok(Self {
            driver,
            context,
            module,
            newer,
            signatures,
            functions: Mutex::default(),
            pool: Mutex::default(),
            kept: KEPT_BYTES.min(driver.memory()?.1 / KEPT_SHARE),
            lanes: Lanes::default(),
            staging: Default::default(),
            name,
            capability,
            processors: facts[2].max(1) as usize,
            shared: facts[3].max(0) as usize,
            process: std::process::id(),
        })
    }

    /// Makes the card that of this thread: before the first use on every thread, and after other libraries may have used another one.
    pub fn enter(&self) -> Result<(), CudaError> {
        if std::process::id() != self.process {
            return Err(CudaError::Forked);
        }
        self.driver.enter(self.context)
    }

    /// Name of the card.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Compute capability.
    pub fn capability(&self) -> (i32, i32) {
        self.capability
    }

    /// Multiprocessors.
    pub fn processors(&self) -> usize {
        self.processors
    }

    /// Shared memory that one block may have.
    pub fn shared_bytes(&self) -> usize {
        self.shared
    }

    /// Whether the text with tensor cores is loaded.
    pub fn has_tensor_cores(&self) -> bool {
        self.capability.0 >= 8
    }

    /// Whether there are the kernels for four warps at once.
    pub fn has_warpgroups(&self) -> bool {
        self.capability == WARPGROUPS
    }

    /// Free bytes, what is kept for later among them, and all bytes.
    pub fn memory(&self) -> Result<(usize, usize), CudaError> {
        let kept = self.pool.lock().unwrap_or_else(std::sync::PoisonError::into_inner).bytes;
        self.driver.memory().map(|(free, total)| (free + kept, total))
    }

    /// Waits for all kernels of this thread's lane.
    pub fn synchronize(&self) -> Result<(), CudaError> {
        self.driver.synchronize(self.own().stream)
    }

    /// Memory for `length` numbers, of unknown content.
    pub fn allocate<T: Plain>(self: &Arc<Self>, length: usize) -> Result<Buffer<T>, CudaError> {
        let bytes = length.saturating_mul(size_of::<T>()).max(256);
        let bytes = if bytes <= ROUNDED { bytes.next_power_of_two() } else { bytes };
        Ok(Buffer { card: self.clone(), address: self.take(bytes)?, bytes, length, kind: PhantomData })
    }

    fn take(&self, bytes: usize) -> Result<Address, CudaError> {
        let mut pool = self.pool.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(address) = pool.pop(self.own().number, bytes) {
            return Ok(address);
        }
        match self.driver.allocate(bytes) {
            Err(CudaError::Memory { .. }) if pool.bytes > 0 => {
                while let Some(address) = pool.oldest() {
                    self.driver.free(address);
                }
                self.driver.allocate(bytes)
            }
            other => other,
        }
    }

    fn give_back(&self, address: Address, bytes: usize) {
        let mut pool = self.pool.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if bytes > KEPT_BLOCK.min(self.kept) {
            self.driver.free(address);
            return;
        }
        pool.push(self.own().number, bytes, address);
        while pool.bytes > self.kept
            && let Some(oldest) = pool.oldest()
        {
            self.driver.free(oldest);
        }
    }

    /// Copies many numbers by several threads; false if the memory for it is not to be had.
    fn copy_staged<T: Plain>(&self, address: Address, values: &[T]) -> Result<bool, CudaError> {
        let [first, second] = &self.staging;
        let mut staging = match first.try_lock() {
            Ok(staging) => staging,
            Err(_) => second.lock().unwrap_or_else(std::sync::PoisonError::into_inner),
        };
        // Asked once: the answer is put together from files.
        static CORES: OnceLock<usize> = OnceLock::new();
        let cores = *CORES.get_or_init(|| std::thread::available_parallelism().map_or(1, usize::from));
        let threads = cores.min(STAGING_THREADS);
        while staging.len() < threads {
            let (Ok(first), Ok(second)) = (self.driver.slot(STAGING_BYTES), self.driver.slot(STAGING_BYTES)) else { return Ok(false) };
            staging.push([first, second]);
        }
        let piece = staging[0][0].room::<T>();
        let (pieces, stream) = (values.len().div_ceil(piece), self.own().stream);
        std::thread::scope(|scope| {
            let send = |worker: usize, slots: &mut [Slot; 2]| -> Result<(), CudaError> {
                self.enter()?;
                for (turn, part) in (worker..pieces).step_by(threads).enumerate() {
                    let values = &values[part * piece..((part + 1) * piece).min(values.len())];
                    slots[turn % 2].send(address + (part * piece * size_of::<T>()) as u64, values, stream)?;
                }
                // The caller's numbers are read; so are those on their way, and whoever uses them comes after them in the stream.
                Ok(())
            };
            let workers: Vec<_> =
                staging.iter_mut().take(threads).enumerate().map(|(worker, slots)| scope.spawn(move || send(worker, slots))).collect();
            let sent: Vec<_> = workers.into_iter().map(|worker| worker.join()).collect();
            sent.into_iter().try_for_each(|sent| sent.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
        })?;
        Ok(true)
    }

    /// Memory with these numbers.
    pub fn upload<T: Plain>(self: &Arc<Self>, values: &[T]) -> Result<Buffer<T>, CudaError> {
        let mut buffer = self.allocate(values.len())?;
        buffer.write(0, values)?;
        Ok(buffer)
    }

    /// A call of a kernel, which [`Launch::run`] starts.
    pub fn launch(&self, kernel: &'static str) -> Launch<'_> {
        Launch { card: self, kernel, grid: (1, 1), threads: 256, shared: 0, arguments: Vec::new() }
    }

    fn function(&self, kernel: &'static str, shared: usize) -> Result<Handle, CudaError> {
        let mut functions = self.functions.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(&(handle, allowed)) = functions.get(kernel)
            && shared <= allowed
        {
            return Ok(handle);
        }
        let module = self.newer.iter().find(|(_, names)| names.contains(kernel)).map_or(self.module, |(module, _)| *module);
        let handle = self.driver.function(module, kernel, shared)?;
        functions.insert(kernel, (handle, shared.max(32 << 10)));
        Ok(handle)
    }
}

/// Numbers in a card's memory, given back when dropped.
pub struct Buffer<T: Plain> {
    card: Arc<Card>,
    address: Address,
    bytes: usize,
    length: usize,
    kind: PhantomData<T>,
}

impl<T: Plain> Drop for Buffer<T> {
    fn drop(&mut self) {
        // A child of a fork owns nothing on the card.
        if self.card.enter().is_ok() {
            self.card.give_back(self.address, self.bytes);
        }
    }
}

impl<T: Plain> Buffer<T> {
    /// How many numbers.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// The address of the numbers in `range`, of which every one exists.
    fn at(&self, range: Range<usize>) -> Result<Address, CudaError> {
        if range.start > range.end || range.end > self.length {
            let found = format!("numbers {} to {}", range.start, range.end);
            return Err(CudaError::Call { kernel: "copy".to_owned(), found, wanted: format!("at most {}", self.length) });
        }
        Ok(self.address + (range.start * size_of::<T>()) as u64)
    }

    /// Copies numbers to the card, from place `at` on.
    pub fn write(&mut self, at: usize, values: &[T]) -> Result<(), CudaError> {
        let address = self.at(at..at + values.len())?;
        if values.is_empty() || (size_of_val(values) >= STAGED && self.card.copy_staged(address, values)?) {
            return Ok(());
        }
        self.card.driver.copy_in(address, values, self.card.own().stream)
    }

    /// Copies from place `at` on into `out`; waits for kernels before it.
    pub fn read_into(&self, at: usize, out: &mut [T]) -> Result<(), CudaError> {
        let address = self.at(at..at + out.len())?;
        if out.is_empty() { Ok(()) } else { self.card.driver.copy_out(out, address, self.card.own().stream) }
    }

    /// The first `length` numbers.
    pub fn read(&self, length: usize) -> Result<Vec<T>, CudaError> {
        let address = self.at(0..length)?;
        let mut values = vec![T::default(); length];
        if length > 0 {
            self.card.driver.copy_out(&mut values, address, self.card.own().stream)?;
        }
        Ok(values)
    }

    /// Sets every byte.
    pub fn fill(&mut self, byte: u8) -> Result<(), CudaError> {
        self.card.driver.fill(self.address, byte, self.length * size_of::<T>(), self.card.own().stream)
    }

    /// Copies the first `length` numbers of another buffer.
    pub fn copy_from(&mut self, other: &Self, length: usize) -> Result<(), CudaError> {
        let (to, from) = (self.at(0..length)?, other.at(0..length)?);
        if length == 0 { Ok(()) } else { self.card.driver.copy_within(to, from, length * size_of::<T>(), self.card.own().stream) }
    }
}

/// A call of a kernel.
pub struct Launch<'a> {
    card: &'a Card,
    kernel: &'static str,
    grid: (u32, u32),
    threads: u32,
    shared: usize,
    arguments: Vec<Vec<u8>>,
}

impl Launch<'_> {
    /// Blocks, in two directions.
    pub fn grid(mut self, x: usize, y: usize) -> Self {
        self.grid = (x as u32, y as u32);
        self
    }

    /// As many blocks as `items` need, one thread each.
    pub fn items(self, items: usize) -> Self {
        let threads = self.threads as usize;
        self.grid(items.div_ceil(threads), 1)
    }

    /// Threads per block.
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = threads as u32;
        self
    }

    /// Bytes of shared memory beside what the kernel has by itself.
    pub fn shared(mut self, bytes: usize) -> Self {
        self.shared = bytes;
        self
    }

    /// A buffer.
    pub fn buffer<T: Plain>(mut self, buffer: &Buffer<T>) -> Self {
        self.arguments.push(buffer.address.to_ne_bytes().to_vec());
        self
    }

    /// A buffer from place `at` on.
    pub fn part<T: Plain>(mut self, buffer: &Buffer<T>, at: usize) -> Self {
        self.arguments.push((buffer.address + (at * size_of::<T>()) as u64).to_ne_bytes().to_vec());
        self
    }

    /// No buffer where one may be absent.
    pub fn null(mut self) -> Self {
        self.arguments.push(0u64.to_ne_bytes().to_vec());
        self
    }

    /// A count.
    pub fn count(mut self, value: usize) -> Self {
        self.arguments.push((value as u32).to_ne_bytes().to_vec());
        self
    }

    /// A count of 64 bits.
    pub fn long(mut self, value: u64) -> Self {
        self.arguments.push(value.to_ne_bytes().to_vec());
        self
    }

    /// A number.
    pub fn number(mut self, value: f64) -> Self {
        self.arguments.push(value.to_ne_bytes().to_vec());
        self
    }

    /// A kernel function.
    pub fn formula(mut self, formula: &Formula) -> Self {
        let mut bytes = Vec::with_capacity(size_of::<Formula>());
        bytes.extend(formula.kind.to_ne_bytes());
        bytes.extend(formula.degree.to_ne_bytes());
        for number in [formula.factor, formula.norm_factor, formula.shift] {
            bytes.extend(number.to_ne_bytes());
        }
        self.arguments.push(bytes);
        self
    }

    /// Starts the kernel; nothing happens for an empty grid. The arguments must be as many and as large as the kernel's text says.
    pub fn run(mut self) -> Result<(), CudaError> {
        let found: Vec<usize> = self.arguments.iter().map(Vec::len).collect();
        let wanted = self.card.signatures.get(self.kernel);
        if wanted != Some(&found) {
            let wanted = wanted.map_or_else(|| "nothing: it does not exist".to_owned(), |sizes| format!("{sizes:?} bytes"));
            return Err(CudaError::Call { kernel: self.kernel.to_owned(), found: format!("{found:?} bytes"), wanted });
        }
        if self.grid.0 == 0 || self.grid.1 == 0 {
            return Ok(());
        }
        let function = self.card.function(self.kernel, self.shared)?;
        self.card.driver.launch(function, self.grid, self.threads, self.shared, &mut self.arguments, self.card.own().stream)
    }
}
