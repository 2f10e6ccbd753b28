//! Names of entities.

use std::ops::Deref;

/// Maximum bytes that are stored inline.
const SHORT: usize = 22;

/// The bytes of a name. Most names are short, and stored inline: with many entities, memory access is what costs time.
#[derive(Clone, Debug)]
pub(super) enum Label {
    Short { length: u8, bytes: [u8; SHORT] },
    Long(Box<[u8]>),
}

impl From<&[u8]> for Label {
    fn from(name: &[u8]) -> Self {
        let mut bytes = [0; SHORT];
        match bytes.get_mut(..name.len()) {
            Some(place) => {
                place.copy_from_slice(name);
                Self::Short { length: name.len() as u8, bytes }
            }
            None => Self::Long(name.into()),
        }
    }
}

impl Deref for Label {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Short { length, bytes } => &bytes[..usize::from(*length)],
            Self::Long(name) => name,
        }
    }
}

impl PartialEq for Label {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Label {
    /// Bytes that are stored elsewhere.
    pub(super) fn bytes(&self) -> usize {
        if let Self::Long(name) = self { name.len() } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_any_length_round_trip() {
        for length in [0, 1, SHORT - 1, SHORT, SHORT + 1, 300] {
            let name: Vec<u8> = (0..length).map(|at| at as u8).collect();
            let label = Label::from(name.as_slice());
            assert_eq!(*label, *name);
            assert_eq!(label.bytes(), if length > SHORT { length } else { 0 });
        }
        assert_eq!(size_of::<Label>(), 24);
    }
}
