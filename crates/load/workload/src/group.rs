use std::collections::VecDeque;

use state_machine::Stream;
use units::Nanos;

use crate::draw::Draw;
use crate::pick::Pick;
use crate::rhythm::Rhythm;
use crate::window::Windows;

/// Actions with their weights.
#[derive(Debug, Clone)]
pub struct Mix {
    pub pick: Pick,
    pub actions: Box<[u16]>,
}

impl Mix {
    #[inline]
    fn draw(&self, stream: &mut Stream) -> u16 {
        self.actions[self.pick.draw(stream)]
    }
}

/// Users that behave alike.
#[derive(Debug, Clone)]
pub struct Group {
    /// Position of the VM that executes the users' CPU steps.
    pub vm: u16,
    pub load: Load,
    pub windows: Windows,
    pub mix: Mix,
    /// Intervals with a different mix. If several apply, the first one listed wins.
    pub phases: Box<[(Windows, Mix)]>,
}

impl Group {
    /// Draws the next action of a user that starts one now.
    #[inline]
    pub fn action(&self, now: Nanos, stream: &mut Stream) -> u16 {
        let phase = self.phases.iter().find(|(windows, _)| windows.is_active(now));
        phase.map_or(&self.mix, |(_, mix)| mix).draw(stream)
    }

    /// Returns the start of a closed user that is ready at `at`: that time, or a time in the next
    /// window. After a pause, users do not all start at once. Each starts at a random part of its
    /// think time, as if it had been thinking when the window opened.
    pub fn closed_start(&self, at: Nanos, think: Draw, stream: &mut Stream) -> Option<Nanos> {
        if self.windows.is_active(at) {
            return Some(at);
        }
        let opening = self.windows.next_active(at)?;
        let start = opening.saturating_add(think.part(stream));
        Some(if self.windows.is_active(start) { start } else { opening })
    }
}

/// Arrival process of a group's actions.
#[derive(Debug, Clone)]
pub enum Load {
    Closed { think: Draw },
    Paced { pace: Pace, backlog: usize },
    Open(Box<Arrivals>),
}

/// Grid of intended starts, in the group's active time.
#[derive(Debug, Clone, Copy)]
pub struct Pace {
    /// Interval between the intended starts of one user, in nanoseconds; infinite for a rate of
    /// zero.
    pub period_ns: f64,
}

impl Pace {
    /// Draws a user's random phase.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "float casts saturate"
    )]
    pub fn phase(&self, stream: &mut Stream) -> Nanos {
        Nanos((stream.unit() * self.period_ns.min(1e18)) as u64)
    }

    /// Returns the active time of the intended start with this number. It is computed by
    /// multiplication, not by summation, so that rounding errors do not accumulate.
    #[inline]
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "counts below 2^53; float casts saturate"
    )]
    pub fn start(&self, phase: Nanos, number: u64) -> Option<Nanos> {
        self.period_ns
            .is_finite()
            .then(|| phase.saturating_add(Nanos((self.period_ns * number as f64) as u64)))
    }
}

/// Arrivals, and the users that are free for them.
#[derive(Debug, Clone)]
pub struct Arrivals {
    pub stream: Stream,
    pub rhythm: Rhythm,
    /// Active time of the next arrival, in nanoseconds.
    pub next_active_ns: f64,
    /// Time of the next arrival; `Nanos::MAX` if there is none.
    pub next: Nanos,
    /// Maximum number of actions in progress, and also maximum number of waiting arrivals.
    pub limit: usize,
    /// Number of users created so far.
    pub made: usize,
    /// Users without an action.
    pub free: Vec<u32>,
    pub waiting: VecDeque<Nanos>,
}

impl Arrivals {
    pub fn new(stream: Stream, rhythm: Rhythm, limit: u32) -> Self {
        Self {
            stream,
            rhythm,
            next_active_ns: 0.0,
            next: Nanos::MAX,
            limit: limit.max(1) as usize,
            made: 0,
            free: Vec::new(),
            waiting: VecDeque::new(),
        }
    }

    /// Draws arrivals up to the first arrival at or after `begin`.
    pub fn draw_from(&mut self, begin: Nanos, windows: &Windows) -> Option<Nanos> {
        loop {
            let next = self.draw(windows)?;
            if next >= begin {
                return Some(next);
            }
        }
    }

    /// Draws the next arrival; `None` if the group is never active again. A Poisson process has no
    /// memory, so with pauses outside windows it is still a Poisson process in active time. Other
    /// interarrival times continue where they were when the window closed.
    #[inline]
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "float casts saturate"
    )]
    pub fn draw(&mut self, windows: &Windows) -> Option<Nanos> {
        self.next = Nanos::MAX;
        self.next_active_ns = self.rhythm.next(self.next_active_ns, &mut self.stream)?;
        self.next = windows.at_active(Nanos(self.next_active_ns as u64))?;
        Some(self.next)
    }

    /// Calls `each` for arrivals before `now` that were not processed yet. They are drawn from
    /// copies of the random streams, so that the same arrivals are drawn again later.
    pub fn due_before(&self, now: Nanos, windows: &Windows, mut each: impl FnMut(Nanos)) {
        if self.next >= now {
            return;
        }
        let (stream, rhythm) = (self.stream.clone(), self.rhythm.clone());
        let mut ahead = Self::new(stream, rhythm, 1);
        (ahead.next, ahead.next_active_ns) = (self.next, self.next_active_ns);
        while ahead.next < now {
            each(ahead.next);
            ahead.draw(windows);
        }
    }
}
