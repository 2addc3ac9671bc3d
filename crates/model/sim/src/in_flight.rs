use hardware::Ticket;
use state_machine::Slab;

/// Requests or calls in flight with their instance, found by their ticket.
#[derive(Debug)]
pub struct Tickets<T>(Slab<(u32, T)>);

impl<T> Default for Tickets<T> {
    fn default() -> Self {
        Self(Slab::new())
    }
}

impl<T> Tickets<T> {
    /// Stores a request of an instance and returns its ticket.
    #[inline]
    pub fn issue(&mut self, instance: u32, request: T) -> Ticket {
        Ticket(self.0.insert((instance, request)))
    }

    /// Returns all requests or calls in flight, with their instance.
    pub fn under_way(&self) -> impl Iterator<Item = (usize, &T)> {
        self.0.iter().map(|(instance, flight)| (*instance as usize, flight))
    }

    /// Removes a request, and returns it with its instance.
    ///
    /// # Panics
    /// If the ticket is not outstanding. This is a fault of the model, since a request that is
    /// answered twice would count twice in every figure.
    #[inline]
    pub fn redeem(&mut self, ticket: Ticket) -> (u32, T) {
        self.0.remove(ticket.0)
    }
}
