//! Counts what a baseline JPEG's entropy coder wrote: the Huffman codes, without making pixels.
//!
//! It reads the subset that photographs use: one interleaved scan, 8 bits, no restart markers.
//! Anything else is an error, so that a set that drifts away from photographs is noticed.

/// What one file holds.
pub(crate) struct Counts {
    pub(crate) width: usize,
    pub(crate) height: usize,
    /// Horizontal and vertical factor of each component, as `0xHV`.
    pub(crate) sampling: Vec<u8>,
    /// Huffman codes: DC sizes, AC run/size pairs, ends of block and runs of sixteen zeros.
    pub(crate) symbols: u64,
    /// Bytes of the file.
    pub(crate) bytes: usize,
    /// Whether the Huffman tables are others than the standard's (T.81, annex K.3).
    pub(crate) own_tables: bool,
}

struct Component {
    id: u8,
    sampling: u8,
    tables: u8,
}

/// For each 16 bits that may come next: length of the code (high byte) and its symbol.
type Codes = Vec<u16>;

#[derive(Default)]
struct Header {
    width: usize,
    height: usize,
    components: Vec<Component>,
    codes: [Codes; 8],
    table_symbols: usize,
}

/// Counts the codes of one file.
pub(crate) fn count(file: &[u8]) -> Result<Counts, String> {
    let mut header = Header::default();
    let scan = header.read(file)?;
    let symbols = count_scan(&header, &mut Bits::new(&file[scan..]))?;
    Ok(Counts {
        width: header.width,
        height: header.height,
        sampling: header.components.iter().map(|it| it.sampling).collect(),
        symbols,
        bytes: file.len(),
        own_tables: header.table_symbols != 12 * 2 + 162 * 2,
    })
}

impl Header {
    /// Reads the segments up to the scan; gives where its entropy-coded bytes begin.
    fn read(&mut self, file: &[u8]) -> Result<usize, String> {
        let mut at = 2;
        loop {
            let [0xff, marker, high, low] = *file.get(at..at + 4).ok_or("it ends in its header")?
            else {
                return Err(format!("no marker at byte {at}"));
            };
            let end = at + 2 + usize::from(high) * 256 + usize::from(low);
            let body = file.get(at + 4..end).ok_or("a segment is cut off")?;
            match marker {
                0xc0 | 0xc1 => self.frame(body),
                0xc4 => self.tables(body)?,
                0xda => return self.scan(body).map(|()| end),
                0xdb | 0xe0..=0xef | 0xfe => {}
                _ => return Err(format!("marker {marker:02x} is not one of a plain photograph")),
            }
            at = end;
        }
    }

    fn frame(&mut self, body: &[u8]) {
        self.height = usize::from(body[1]) * 256 + usize::from(body[2]);
        self.width = usize::from(body[3]) * 256 + usize::from(body[4]);
        let parts = body[6..].chunks_exact(3);
        self.components =
            parts.map(|it| Component { id: it[0], sampling: it[1], tables: 0 }).collect();
    }

    fn tables(&mut self, mut body: &[u8]) -> Result<(), String> {
        while body.len() > 17 {
            let slot = usize::from(body[0] & 3) + 4 * usize::from(body[0] >> 4 & 1);
            let lengths = &body[1..17];
            let n_symbols: usize = lengths.iter().map(|&it| usize::from(it)).sum();
            let symbols = body.get(17..17 + n_symbols).ok_or("a Huffman table is cut off")?;
            self.codes[slot] = codes(lengths, symbols);
            self.table_symbols += n_symbols;
            body = &body[17 + n_symbols..];
        }
        Ok(())
    }

    fn scan(&mut self, body: &[u8]) -> Result<(), String> {
        if usize::from(body[0]) != self.components.len() {
            return Err(format!("a scan of {} components", body[0]));
        }
        for part in body[1..].chunks_exact(2).take(self.components.len()) {
            let it = self.components.iter_mut().find(|it| it.id == part[0]);
            it.ok_or("a scan of an unknown component")?.tables = part[1];
        }
        Ok(())
    }
}

/// Spreads canonical codes (T.81, annex C) over all continuations of 16 bits.
fn codes(lengths: &[u8], symbols: &[u8]) -> Codes {
    let mut codes = Vec::with_capacity(1 << 16);
    let of_length =
        (1_u16..).zip(lengths).flat_map(|(bits, &n)| std::iter::repeat_n(bits, usize::from(n)));
    for (bits, &symbol) in of_length.zip(symbols) {
        codes.resize(codes.len() + (1 << (16 - bits)), bits << 8 | u16::from(symbol));
    }
    codes.resize(1 << 16, 0);
    codes
}

fn count_scan(header: &Header, bits: &mut Bits) -> Result<u64, String> {
    let single = header.components.len() == 1;
    let factors = |it: &Component| {
        if single { (1, 1) } else { (usize::from(it.sampling >> 4), usize::from(it.sampling & 15)) }
    };
    // The first component, brightness, has the largest factors in every photograph.
    let (most_h, most_v) = factors(&header.components[0]);
    let n_units = header.width.div_ceil(8 * most_h) * header.height.div_ceil(8 * most_v);

    let mut n_symbols = 0;
    for _ in 0..n_units {
        for component in &header.components {
            let dc = &header.codes[usize::from(component.tables >> 4)];
            let ac = &header.codes[4 + usize::from(component.tables & 15)];
            let (h, v) = factors(component);
            for _ in 0..h * v {
                n_symbols += count_block(bits, dc, ac)?;
            }
        }
    }
    Ok(n_symbols)
}

fn count_block(bits: &mut Bits, dc: &Codes, ac: &Codes) -> Result<u64, String> {
    let size = bits.symbol(dc)?;
    bits.skip(size);
    let (mut n_symbols, mut position) = (1, 1);
    while position < 64 {
        let symbol = bits.symbol(ac)?;
        n_symbols += 1;
        match (symbol >> 4, symbol & 15) {
            (15, 0) => position += 16,
            (_, 0) => break,
            (run, size) => {
                bits.skip(size);
                position += usize::from(run) + 1;
            }
        }
    }
    if position > 64 { Err("a block of more than 64 coefficients".into()) } else { Ok(n_symbols) }
}

/// The bits of a scan; a stuffed zero after `0xff` is left out, zeros follow the end.
struct Bits<'a> {
    rest: &'a [u8],
    held: u64,
    n_held: u32,
    past_end: u32,
}

impl<'a> Bits<'a> {
    fn new(rest: &'a [u8]) -> Self {
        Bits { rest, held: 0, n_held: 0, past_end: 0 }
    }

    fn symbol(&mut self, codes: &Codes) -> Result<u8, String> {
        while self.n_held < 32 {
            let byte = match *self.rest {
                [0xff, 0, ..] => self.take(2, 0xff),
                [0xff, ..] | [] => self.take(0, 0),
                [byte, ..] => self.take(1, byte),
            };
            self.held = self.held << 8 | u64::from(byte);
            self.n_held += 8;
        }
        let code = codes.get((self.held >> (self.n_held - 16) & 0xffff) as usize);
        let code = *code.filter(|&&it| it > 0).ok_or("a code that is in no table")?;
        self.n_held -= u32::from(code >> 8);
        if self.past_end > 8 { Err("the scan is cut off".into()) } else { Ok(code as u8) }
    }

    fn take(&mut self, n_bytes: usize, byte: u8) -> u8 {
        self.rest = &self.rest[n_bytes..];
        self.past_end += u32::from(n_bytes == 0);
        byte
    }

    fn skip(&mut self, n_bits: u8) {
        self.n_held -= u32::from(n_bits);
    }
}
