//! What a call returns when it does not succeed, and the words for it.
#![allow(unsafe_code, reason = "pointers from C are read and written, and functions have names that C knows")]

use marqueue_aqm::ParamError;
use std::any::Any;
use std::cell::RefCell;
use std::ffi::{c_char, CStr, CString};
use std::panic::{catch_unwind, AssertUnwindSafe};

/// What has come of a call.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Done.
    Ok = 0,
    /// There is no packet to take.
    Empty = 1,
    /// A pointer is null.
    Null = 2,
    /// A name or a value is refused: marqueue_error() says which, and what was expected.
    Invalid = 3,
    /// A bug of the library. The queue refuses all further calls but marqueue_free.
    Panicked = 4,
}

/// Why a call ends early.
pub(crate) struct Failure(Status, String);

impl Failure {
    pub(crate) fn invalid(message: impl Into<String>) -> Failure {
        Failure(Status::Invalid, message.into())
    }

    pub(crate) fn null(name: &str) -> Failure {
        Failure(Status::Null, format!("{name}: got a null pointer"))
    }

    pub(crate) fn panicked(message: impl Into<String>) -> Failure {
        Failure(Status::Panicked, message.into())
    }
}

impl From<ParamError> for Failure {
    fn from(error: ParamError) -> Failure {
        Failure::invalid(error.to_string())
    }
}

thread_local! {
    static LAST: RefCell<CString> = RefCell::default();
}

/// Runs the body of a function: a failure becomes its status and leaves its words, and so does a panic.
pub(crate) fn call(body: impl FnOnce() -> Result<Status, Failure>) -> Status {
    let done = catch_unwind(AssertUnwindSafe(body));
    let Failure(status, message) = match done {
        Ok(Ok(status)) => return status,
        Ok(Err(failure)) => failure,
        Err(panic) => Failure::panicked(panic_message(&*panic)),
    };
    // Words with a zero byte in them cannot come from C, nor from a message of ours.
    let words = CString::new(message).unwrap_or_default();
    LAST.with_borrow_mut(|last| *last = words);
    status
}

fn panic_message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "a panic".into())
}

/// The words for the last call of this thread that was refused: what was given and what was expected. Valid until the next
/// one is.
#[no_mangle]
pub extern "C" fn marqueue_error() -> *const c_char {
    LAST.with_borrow(|last| last.as_ptr())
}

/// The version of the library.
#[no_mangle]
pub extern "C" fn marqueue_version() -> *const c_char {
    const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");
    VERSION.as_ptr().cast()
}

/// The value behind a pointer.
///
/// # Safety
/// As at the top of the crate.
pub(crate) unsafe fn behind<'a, T>(pointer: *const T, name: &str) -> Result<&'a T, Failure> {
    // SAFETY: it is null, or valid for the call.
    unsafe { pointer.as_ref() }.ok_or_else(|| Failure::null(name))
}

/// The value behind a pointer, to change it.
///
/// # Safety
/// As at the top of the crate.
pub(crate) unsafe fn behind_mut<'a, T>(pointer: *mut T, name: &str) -> Result<&'a mut T, Failure> {
    // SAFETY: it is null, or valid for the call and used by nothing else.
    unsafe { pointer.as_mut() }.ok_or_else(|| Failure::null(name))
}

/// The text behind a pointer.
///
/// # Safety
/// As at the top of the crate.
pub(crate) unsafe fn text<'a>(pointer: *const c_char, name: &str) -> Result<&'a str, Failure> {
    if pointer.is_null() {
        return Err(Failure::null(name));
    }
    // SAFETY: it ends with a zero byte.
    let text = unsafe { CStr::from_ptr(pointer) };
    text.to_str().map_err(|_| Failure::invalid(format!("{name}: got text that is not UTF-8")))
}
