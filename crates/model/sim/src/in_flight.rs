use hardware::Ticket;

/// Requests or calls in flight, found by their ticket.
#[derive(Debug)]
pub struct Tickets<T> {
    places: Vec<(u32, Option<T>)>,
    free: Vec<u32>,
}

impl<T> Default for Tickets<T> {
    fn default() -> Self {
        Self { places: Vec::new(), free: Vec::new() }
    }
}

impl<T> Tickets<T> {
    /// Stores a request of an instance and returns its ticket.
    #[inline]
    pub fn issue(&mut self, instance: u32, request: T) -> Ticket {
        if let Some(place) = self.free.pop() {
            self.places[place as usize] = (instance, Some(request));
            return Ticket(place);
        }
        self.places.push((instance, Some(request)));
        Ticket(
            u32::try_from(self.places.len() - 1).expect("fewer than 2^32 requests are in flight"),
        )
    }

    /// Returns all requests or calls in flight, with their instance.
    pub fn under_way(&self) -> impl Iterator<Item = (usize, &T)> {
        self.places
            .iter()
            .filter_map(|(instance, flight)| Some((*instance as usize, flight.as_ref()?)))
    }

    /// Removes a request, and returns it with its instance.
    #[inline]
    pub fn redeem(&mut self, ticket: Ticket) -> (u32, T) {
        // A ticket that is not outstanding is a fault of the model. It panics, since a request that
        // is answered twice would count twice in every figure.
        let (instance, request) = &mut self.places[ticket.0 as usize];
        let request = request.take().expect("a request is answered exactly once");
        self.free.push(ticket.0);
        (*instance, request)
    }
}
