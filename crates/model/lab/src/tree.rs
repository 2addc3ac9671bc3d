use std::collections::{BTreeMap, HashMap};
use std::ffi::{OsStr, OsString};
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

use rustix::io::Errno;

use crate::content::Content;

/// Number of the root directory, given by FUSE.
pub const ROOT: u64 = 1;

/// Names, directories and files.
#[derive(Debug)]
pub struct Tree {
    nodes: HashMap<u64, Node>,
    last: u64,
}

/// Directory or file.
#[derive(Debug)]
pub struct Node {
    /// Content of the node.
    pub body: Body,
    /// Directory that contains its name, or contained its last name.
    pub parent: u64,
    name: OsString,
    /// True if a directory contains its name.
    pub is_named: bool,
    /// Number of lookups by the kernel that the kernel has not forgotten.
    lookups: u64,
    /// Number of open descriptors.
    pub opens: u64,
    /// True if its name is removed when it is closed.
    pub is_hidden: bool,
    /// Permissions.
    pub mode: u32,
    /// Owner and group.
    pub owner: (u32, u32),
    /// Time of the last change of its bytes or names.
    pub modified: SystemTime,
    /// Time of the last access, as set by a program.
    pub accessed: SystemTime,
}

/// Content of a node.
#[derive(Debug)]
pub enum Body {
    /// Names of a directory.
    Directory(BTreeMap<OsString, u64>),
    /// Bytes of a file.
    File(Arc<Mutex<Content>>),
}

impl Node {
    fn new(body: Body, mode: u32, owner: (u32, u32)) -> Self {
        let now = SystemTime::now();
        Self {
            body,
            parent: ROOT,
            name: OsString::new(),
            is_named: true,
            lookups: 0,
            opens: 0,
            is_hidden: false,
            mode: mode & 0o7777,
            owner,
            modified: now,
            accessed: now,
        }
    }

    /// Returns the names in a directory.
    pub fn names(&self) -> Result<&BTreeMap<OsString, u64>, Errno> {
        match &self.body {
            Body::Directory(names) => Ok(names),
            Body::File(_) => Err(Errno::NOTDIR),
        }
    }

    /// Returns the content of a file.
    pub fn content(&self) -> Result<&Arc<Mutex<Content>>, Errno> {
        match &self.body {
            Body::File(content) => Ok(content),
            Body::Directory(_) => Err(Errno::ISDIR),
        }
    }
}

/// Contents of files that can no longer be reached.
pub type Gone = Vec<Arc<Mutex<Content>>>;

impl Tree {
    /// Creates a tree with an empty root directory.
    pub fn new(owner: (u32, u32)) -> Self {
        let root = Node::new(Body::Directory(BTreeMap::new()), 0o755, owner);
        Self { nodes: HashMap::from([(ROOT, root)]), last: ROOT }
    }

    /// Returns a node by its number.
    pub fn node(&self, number: u64) -> Result<&Node, Errno> {
        self.nodes.get(&number).ok_or(Errno::NOENT)
    }

    /// Returns a node by its number, to change it.
    pub fn node_mut(&mut self, number: u64) -> Result<&mut Node, Errno> {
        self.nodes.get_mut(&number).ok_or(Errno::NOENT)
    }

    /// Returns the number of the node with this name in a directory.
    pub fn find(&self, parent: u64, name: &OsStr) -> Result<u64, Errno> {
        self.node(parent)?.names()?.get(name).copied().ok_or(Errno::NOENT)
    }

    /// Counts a lookup by the kernel.
    pub fn looked_up(&mut self, number: u64) {
        if let Some(node) = self.nodes.get_mut(&number) {
            node.lookups += 1;
        }
    }

    /// Subtracts lookups that the kernel has forgotten.
    pub fn forgotten(&mut self, number: u64, times: u64) -> Gone {
        if let Some(node) = self.nodes.get_mut(&number) {
            node.lookups = node.lookups.saturating_sub(times);
        }
        self.drop_unreachable(number)
    }

    /// Adds a node with a name, and returns its number.
    pub fn add(
        &mut self,
        (parent, name): (u64, &OsStr),
        body: Body,
        (mode, owner): (u32, (u32, u32)),
    ) -> Result<u64, Errno> {
        if name.len() > 255 {
            return Err(Errno::NAMETOOLONG);
        }
        if self.node(parent)?.names()?.contains_key(name) {
            return Err(Errno::EXIST);
        }
        self.last += 1;
        let number = self.last;
        self.nodes.insert(number, Node::new(body, mode, owner));
        self.put(parent, name, number)?;
        Ok(number)
    }

    /// Removes a name from its directory. The node stays as long as it is open or looked up.
    pub fn remove(&mut self, parent: u64, name: &OsStr) -> Result<Gone, Errno> {
        let number = self.find(parent, name)?;
        self.names_mut(parent)?.remove(name);
        self.node_mut(number)?.is_named = false;
        Ok(self.drop_unreachable(number))
    }

    /// Renames a node; an existing node with the new name loses that name.
    pub fn rename(
        &mut self,
        from: (u64, &OsStr),
        to: (u64, &OsStr),
        keep: bool,
    ) -> Result<Gone, Errno> {
        let number = self.find(from.0, from.1)?;
        let mut gone = Gone::new();
        if from == to {
            return Ok(gone);
        }
        match self.find(to.0, to.1) {
            Err(Errno::NOENT) => {}
            Err(error) => return Err(error),
            Ok(_) if keep => return Err(Errno::EXIST),
            Ok(other) => {
                let is_directory = |node: &Node| node.names().is_ok();
                match (is_directory(self.node(number)?), self.node(other)?.names()) {
                    (true, Err(_)) => return Err(Errno::NOTDIR),
                    (false, Ok(_)) => return Err(Errno::ISDIR),
                    (true, Ok(names)) if !names.is_empty() => return Err(Errno::NOTEMPTY),
                    _ => gone = self.remove(to.0, to.1)?,
                }
            }
        }
        self.names_mut(from.0)?.remove(from.1);
        self.put(to.0, to.1, number)?;
        Ok(gone)
    }

    fn put(&mut self, parent: u64, name: &OsStr, number: u64) -> Result<(), Errno> {
        self.names_mut(parent)?.insert(name.to_owned(), number);
        let node = self.node_mut(number)?;
        (node.parent, node.name, node.is_named) = (parent, name.to_owned(), true);
        Ok(())
    }

    fn names_mut(&mut self, number: u64) -> Result<&mut BTreeMap<OsString, u64>, Errno> {
        let node = self.node_mut(number)?;
        node.modified = SystemTime::now();
        match &mut node.body {
            Body::Directory(names) => Ok(names),
            Body::File(_) => Err(Errno::NOTDIR),
        }
    }

    fn drop_unreachable(&mut self, number: u64) -> Gone {
        let is_gone = |node: &Node| !node.is_named && node.lookups == 0 && node.opens == 0;
        if !self.nodes.get(&number).is_some_and(is_gone) {
            return Gone::new();
        }
        let body = self.nodes.remove(&number).map(|node| node.body);
        match body {
            Some(Body::File(content)) => vec![content],
            _ => Gone::new(),
        }
    }

    /// Counts an opened file.
    pub fn opened(&mut self, number: u64) -> Result<(), Errno> {
        let node = self.node_mut(number)?;
        node.content()?;
        node.opens += 1;
        Ok(())
    }

    /// Counts a closed file; a hidden file then loses its name.
    pub fn closed(&mut self, number: u64) -> Gone {
        let Some(node) = self.nodes.get_mut(&number) else { return Gone::new() };
        node.opens = node.opens.saturating_sub(1);
        if node.is_hidden && node.opens == 0 && node.is_named {
            let (parent, name) = (node.parent, node.name.clone());
            return self.remove(parent, &name).unwrap_or_default();
        }
        self.drop_unreachable(number)
    }

    /// Hides a file under another name, as network file systems and libfuse do with open unlinked
    /// files: `.fuse_hidden`, the node's number and a zero, both in hexadecimal.
    pub fn hide(&mut self, parent: u64, name: &OsStr) -> Result<OsString, Errno> {
        let number = self.find(parent, name)?;
        let hidden = OsString::from(format!(".fuse_hidden{number:08x}{:08x}", 0));
        self.rename((parent, name), (parent, &hidden), true)?;
        self.node_mut(number)?.is_hidden = true;
        Ok(hidden)
    }

    /// Returns the path of a node below the root.
    pub fn path(&self, number: u64) -> String {
        let mut names = Vec::new();
        let mut at = number;
        while let Some(node) = self.nodes.get(&at).filter(|_| at != ROOT) {
            names.push(node.name.to_string_lossy());
            at = node.parent;
        }
        names.reverse();
        names.join("/")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file() -> Body {
        let content = Content::new(tempfile::tempfile().expect("a file"));
        Body::File(Arc::new(Mutex::new(content)))
    }

    fn tree() -> (Tree, u64) {
        let mut tree = Tree::new((0, 0));
        let number = tree.add((ROOT, "a".as_ref()), file(), (0o600, (0, 0))).expect("added");
        tree.looked_up(number);
        (tree, number)
    }

    #[test]
    fn an_unlinked_file_is_there_until_it_is_closed_and_forgotten() {
        let (mut tree, number) = tree();
        tree.opened(number).expect("opens");
        assert!(tree.remove(ROOT, "a".as_ref()).expect("removed").is_empty());
        assert_eq!(tree.find(ROOT, "a".as_ref()), Err(Errno::NOENT));
        assert!(tree.closed(number).is_empty());
        assert_eq!(tree.forgotten(number, 1).len(), 1);
        assert!(tree.node(number).is_err());
    }

    #[test]
    fn a_hidden_file_keeps_a_name_until_it_is_closed() {
        let (mut tree, number) = tree();
        tree.opened(number).expect("opens");
        let hidden = tree.hide(ROOT, "a".as_ref()).expect("hidden");
        assert!(hidden.to_string_lossy().starts_with(".fuse_hidden"));
        assert_eq!(tree.find(ROOT, &hidden), Ok(number));
        tree.closed(number);
        assert_eq!(tree.find(ROOT, &hidden), Err(Errno::NOENT));
    }

    #[test]
    fn renaming_replaces_a_file_and_no_full_directory() {
        let (mut tree, a) = tree();
        let b = tree.add((ROOT, "b".as_ref()), file(), (0o600, (0, 0))).expect("added");
        let both = [(ROOT, OsStr::new("a")), (ROOT, OsStr::new("b"))];
        assert_eq!(tree.rename(both[0], both[1], true).err(), Some(Errno::EXIST));
        assert_eq!(tree.rename(both[0], both[1], false).expect("renamed").len(), 1);
        assert!(tree.node(b).is_err());
        let directory = Body::Directory(BTreeMap::new());
        let c = tree.add((ROOT, "c".as_ref()), directory, (0o700, (0, 0))).expect("added");
        tree.rename(both[1], (c, "a".as_ref()), false).expect("renamed");
        assert_eq!(tree.path(a), "c/a");
        let directory = Body::Directory(BTreeMap::new());
        tree.add((ROOT, "d".as_ref()), directory, (0o700, (0, 0))).expect("added");
        let onto = tree.rename((ROOT, "d".as_ref()), (ROOT, "c".as_ref()), false);
        assert_eq!(onto.err(), Some(Errno::NOTEMPTY));
    }
}
