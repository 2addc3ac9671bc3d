use std::ops::{Index, IndexMut};

/// Values by small numbers, which are reused.
#[derive(Debug)]
pub(crate) struct Slab<T> {
    places: Vec<Option<T>>,
    free: Vec<u32>,
}

impl<T> Slab<T> {
    pub const fn new() -> Self {
        Self { places: Vec::new(), free: Vec::new() }
    }

    pub fn add(&mut self, value: T) -> u32 {
        if let Some(place) = self.free.pop() {
            self.places[place as usize] = Some(value);
            return place;
        }
        self.places.push(Some(value));
        u32::try_from(self.places.len() - 1).expect("fewer than 2^32 at once")
    }

    pub fn get(&self, place: u32) -> Option<&T> {
        self.places.get(place as usize)?.as_ref()
    }

    /// # Panics
    /// If the number is not in use.
    pub fn remove(&mut self, place: u32) -> T {
        let value = self.places[place as usize].take();
        self.free.push(place);
        value.expect("a number that is in use")
    }

    pub fn len(&self) -> usize {
        self.places.len() - self.free.len()
    }

    pub fn numbers(&self) -> Vec<u32> {
        let used = self.places.iter().enumerate().filter(|(_, place)| place.is_some());
        used.map(|(number, _)| u32::try_from(number).expect("fewer than 2^32 at once")).collect()
    }
}

impl<T> Index<u32> for Slab<T> {
    type Output = T;

    fn index(&self, place: u32) -> &T {
        self.places[place as usize].as_ref().expect("a number that is in use")
    }
}

impl<T> IndexMut<u32> for Slab<T> {
    fn index_mut(&mut self, place: u32) -> &mut T {
        self.places[place as usize].as_mut().expect("a number that is in use")
    }
}
