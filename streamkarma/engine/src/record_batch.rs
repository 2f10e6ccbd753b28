//! The records of a batch from Kafka, in message format 2: <https://kafka.apache.org/documentation/#record>.

/// A record, relative to its batch.
#[derive(Debug, PartialEq)]
pub struct Record<'a> {
    /// Milliseconds after the first record of the batch.
    pub timestamp: i64,
    /// Offset after that of the batch.
    pub offset: i64,
    /// Any bytes, or null.
    pub key: Option<&'a [u8]>,
    /// Any bytes; null deletes what the topic has for the key.
    pub value: Option<&'a [u8]>,
    /// Names, each with a value or null.
    pub headers: Vec<(&'a str, Option<&'a [u8]>)>,
}

impl<'a> Record<'a> {
    /// Take the next record off the uncompressed part of a batch; None if it is malformed.
    pub fn take(bytes: &mut &'a [u8]) -> Option<Self> {
        let mut rest = take_sized(bytes)??;
        // Attributes, of which none is in use.
        rest = rest.get(1..)?;
        let (timestamp, offset) = (take_integer(&mut rest)?, take_integer(&mut rest)?);
        let (key, value) = (take_sized(&mut rest)?, take_sized(&mut rest)?);
        let count = usize::try_from(take_integer(&mut rest)?).ok()?;
        let headers = (0..count).map(|_| take_header(&mut rest)).collect::<Option<_>>()?;
        rest.is_empty().then_some(Self { timestamp, offset, key, value, headers })
    }

    /// The record as it is in the uncompressed part of a batch.
    pub fn bytes(&self) -> Vec<u8> {
        // No attributes are in use.
        let mut content = vec![0];
        append_integer(self.timestamp, &mut content);
        append_integer(self.offset, &mut content);
        append_sized(self.key, &mut content);
        append_sized(self.value, &mut content);
        append_integer(self.headers.len() as i64, &mut content);
        for (name, value) in &self.headers {
            append_sized(Some(name.as_bytes()), &mut content);
            append_sized(*value, &mut content);
        }
        let mut bytes = Vec::with_capacity(content.len() + 5);
        append_sized(Some(&content), &mut bytes);
        bytes
    }
}

fn take_header<'a>(bytes: &mut &'a [u8]) -> Option<(&'a str, Option<&'a [u8]>)> {
    let name = std::str::from_utf8(take_sized(bytes)??).ok()?;
    Some((name, take_sized(bytes)?))
}

/// Bytes after their number, which is negative for null.
fn take_sized<'a>(bytes: &mut &'a [u8]) -> Option<Option<&'a [u8]>> {
    let Ok(size) = usize::try_from(take_integer(bytes)?) else { return Some(None) };
    let (taken, rest) = bytes.split_at_checked(size)?;
    *bytes = rest;
    Some(Some(taken))
}

/// The inverse of [`take_sized`].
fn append_sized(bytes: Option<&[u8]>, to: &mut Vec<u8>) {
    append_integer(bytes.map_or(-1, |bytes| bytes.len() as i64), to);
    to.extend_from_slice(bytes.unwrap_or_default());
}

/// The inverse of [`take_integer`].
fn append_integer(number: i64, to: &mut Vec<u8>) {
    let mut coded = ((number << 1) ^ (number >> 63)) as u64;
    while coded >= 0x80 {
        to.push(coded as u8 | 0x80);
        coded >>= 7;
    }
    to.push(coded as u8);
}

/// An integer in zigzag coding, seven bits to a byte, the lowest first.
fn take_integer(bytes: &mut &[u8]) -> Option<i64> {
    let mut coded = 0;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        coded |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some((coded >> 1) as i64 ^ -((coded & 1) as i64));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Length 15, no attributes, time +1, offset +2, key "k", value "value", one header "h" without a value.
    const BYTES: &[u8] = b"\x1e\x00\x02\x04\x02k\x0avalue\x02\x02h\x01";

    #[test]
    fn a_record_is_taken_off() {
        let both = [BYTES, b"rest"].concat();
        let mut bytes = both.as_slice();
        let (key, value) = (Some(b"k".as_slice()), Some(b"value".as_slice()));
        let expected = Record { timestamp: 1, offset: 2, key, value, headers: vec![("h", None)] };
        assert_eq!(expected.bytes(), BYTES);
        assert_eq!(Record::take(&mut bytes), Some(expected));
        assert_eq!(bytes, b"rest");
    }

    #[test]
    fn a_malformed_record_is_none() {
        for end in 0..BYTES.len() {
            assert_eq!(Record::take(&mut &BYTES[..end]), None, "{end} bytes");
        }
        // A byte too many within the length; and a number of headers below 0.
        assert_eq!(Record::take(&mut b"\x0e\x00\x00\x00\x01\x01\x00\x00".as_slice()), None);
        assert_eq!(Record::take(&mut b"\x0c\x00\x00\x00\x01\x01\x01".as_slice()), None);
        // An integer of more than 64 bits.
        assert_eq!(take_integer(&mut [0xff; 11].as_slice()), None);
    }

    #[test]
    fn integers_are_in_zigzag_coding() {
        for (bytes, expected) in
            [(&[0][..], 0), (&[1], -1), (&[2], 1), (&[0xac, 0x02], 150), (&[0xff, 0x01], -128)]
        {
            assert_eq!(take_integer(&mut &*bytes), Some(expected));
        }
        for number in [i64::MIN, -65, -64, 63, 64, 8191, 8192, i64::MAX] {
            let mut bytes = vec![];
            append_integer(number, &mut bytes);
            assert_eq!(take_integer(&mut bytes.as_slice()), Some(number));
        }
    }
}
