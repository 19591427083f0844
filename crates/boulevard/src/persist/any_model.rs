//! Files of models of any kind.

use std::path::Path;

use super::native;
use crate::any::{AnyModel, models};
use crate::error::{Error, Result};

/// Bytes of every kind, and each model's own `save` and `load`.
macro_rules! files {
    ($($(#[$doc:meta])* $variant:ident($model:ty) = $kind:literal,)+) => {
        impl AnyModel {
            /// The bytes of a model file.
            pub fn to_bytes(&self) -> Result<Vec<u8>> {
                match self {
                    $(Self::$variant(model) => native::to_bytes(model),)+
                }
            }

            /// A model from the bytes of a file. Whatever the bytes are, the answer is a sound model or an error.
            pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
                let opened = native::open(bytes)?;
                match opened.kind.as_str() {
                    $($kind => opened.model().map(Self::$variant),)+
                    other => {
                        let known = Self::KINDS.join(", ");
                        Err(Error::data(format!("models of kind `{}` are unknown here; known are {known}", other.escape_debug())))
                    }
                }
            }
        }

        $(
            impl $model {
                /// Writes the model to a file in the native format, to the bit. The file appears whole or not at all.
                pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
                    native::write(path.as_ref(), &native::to_bytes(self)?)
                }

                /// Reads a model of this kind; fails with the kind that was found if the file holds another.
                pub fn load(path: impl AsRef<Path>) -> Result<Self> {
                    native::read(path.as_ref(), |bytes| native::open(bytes)?.model())
                }
            }
        )+
    };
}

models!(files);

impl AnyModel {
    /// Writes the model to a file in the native format, to the bit. The file appears whole or not at all.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        native::write(path.as_ref(), &self.to_bytes()?)
    }

    /// Reads a model of any kind.
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        native::read(path.as_ref(), Self::from_bytes)
    }
}
