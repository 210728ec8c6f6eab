//! Counts as bytes: seven bits a byte, the lowest first, as many bytes as a number needs.

/// Writes counts.
pub(super) fn write(counts: &[u128]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(counts.len() * 4);
    for &count in counts {
        let mut count = count;
        while count >= 0x80 {
            bytes.push(count as u8 | 0x80);
            count >>= 7;
        }
        bytes.push(count as u8);
    }
    bytes
}

/// Reads counts back; `None` where these are none, or not so many.
pub(super) fn read(bytes: &[u8], length: usize) -> Option<Vec<u128>> {
    // No count has fewer bytes than one.
    if length > bytes.len() {
        return None;
    }
    let mut counts = Vec::with_capacity(length);
    let (mut count, mut shift) = (0u128, 0);
    for &byte in bytes {
        let part = u128::from(byte & 0x7f);
        if shift >= u128::BITS || part << shift >> shift != part {
            return None;
        }
        count |= part << shift;
        shift += 7;
        if byte & 0x80 == 0 {
            counts.push(count);
            (count, shift) = (0, 0);
        }
    }
    (shift == 0 && counts.len() == length).then_some(counts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_come_back_as_they_were_written() {
        let counts = [
            0,
            1,
            127,
            128,
            4_865_609,
            u128::from(u64::MAX),
            1 << 100,
            u128::MAX,
        ];
        let bytes = write(&counts);
        assert_eq!(read(&bytes, counts.len()).as_deref(), Some(&counts[..]));
        assert_eq!(read(&bytes, counts.len() - 1), None);
        assert_eq!(read(&bytes, counts.len() + 1), None);
        assert_eq!(read(&bytes[..bytes.len() - 1], counts.len()), None);
        assert_eq!(read(&[0xff; 20], 1), None);
        assert_eq!(read(&[], usize::MAX), None);
        assert_eq!(read(&[], 0), Some(Vec::new()));
    }
}
