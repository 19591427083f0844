//! The driver's functions (libcuda), found at run time. The only file with `unsafe` code: calls into the driver.
//!
//! The functions below take and give plain numbers; pointers to memory of this process are made here from slices, so that their lengths are
//! right. Memory of the card is named by numbers ([`Address`]) that nothing here reads.

use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::sync::OnceLock;

use libloading::Library;

use crate::error::CudaError;

/// A place in the card's memory.
pub(crate) type Address = u64;
/// Numbers of the driver for things it made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Handle(*mut c_void);

// SAFETY: the driver's contexts, modules and functions may be used from any thread that has made the context current.
unsafe impl Send for Handle {}
// SAFETY: as above; the driver locks what it must.
unsafe impl Sync for Handle {}

#[cfg(windows)]
const LIBRARY: &str = "nvcuda.dll";
#[cfg(not(windows))]
const LIBRARY: &str = "libcuda.so.1";

const OUT_OF_MEMORY: c_int = 2;
/// Text that the driver does not understand, or of a version that it does not know.
const TEXT_REFUSED: [c_int; 3] = [218, 209, 222];

macro_rules! functions {
    ($($name:ident = $symbol:literal ($($argument:ty),*);)*) => {
        /// The functions that are used, with the types of the driver's header.
        struct Functions {
            $($name: unsafe extern "C" fn($($argument),*) -> c_int,)*
            _library: Library,
        }

        impl Functions {
            fn load() -> Result<Self, CudaError> {
                // SAFETY: the driver's library has no initialization that could do harm; it is what every program with CUDA loads.
                let library = unsafe { Library::new(LIBRARY) }.map_err(|_| CudaError::NoDriver { library: LIBRARY })?;
                $(
                    // SAFETY: the type is that of the function in the driver's header; it stays loaded as long as the library beside it.
                    let $name = unsafe { library.get::<unsafe extern "C" fn($($argument),*) -> c_int>(concat!($symbol, "\0").as_bytes()) }
                        .map(|function| *function)
                        .map_err(|_| CudaError::NoFunction { function: $symbol })?;
                )*
                Ok(Self { $($name,)* _library: library })
            }
        }
    };
}

functions! {
    init = "cuInit" (c_uint);
    device_count = "cuDeviceGetCount" (*mut c_int);
    device_get = "cuDeviceGet" (*mut c_int, c_int);
    device_name = "cuDeviceGetName" (*mut c_char, c_int, c_int);
    device_attribute = "cuDeviceGetAttribute" (*mut c_int, c_int, c_int);
    context_retain = "cuDevicePrimaryCtxRetain" (*mut *mut c_void, c_int);
    context_current = "cuCtxSetCurrent" (*mut c_void);
    module_load = "cuModuleLoadDataEx" (*mut *mut c_void, *const c_void, c_uint, *mut c_int, *mut *mut c_void);
    module_function = "cuModuleGetFunction" (*mut *mut c_void, *mut c_void, *const c_char);
    function_attribute = "cuFuncSetAttribute" (*mut c_void, c_int, c_int);
    memory_info = "cuMemGetInfo_v2" (*mut usize, *mut usize);
    allocate = "cuMemAlloc_v2" (*mut Address, usize);
    free = "cuMemFree_v2" (Address);
    fill = "cuMemsetD8Async" (Address, u8, usize, *mut c_void);
    copy_in = "cuMemcpyHtoDAsync_v2" (Address, *const c_void, usize, *mut c_void);
    host_allocate = "cuMemHostAlloc" (*mut *mut c_void, usize, c_uint);
    host_free = "cuMemFreeHost" (*mut c_void);
    event_create = "cuEventCreate" (*mut *mut c_void, c_uint);
    event_destroy = "cuEventDestroy_v2" (*mut c_void);
    event_record = "cuEventRecord" (*mut c_void, *mut c_void);
    event_wait = "cuEventSynchronize" (*mut c_void);
    copy_out = "cuMemcpyDtoHAsync_v2" (*mut c_void, Address, usize, *mut c_void);
    copy_within = "cuMemcpyDtoDAsync_v2" (Address, Address, usize, *mut c_void);
    launch = "cuLaunchKernel" (*mut c_void, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, *mut c_void, *mut *mut c_void, *mut *mut c_void);
    stream_create = "cuStreamCreateWithPriority" (*mut *mut c_void, c_uint, c_int);
    stream_wait = "cuStreamSynchronize" (*mut c_void);
    wait_for_all = "cuCtxSynchronize" ();
    error_name = "cuGetErrorName" (c_int, *mut *const c_char);
}

/// A queue of work on the card: what is in one queue is done in order, different queues are served side by side.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stream(Handle);

impl Stream {
    /// The card's own queue, which everybody has.
    pub(crate) const COMMON: Self = Self(Handle(std::ptr::null_mut()));
}

/// The driver, once per process.
pub(crate) struct Driver {
    functions: Functions,
}

impl Driver {
    /// Loads and starts the driver; the answer, good or bad, stays the same.
    pub(crate) fn get() -> Result<&'static Self, CudaError> {
        static DRIVER: OnceLock<Result<Driver, CudaError>> = OnceLock::new();
        let driver = DRIVER.get_or_init(|| {
            let driver = Self { functions: Functions::load()? };
            // SAFETY: takes no pointers.
            let code = unsafe { (driver.functions.init)(0) };
            driver.check("cuInit", code)?;
            Ok(driver)
        });
        driver.as_ref().map_err(Clone::clone)
    }

    fn check(&self, call: &'static str, code: c_int) -> Result<(), CudaError> {
        if code == 0 {
            return Ok(());
        }
        let mut name: *const c_char = std::ptr::null();
        // SAFETY: the pointer is to a local that lives through the call.
        let known = unsafe { (self.functions.error_name)(code, &mut name) };
        let name = if known == 0 && !name.is_null() {
            // SAFETY: the driver gives a text of its own, which ends with zero and is never freed.
            unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned()
        } else {
            "unknown error".to_owned()
        };
        Err(CudaError::Failed { call, code, name })
    }

    /// How many cards there are.
    pub(crate) fn count(&self) -> Result<usize, CudaError> {
        let mut count = 0;
        // SAFETY: the pointer is to a local.
        self.check("cuDeviceGetCount", unsafe { (self.functions.device_count)(&mut count) })?;
        Ok(count.max(0) as usize)
    }

    /// The driver's number, the name, and attributes of a card.
    pub(crate) fn card(&self, number: usize, attributes: &[c_int]) -> Result<(c_int, String, Vec<c_int>), CudaError> {
        let (mut device, mut name) = (0, [0u8; 256]);
        // SAFETY: the pointers are to locals; the name's length is given.
        unsafe {
            self.check("cuDeviceGet", (self.functions.device_get)(&mut device, number as c_int))?;
            self.check("cuDeviceGetName", (self.functions.device_name)(name.as_mut_ptr().cast(), name.len() as c_int, device))?;
        }
        let name = CStr::from_bytes_until_nul(&name).map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let mut values = Vec::new();
        for &attribute in attributes {
            let mut value = 0;
            // SAFETY: the pointer is to a local.
            self.check("cuDeviceGetAttribute", unsafe { (self.functions.device_attribute)(&mut value, attribute, device) })?;
            values.push(value);
        }
        Ok((device, name, values))
    }

    /// The card's own context, shared with every other library of the process.
    pub(crate) fn context(&self, device: c_int) -> Result<Handle, CudaError> {
        let mut context = std::ptr::null_mut();
        // SAFETY: the pointer is to a local.
        self.check("cuDevicePrimaryCtxRetain", unsafe { (self.functions.context_retain)(&mut context, device) })?;
        Ok(Handle(context))
    }

    /// Makes a context that of this thread.
    pub(crate) fn enter(&self, context: Handle) -> Result<(), CudaError> {
        // SAFETY: the handle came from the driver and is never given back.
        self.check("cuCtxSetCurrent", unsafe { (self.functions.context_current)(context.0) })
    }

    /// Compiles a text for the card of the current context.
    pub(crate) fn load(&self, text: &str) -> Result<Handle, CudaError> {
        let (text, mut module) = (CString::new(text).unwrap_or_default(), std::ptr::null_mut());
        // SAFETY: the text ends with zero and lives through the call; no options are given.
        let code =
            unsafe { (self.functions.module_load)(&mut module, text.as_ptr().cast(), 0, std::ptr::null_mut(), std::ptr::null_mut()) };
        match self.check("cuModuleLoadDataEx", code) {
            Err(error) if TEXT_REFUSED.contains(&code) => Err(CudaError::OldDriver { message: error.to_string() }),
            other => other.map(|()| Handle(module)),
        }
    }

    /// A kernel of a module, allowed `shared` bytes of shared memory.
    pub(crate) fn function(&self, module: Handle, name: &str, shared: usize) -> Result<Handle, CudaError> {
        const MAX_DYNAMIC_SHARED: c_int = 8;
        /// What every kernel may have without being asked for is 48 KB together with its own.
        const USUAL: usize = 32 << 10;
        let (name, mut function) = (CString::new(name).unwrap_or_default(), std::ptr::null_mut());
        // SAFETY: the name ends with zero and lives through the call; the handle came from the driver.
        self.check("cuModuleGetFunction", unsafe { (self.functions.module_function)(&mut function, module.0, name.as_ptr()) })?;
        if shared > USUAL {
            // SAFETY: the function came from the driver a line ago.
            let code = unsafe { (self.functions.function_attribute)(function, MAX_DYNAMIC_SHARED, shared as c_int) };
            self.check("cuFuncSetAttribute", code)?;
        }
        Ok(Handle(function))
    }

    /// Free bytes and all bytes of the current card.
    pub(crate) fn memory(&self) -> Result<(usize, usize), CudaError> {
        let (mut free, mut total) = (0, 0);
        // SAFETY: the pointers are to locals.
        self.check("cuMemGetInfo", unsafe { (self.functions.memory_info)(&mut free, &mut total) })?;
        Ok((free, total))
    }

    /// Takes memory of the current card.
    pub(crate) fn allocate(&self, bytes: usize) -> Result<Address, CudaError> {
        let mut address = 0;
        // SAFETY: the pointer is to a local.
        let code = unsafe { (self.functions.allocate)(&mut address, bytes) };
        if code == OUT_OF_MEMORY {
            let (free, total) = self.memory().unwrap_or_default();
            return Err(CudaError::Memory { bytes, free, total });
        }
        self.check("cuMemAlloc", code).map(|()| address)
    }

    /// Gives memory back, after the end of everything that any queue has to do; a card that is gone has no memory to give back.
    pub(crate) fn free(&self, address: Address) {
        // SAFETY: takes no pointers.
        let _ = unsafe { (self.functions.wait_for_all)() };
        // SAFETY: called once per address, by the buffer that owns it; nobody uses it any more.
        let _ = unsafe { (self.functions.free)(address) };
    }

    /// Another queue, which waits for nobody else's; it stays as long as the process. Blocks of an urgent one go first wherever the card has
    /// room for another block.
    pub(crate) fn stream(&self, urgent: bool) -> Result<Stream, CudaError> {
        const WAITS_FOR_NOBODY: c_uint = 1;
        let mut stream = std::ptr::null_mut();
        // SAFETY: the pointer is to a local.
        let code = unsafe { (self.functions.stream_create)(&mut stream, WAITS_FOR_NOBODY, -c_int::from(urgent)) };
        self.check("cuStreamCreateWithPriority", code)?;
        Ok(Stream(Handle(stream)))
    }

    /// Fills memory with a byte.
    pub(crate) fn fill(&self, address: Address, value: u8, bytes: usize, stream: Stream) -> Result<(), CudaError> {
        // SAFETY: the range lies in one buffer (its owner checks), and is only read by the card.
        self.check("cuMemsetD8Async", unsafe { (self.functions.fill)(address, value, bytes, stream.0.0) })
    }

    /// Copies plain numbers to the card. They are read when this returns, though they may still be on their way.
    pub(crate) fn copy_in<T: Plain>(&self, address: Address, values: &[T], stream: Stream) -> Result<(), CudaError> {
        // SAFETY: the slice is readable for its bytes, and is ordinary memory, which the driver copies before it returns; the range at
        // `address` lies in one buffer (its owner checks).
        let code = unsafe { (self.functions.copy_in)(address, values.as_ptr().cast(), size_of_val(values), stream.0.0) };
        self.check("cuMemcpyHtoDAsync", code)
    }

    /// Memory of the host that the card reads by itself.
    pub(crate) fn slot(&'static self, bytes: usize) -> Result<Slot, CudaError> {
        const NO_TIMES: c_uint = 2;
        let (mut memory, mut event) = (std::ptr::null_mut(), std::ptr::null_mut());
        // SAFETY: the pointers are to locals.
        self.check("cuMemHostAlloc", unsafe { (self.functions.host_allocate)(&mut memory, bytes, 0) })?;
        // SAFETY: the pointer is to a local.
        let made = self.check("cuEventCreate", unsafe { (self.functions.event_create)(&mut event, NO_TIMES) });
        if let Err(error) = made {
            // SAFETY: allocated a line ago, and nobody else knows of it.
            let _ = unsafe { (self.functions.host_free)(memory) };
            return Err(error);
        }
        Ok(Slot { driver: self, memory: Handle(memory), event: Handle(event), bytes })
    }

    /// Copies plain numbers from the card; waits for kernels before it in the queue.
    pub(crate) fn copy_out<T: Plain>(&self, values: &mut [T], address: Address, stream: Stream) -> Result<(), CudaError> {
        // SAFETY: the slice is writable for its bytes and any bytes are values of a plain type; it is borrowed until the wait below is over.
        let code = unsafe { (self.functions.copy_out)(values.as_mut_ptr().cast(), address, size_of_val(values), stream.0.0) };
        let waited = self.synchronize(stream);
        self.check("cuMemcpyDtoHAsync", code).and(waited)
    }

    /// Copies between two places of the card.
    pub(crate) fn copy_within(&self, to: Address, from: Address, bytes: usize, stream: Stream) -> Result<(), CudaError> {
        // SAFETY: both ranges lie in buffers (their owners check).
        self.check("cuMemcpyDtoD", unsafe { (self.functions.copy_within)(to, from, bytes, stream.0.0) })
    }

    /// Starts a kernel. `arguments` are the bytes of its parameters, whose sizes the caller has compared with the kernel's text.
    pub(crate) fn launch(
        &self,
        function: Handle,
        grid: (u32, u32),
        threads: u32,
        shared: usize,
        arguments: &mut [Vec<u8>],
        stream: Stream,
    ) -> Result<(), CudaError> {
        let mut pointers: Vec<*mut c_void> = arguments.iter_mut().map(|bytes| bytes.as_mut_ptr().cast()).collect();
        // SAFETY: every pointer is to as many bytes as the kernel reads there (sizes are checked against its text), and they live through
        // the call, which copies them.
        let code = unsafe {
            (self.functions.launch)(
                function.0,
                grid.0,
                grid.1,
                1,
                threads,
                1,
                1,
                shared as c_uint,
                stream.0.0,
                pointers.as_mut_ptr(),
                std::ptr::null_mut(),
            )
        };
        self.check("cuLaunchKernel", code)
    }

    /// Waits for everything in a queue; errors of kernels appear here.
    pub(crate) fn synchronize(&self, stream: Stream) -> Result<(), CudaError> {
        // SAFETY: the handle came from the driver and is never given back.
        self.check("cuStreamSynchronize", unsafe { (self.functions.stream_wait)(stream.0.0) })
    }
}

/// A piece of the host's memory that stays where it is, so that the card copies from it while the processor goes on.
pub(crate) struct Slot {
    driver: &'static Driver,
    memory: Handle,
    event: Handle,
    bytes: usize,
}

impl Slot {
    /// Numbers of a type that fit.
    pub(crate) fn room<T: Plain>(&self) -> usize {
        self.bytes / size_of::<T>()
    }

    /// Begins to copy numbers to the card, after whatever the slot was used for before. No more than there is room for.
    pub(crate) fn send<T: Plain>(&mut self, address: Address, values: &[T], stream: Stream) -> Result<(), CudaError> {
        let (driver, bytes) = (self.driver, size_of_val(values));
        assert!(bytes <= self.bytes, "more than fits into a slot");
        self.wait()?;
        // SAFETY: the slot owns its memory, which is as large (checked above) and which the card does not read any more; numbers have no
        // padding. The range at `address` lies in one buffer (its owner checks).
        let code = unsafe {
            std::ptr::copy_nonoverlapping(values.as_ptr().cast::<u8>(), self.memory.0.cast::<u8>(), bytes);
            (driver.functions.copy_in)(address, self.memory.0, bytes, stream.0.0)
        };
        driver.check("cuMemcpyHtoDAsync", code)?;
        // SAFETY: the event is the slot's own.
        driver.check("cuEventRecord", unsafe { (driver.functions.event_record)(self.event.0, stream.0.0) })
    }

    /// Waits until the card has read what was sent last.
    pub(crate) fn wait(&self) -> Result<(), CudaError> {
        // SAFETY: the event is the slot's own; one that was never recorded counts as done.
        self.driver.check("cuEventSynchronize", unsafe { (self.driver.functions.event_wait)(self.event.0) })
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let _ = self.wait();
        // SAFETY: both are the slot's own, and the card does not use them any more.
        let _ = unsafe { ((self.driver.functions.event_destroy)(self.event.0), (self.driver.functions.host_free)(self.memory.0)) };
    }
}

/// Numbers without padding or forbidden bits.
///
/// # Safety
/// Any bytes must be a value of the type.
pub unsafe trait Plain: Copy + Default + Send + Sync + 'static {}
// SAFETY: any bytes are a number.
unsafe impl Plain for u8 {}
// SAFETY: any bytes are a number.
unsafe impl Plain for u16 {}
// SAFETY: any bytes are a number.
unsafe impl Plain for u32 {}
// SAFETY: any bytes are a number.
unsafe impl Plain for u64 {}
// SAFETY: any bytes are a number.
unsafe impl Plain for f32 {}
// SAFETY: any bytes are a number.
unsafe impl Plain for f64 {}
