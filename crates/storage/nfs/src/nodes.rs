use std::collections::BTreeMap;
use std::sync::Arc;

/// NFS handle of a file or directory.
pub(crate) type Handle = Arc<[u8]>;

/// Number of the root for the kernel (`FUSE_ROOT_ID`).
pub(crate) const ROOT: u64 = 1;
/// First number for files whose own number is in use for another file.
const OTHERS: u64 = 1 << 62;

/// Files that the kernel knows, by number.
///
/// The number of a file is its number on the server, so that it is the same for every mount. If a
/// file of another file system below the export has a number that is already in use, it gets
/// another number.
#[derive(Debug)]
pub(crate) struct Nodes {
    by_number: BTreeMap<u64, Node>,
    by_handle: BTreeMap<Handle, u64>,
    next: u64,
}

#[derive(Debug)]
struct Node {
    handle: Handle,
    /// Number of lookups by the kernel that it has not forgotten yet.
    told: u64,
}

impl Nodes {
    pub fn new(root: Handle) -> Self {
        let by_handle = BTreeMap::from([(Arc::clone(&root), ROOT)]);
        let by_number = BTreeMap::from([(ROOT, Node { handle: root, told: 1 })]);
        Self { by_number, by_handle, next: OTHERS }
    }

    /// Returns the handle of the file with this number.
    pub fn handle(&self, number: u64) -> Option<Handle> {
        self.by_number.get(&number).map(|node| Arc::clone(&node.handle))
    }

    /// Returns the number of a file, and counts a lookup by the kernel. `own` is the file's number
    /// on the server.
    pub fn tell(&mut self, handle: &Handle, own: u64) -> u64 {
        let known = self.by_handle.get(handle).copied();
        let number = known.unwrap_or_else(|| self.free(own));
        let node = self.by_number.entry(number);
        node.or_insert_with(|| Node { handle: Arc::clone(handle), told: 0 }).told += 1;
        self.by_handle.insert(Arc::clone(handle), number);
        number
    }

    fn free(&mut self, own: u64) -> u64 {
        if own > ROOT && own < OTHERS && !self.by_number.contains_key(&own) {
            return own;
        }
        self.next += 1;
        self.next
    }

    /// Records that the kernel has forgotten `times` lookups of this number.
    pub fn forget(&mut self, number: u64, times: u64) {
        let Some(node) = self.by_number.get_mut(&number) else { return };
        node.told = node.told.saturating_sub(times);
        if node.told == 0 && number != ROOT {
            let handle = Arc::clone(&node.handle);
            self.by_number.remove(&number);
            self.by_handle.remove(&handle);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_keeps_its_number_until_every_lookup_is_forgotten() {
        let [root, a, b] = [b"r", b"a", b"b"].map(|name| Handle::from(&name[..]));
        let mut nodes = Nodes::new(root);
        assert_eq!((nodes.tell(&a, 7), nodes.tell(&a, 7)), (7, 7));
        let other = nodes.tell(&b, 7);
        assert!(other > OTHERS, "another file has its number");
        assert!(nodes.tell(&Handle::from(&b"c"[..]), 1) > OTHERS, "1 is the root's");
        nodes.forget(7, 1);
        assert_eq!(nodes.handle(7), Some(a));
        nodes.forget(7, 1);
        assert_eq!((nodes.handle(7), nodes.handle(other)), (None, Some(b)));
        nodes.forget(ROOT, 99);
        assert!(nodes.handle(ROOT).is_some());
    }
}
