//! One round robin: the classes that compete for one lender's tokens at one priority.

/// Past the last member.
const END: u16 = u16::MAX;

/// Members in the order of their ids, and whose turn it is.
#[derive(Debug)]
pub(super) struct Feed {
    members: Vec<u16>,
    /// The turn is that of the first member from here on; [`END`] begins a new round.
    turn: u16,
}

impl Feed {
    /// Room for `most` members, so that none is made later.
    pub(super) fn new(most: usize) -> Self {
        Self { members: Vec::with_capacity(most), turn: END }
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    pub(super) fn insert(&mut self, class: u16) {
        if let Err(place) = self.members.binary_search(&class) {
            self.members.insert(place, class);
        }
    }

    /// Removes a member. If it was its turn, it is so again after an early return.
    pub(super) fn remove(&mut self, class: u16) {
        if let Ok(place) = self.members.binary_search(&class) {
            self.members.remove(place);
        }
    }

    /// As [`Self::remove`], but a turn passes to the next member for good.
    pub(super) fn remove_and_pass(&mut self, class: u16) {
        if self.turn == class {
            self.advance();
        }
        self.remove(class);
    }

    /// The member whose turn it is; `None` at the end of a round.
    #[inline]
    pub(super) fn current(&mut self) -> Option<u16> {
        let place = self.members.partition_point(|member| *member < self.turn);
        self.turn = self.members.get(place).copied().unwrap_or(END);
        (self.turn != END).then_some(self.turn)
    }

    /// The turn passes to the next member, or the round ends.
    #[inline]
    pub(super) fn advance(&mut self) {
        let place = self.members.partition_point(|member| *member <= self.turn);
        self.turn = self.members.get(place).copied().unwrap_or(END);
    }

    /// A new round.
    #[inline]
    pub(super) fn rewind(&mut self) {
        self.turn = self.members.first().copied().unwrap_or(END);
    }
}
