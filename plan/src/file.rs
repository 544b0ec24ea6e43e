//! A file that a program names as an argument: what it holds is part of the plan, where it lies is not.

use crate::{Arg, Code, Expr, Graph, OpKind, Plan, Program};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::{
    any::{Any, TypeId},
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

/// A file with its contents, or one of which nobody has read them.
///
/// Two files are equal exactly if they hold the same bytes. Nothing shows these: text and JSON of a plan have their
/// hash, so they can be as large as [`File::BYTES_MAX`].
#[derive(Clone)]
pub struct File {
    hash: [u8; 16],
    path: Arc<str>,
    /// Behind a pointer, so that arguments can stand in a `static`.
    contents: Arc<OnceLock<Arc<Contents>>>,
}

/// The bytes of a file, and what was made of them.
struct Contents {
    bytes: Box<[u8]>,
    made: Mutex<HashMap<TypeId, Box<dyn Any + Send>>>,
}

impl File {
    /// Bytes of a file, at the most.
    pub const BYTES_MAX: u64 = 64 << 20;

    /// The file that is called `path` and holds these bytes.
    pub fn new(path: &str, bytes: Vec<u8>) -> Self {
        let contents = Contents { bytes: bytes.into(), made: Mutex::default() };
        let hash = hash_of(&contents.bytes);
        Self { hash, path: path.into(), contents: Arc::new(Arc::new(contents).into()) }
    }

    /// A file that nobody reads: a program that names it can be looked at, and not be run.
    pub fn unread(path: &str) -> Self {
        let hash = hash_of(format!("the file {path}, unread").as_bytes());
        Self { hash, path: path.into(), contents: Arc::default() }
    }

    /// What it is called, as the program says.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The same bytes under another name.
    #[must_use]
    pub fn named(&self, path: &str) -> Self {
        Self { path: path.into(), ..self.clone() }
    }

    /// Of its bytes: BLAKE3, the first 128 bits.
    pub fn hash(&self) -> [u8; 16] {
        self.hash
    }

    /// What it holds; none where nobody has read it.
    pub fn bytes(&self) -> Option<&[u8]> {
        self.contents.get().map(|it| &*it.bytes)
    }

    /// Gives a file that was read back without its contents those of `other`, if they are its own.
    ///
    /// # Errors
    /// They are those of another file.
    pub fn fill(&self, other: &Self) -> Result<(), String> {
        match other.contents.get() {
            Some(contents) if self == other => {
                // Contents of the same hash may be there already.
                let _ = self.contents.set(contents.clone());
                Ok(())
            }
            _ => Err(format!("the contents of `{}` are missing", self.path)),
        }
    }

    /// What `make` makes of its bytes, once for all that name the file, in whatever plan; none where nobody has read
    /// it.
    ///
    /// # Errors
    /// What `make` says is wrong with them.
    pub fn made<T: Any + Send + Sync>(
        &self,
        make: impl FnOnce(&[u8]) -> Result<T, String>,
    ) -> Option<Result<Arc<T>, String>> {
        let contents = self.contents.get()?;
        // Who asks for it meanwhile waits, and does not make it as well.
        let mut made = contents.made.lock().unwrap_or_else(PoisonError::into_inner);
        let it = made
            .entry(TypeId::of::<T>())
            .or_insert_with(|| Box::new(make(&contents.bytes).map(Arc::new)));
        let it: &Result<Arc<T>, String> = it.downcast_ref().expect("it is found by its type");
        Some(it.clone())
    }
}

fn hash_of(bytes: &[u8]) -> [u8; 16] {
    let hash = blake3::hash(bytes);
    *hash.as_bytes().first_chunk().expect("a hash has more bytes")
}

impl PartialEq for File {
    fn eq(&self, other: &Self) -> bool {
        self.hash == other.hash
    }
}

impl Eq for File {}

impl fmt::Display for File {
    /// The hash, in hexadecimal digits.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.hash.iter().try_for_each(|it| write!(f, "{it:02x}"))
    }
}

impl fmt::Debug for File {
    /// By the hash alone: equal calls of a graph are found by what this says.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "File({self})")
    }
}

impl Serialize for File {
    /// The hash; with the path where nobody reads it, as in a built file.
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match to.is_human_readable() {
            true => to.collect_str(self),
            false => (self.hash, &*self.path).serialize(to),
        }
    }
}

impl<'de> Deserialize<'de> for File {
    /// The same file without its contents.
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let (hash, path) = match from.is_human_readable() {
            true => {
                let text = String::deserialize(from)?;
                let number = u128::from_str_radix(&text, 16).ok().filter(|_| text.len() == 32);
                let number = number.ok_or_else(|| de::Error::custom("a file is no hash"))?;
                (number.to_be_bytes(), String::new())
            }
            false => <([u8; 16], String)>::deserialize(from)?,
        };
        Ok(Self { hash, path: path.into(), contents: Arc::default() })
    }
}

/// The files among arguments.
fn among(args: &[Arg]) -> impl Iterator<Item = &File> {
    args.iter().filter_map(|it| if let Arg::File(it) = it { Some(it) } else { None })
}

impl Graph {
    /// The files that its calls name, as often as they do.
    pub fn files(&self) -> impl Iterator<Item = &File> {
        self.iter().flat_map(|(_, expr, _)| match expr {
            Expr::Call { args, .. } => among(args),
            _ => among(&[]),
        })
    }
}

impl Plan {
    /// The files that its steps name, as often as they do; those that sources read records from are none of them.
    pub fn files(&self) -> impl Iterator<Item = &File> {
        self.ops.rows().iter().flat_map(|op| {
            let own = match &op.kind {
                OpKind::Source { args, .. } | OpKind::Operator { args, .. } => among(args),
                _ => among(&[]),
            };
            own.chain(op.graph.files())
        })
    }
}

impl Program {
    /// The files that its stages name, as often as they do.
    pub fn files(&self) -> impl Iterator<Item = &File> {
        self.stages.rows().iter().flat_map(|stage| {
            let (args, graph): (&[Arg], _) = match &stage.code {
                Code::Source { args, windows, .. } => {
                    let series = windows.as_ref().and_then(|it| it.series.as_ref());
                    (args, series.map(|it| &it.transform.graph))
                }
                Code::Operator { args, .. } => (args, None),
                Code::Transform(it) => (&[], Some(&it.graph)),
            };
            among(args).chain(graph.into_iter().flat_map(Graph::files))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_what_it_holds() {
        let a = File::new("a", b"cat\n".to_vec());
        let same = File::new("elsewhere/b", b"cat\n".to_vec());
        assert_eq!(a, same);
        assert_eq!(format!("{:?}", Arg::File(a.clone())), format!("{:?}", Arg::File(same)));
        assert_ne!(a, File::new("a", b"cat".to_vec()));
        assert_ne!(File::unread("a"), File::unread("b"));
        assert_ne!(File::unread("a"), a);
        assert_eq!((File::unread("a").bytes(), a.bytes()), (None, Some(&b"cat\n"[..])));
        assert!(!format!("{a:?}").contains("cat"));
    }

    #[test]
    fn it_is_made_once() {
        let file = File::new("a", b"12".to_vec());
        let number = |bytes: &[u8]| {
            str::from_utf8(bytes).unwrap().parse::<u8>().map_err(|it| it.to_string())
        };
        assert_eq!(file.made(number), Some(Ok(Arc::new(12))));
        let again = file.named("b").made::<u8>(|_| unreachable!("it is made already"));
        assert_eq!(again, Some(Ok(Arc::new(12))));
        assert_eq!(file.made(|it| Ok(it.len())), Some(Ok(Arc::new(2_usize))));
        let wrong = File::new("a", b"x".to_vec());
        assert_eq!(wrong.made(number), Some(Err("invalid digit found in string".to_owned())));
        assert_eq!(File::unread("a").made(number), None);
    }

    #[test]
    fn only_its_own_contents_fill_it() {
        let file = File::new("a", b"cat".to_vec());
        let empty = File { contents: Arc::default(), ..file.clone() };
        assert!(empty.fill(&File::new("a", b"dog".to_vec())).is_err());
        assert!(empty.fill(&empty.clone()).is_err());
        assert_eq!(empty.bytes(), None);
        empty.fill(&file).unwrap();
        assert_eq!(empty.bytes(), Some(&b"cat"[..]));
    }
}
