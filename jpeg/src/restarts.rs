//! Restart markers, which part the code of a scan (ITU-T T.81, B.2.1).

/// When restart markers are due.
pub(crate) struct Restarts {
    interval: usize,
    left: usize,
    next: u8,
}

impl Restarts {
    pub(crate) fn new(interval: usize) -> Self {
        Self { interval, left: interval, next: 0 }
    }

    /// Goes to before an MCU, behind the marker that may stand there.
    pub(crate) fn begin_at(&mut self, mcu: usize) {
        if let (Some(markers), Some(read)) =
            (mcu.checked_div(self.interval), mcu.checked_rem(self.interval))
        {
            (self.next, self.left) = ((markers & 7) as u8, self.interval - read);
        }
    }

    pub(crate) fn is_due(&self) -> bool {
        self.interval > 0 && self.left == 0
    }

    /// MCUs before the next.
    pub(crate) fn left(&self) -> usize {
        if self.interval == 0 { usize::MAX } else { self.left }
    }

    pub(crate) fn count(&mut self, mcus: usize) {
        self.left = self.left.saturating_sub(mcus);
    }

    /// The marker that is due; the interval begins again.
    pub(crate) fn next_marker(&mut self) -> u8 {
        let marker = 0xD0 + self.next;
        (self.next, self.left) = ((self.next + 1) & 7, self.interval);
        marker
    }
}

/// The marker at `at`, behind fill bytes, and what follows it.
pub(crate) fn marker_at(bytes: &[u8], at: usize) -> Option<(u8, usize)> {
    let fill = bytes.get(at..)?.iter().take_while(|&&it| it == 0xFF).count();
    let marker = *bytes.get(at + fill)?;
    (fill > 0).then_some((marker, at + fill + 1))
}
