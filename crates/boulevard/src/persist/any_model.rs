//! Files of models of any kind.

use std::path::Path;

use super::native;
use crate::any::{AnyModel, models};
use crate::error::{Error, Result};

/// Bytes of every kind, and each model's own `save` and `load`.
macro_rules! files {
    ($($(#[$doc:meta])* $variant:ident($model:ty) = $kind:literal,)+) => {
        impl AnyModel {
            /// The bytes of a model file with a note: a text that nothing here reads, for whoever saves the model. Programs of other
            /// languages keep there what the model itself does not need.
            pub fn to_bytes_with_note(&self, note: Option<&str>) -> Result<Vec<u8>> {
                match self {
                    $(Self::$variant(model) => native::to_bytes(model, note),)+
                }
            }

            /// A model from the bytes of a file, and the file's note. Whatever the bytes are, the answer is a sound model or an error.
            pub fn from_bytes_with_note(bytes: &[u8]) -> Result<(Self, Option<String>)> {
                let mut opened = native::open(bytes)?;
                let note = opened.note.take();
                let model = match opened.kind.as_str() {
                    $($kind => opened.model().map(Self::$variant),)+
                    other => {
                        let known = Self::KINDS.join(", ");
                        Err(Error::data(format!("models of kind `{}` are unknown here; known are {known}", other.escape_debug())))
                    }
                };
                Ok((model?, note))
            }
        }

        $(
            impl $model {
                /// Writes the model to a file in the native format, to the bit. The file appears whole or not at all.
                pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
                    native::write(path.as_ref(), &native::to_bytes(self, None)?)
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
    /// The bytes of a model file.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        self.to_bytes_with_note(None)
    }

    /// A model from the bytes of a file. Whatever the bytes are, the answer is a sound model or an error.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        Self::from_bytes_with_note(bytes).map(|(model, _)| model)
    }

    /// [`AnyModel::save`] with a note.
    pub fn save_with_note(&self, path: impl AsRef<Path>, note: Option<&str>) -> Result<()> {
        native::write(path.as_ref(), &self.to_bytes_with_note(note)?)
    }

    /// [`AnyModel::load`], and the file's note.
    pub fn load_with_note(path: impl AsRef<Path>) -> Result<(Self, Option<String>)> {
        native::read(path.as_ref(), Self::from_bytes_with_note)
    }

    /// Writes the model to a file in the native format, to the bit. The file appears whole or not at all.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        native::write(path.as_ref(), &self.to_bytes()?)
    }

    /// Reads a model of any kind.
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        native::read(path.as_ref(), Self::from_bytes)
    }
}
