//! Things under way, found by a dense number.

/// Values in places that are used again, newest free place first.
#[derive(Debug, Default)]
pub struct Slab<T> {
    places: Vec<Option<T>>,
    free: Vec<u32>,
}

impl<T> Slab<T> {
    /// An empty slab.
    pub const fn new() -> Self {
        Self { places: Vec::new(), free: Vec::new() }
    }

    /// Keeps a value and says where.
    #[inline]
    pub fn insert(&mut self, value: T) -> u32 {
        if let Some(place) = self.free.pop() {
            self.places[place as usize] = Some(value);
            return place;
        }
        self.places.push(Some(value));
        u32::try_from(self.places.len() - 1).expect("fewer than 2^32 are under way")
    }

    /// The value at a place in use; another place is a fault of the caller, and panics.
    #[inline]
    pub fn get_mut(&mut self, place: u32) -> &mut T {
        self.places[place as usize].as_mut().expect("the place is in use")
    }

    /// Takes the value out of a place in use, which is free from then on.
    #[inline]
    pub fn remove(&mut self, place: u32) -> T {
        self.free.push(place);
        self.places[place as usize].take().expect("the place is in use")
    }
}
