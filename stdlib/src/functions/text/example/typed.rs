//! Some features of a `tf.train.Example`, all found in one pass, as rows of columns with types.
//!
//! What is read here is what [`super::feature`] and `as_feature` give of the same message, one by one. Where one of them
//! would give a fault, or the message is not laid out as every writer does it, nothing is read, and who asks finds value or
//! fault there.

use super::{super::as_feature, Feature};
use crate::protobuf::Message;
use plan::{DType, Extent, Type};
use runtime::{Builder, Out};

/// Features that can be wanted.
const FEATURES_MAX: usize = 64;
/// Names of features that are remembered from one message to the next, and the bytes of one.
const NAMES_MAX: usize = 256;
const NAME_MAX: usize = 256;

/// Which features of an example are wanted, and the columns that they are rows of.
#[derive(Debug, Default)]
pub(crate) struct Features {
    all: Vec<Wanted>,
}

#[derive(Debug)]
struct Wanted {
    name: Vec<u8>,
    column: usize,
    dtype: DType,
    shape: Vec<Extent>,
}

/// The names of the last message's features, and which of those that are wanted each is: the next message has the same,
/// as a rule.
#[derive(Debug, Default)]
pub(crate) struct Names {
    all: Vec<(Vec<u8>, Option<usize>)>,
}

impl Features {
    /// Wants the feature at `pointer` (RFC 6901, of one name) as rows of the column `column`.
    ///
    /// # Errors
    /// Why that cannot be.
    pub(crate) fn want(
        &mut self,
        pointer: &str,
        (column, ty): (usize, &Type),
    ) -> Result<(), String> {
        let name = pointer.strip_prefix('/').ok_or("it does not begin with `/`")?;
        if name.contains('/') {
            return Err("features have no members".to_owned());
        }
        let name = name.replace("~1", "/").replace("~0", "~").into_bytes();
        if self.all.iter().any(|it| it.name == name) {
            return Err("it is listed twice".to_owned());
        }
        if self.all.len() == FEATURES_MAX {
            return Err(format!("it is one of more than {FEATURES_MAX} features"));
        }
        let (dtype, shape) = ty.dtype().zip(ty.shape()).ok_or("it is no tensor")?;
        as_feature::check(shape, false)?;
        if dtype.is_text() {
            return Err("it is a text".to_owned());
        }
        self.all.push(Wanted { name, column, dtype, shape: shape.to_vec() });
        Ok(())
    }

    /// Appends to each column the value that the message has for it; `false` where one of them cannot be read, and then
    /// some columns may have a row more.
    pub(crate) fn read(&self, example: &[u8], names: &mut Names, columns: &mut [Builder]) -> bool {
        self.append(example, names, columns).is_some()
    }

    fn append(&self, example: &[u8], names: &mut Names, columns: &mut [Builder]) -> Option<()> {
        let mut missing = u64::MAX.checked_shr((FEATURES_MAX - self.all.len()) as u32).unwrap_or(0);
        let mut entries = Message::new(Message::new(example).only(1)?);
        let mut at = 0;
        while !entries.is_over() {
            let (name, value) = name_and_value(entries.next_bytes(1)?)?;
            if let Some(which) = names.which(at, name, self) {
                // The last one of the same name would count.
                let is_first = missing >> which & 1 == 1;
                missing &= !(1 << which);
                let wanted = is_first.then_some(&self.all[which])?;
                let feature = Feature::new(value).ok()?;
                let mut out = Out::row(&mut columns[wanted.column]);
                as_feature::write(wanted.dtype, (feature, &wanted.shape), &mut out)?;
            }
            at += 1;
        }
        (missing == 0).then_some(())
    }
}

impl Names {
    /// Which of the wanted features the `at`th one of a message is, if it is one.
    fn which(&mut self, at: usize, name: &[u8], features: &Features) -> Option<usize> {
        if let Some((known, which)) = self.all.get(at)
            && known == name
        {
            return *which;
        }
        let which = features.all.iter().position(|it| it.name == name);
        if at < NAMES_MAX && name.len() <= NAME_MAX {
            self.all.truncate(at);
            self.all.push((name.to_vec(), which));
        }
        which
    }
}

/// The key and the value of an entry of a map, where they come in this order, and nothing else does.
fn name_and_value(entry: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut fields = Message::new(entry);
    let (name, value) = (fields.next_bytes(1)?, fields.next_bytes(2)?);
    fields.is_over().then_some((name, value))
}

#[cfg(test)]
mod tests {
    use super::super::feature;
    use super::*;
    use runtime::{Column, Pool, Scratch};

    fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
        [&[number << 3 | 2, bytes.len() as u8], bytes].concat()
    }

    /// A feature of packed numbers, each of one byte.
    fn ints(all: &[u8]) -> Vec<u8> {
        field(3, &field(1, all))
    }

    fn floats(all: &[f32]) -> Vec<u8> {
        let bytes: Vec<u8> = all.iter().flat_map(|it| it.to_le_bytes()).collect();
        field(2, &field(1, &bytes))
    }

    fn entry(name: &str, feature: &[u8]) -> Vec<u8> {
        field(1, &[field(1, name.as_bytes()), field(2, feature)].concat())
    }

    fn example(entries: &[Vec<u8>]) -> Vec<u8> {
        field(1, &entries.concat())
    }

    fn types() -> [(&'static str, Type); 3] {
        let list = |dtype, shape| Type::Tensor { dtype, shape };
        [
            ("a", Type::scalar(DType::I64)),
            ("b", list(DType::F32, vec![Extent::Known(2)])),
            ("c", list(DType::U8, vec![Extent::Unknown, Extent::Known(2)])),
        ]
    }

    /// The rows of the columns, as they are read with the message; none where they are not.
    fn read(message: &[u8], names: &mut Names) -> Option<Vec<Column>> {
        let mut features = Features::default();
        let types = types();
        for (at, (name, ty)) in types.iter().enumerate() {
            features.want(&format!("/{name}"), (at, ty)).unwrap();
        }
        let mut columns: Vec<_> =
            types.iter().map(|it| Builder::new(&it.1, 1, &Pool::default())).collect();
        let is_read = features.read(message, names, &mut columns);
        is_read.then(|| columns.into_iter().map(Builder::finish).collect())
    }

    /// What each is found to be, one by one: shape and bytes.
    fn found(message: &[u8]) -> Option<Vec<(Vec<usize>, Vec<u8>)>> {
        let one = |(name, ty): &(&str, Type)| {
            let feature = Feature::new(feature(message, name).ok()?).ok()?;
            let (mut room, shape) = (Scratch::default(), ty.shape()?);
            as_feature::write(ty.dtype()?, (feature, shape), &mut Out::grow(&mut room))?;
            let found = room.tensor();
            Some((found.shape().to_vec(), found.as_bytes()?.to_vec()))
        };
        types().iter().map(one).collect()
    }

    #[test]
    fn what_is_read_is_what_is_found() {
        let (a, b, c) = (ints(&[7]), floats(&[0.5, -1.0]), ints(&[1, 2, 3, 4]));
        let usual = [entry("a", &a), entry("b", &b), entry("c", &c)];
        let with = |more: Vec<u8>| example(&[&usual[..], &[more]].concat());
        let without = |at: usize, other: Vec<u8>| {
            let mut all = usual.clone();
            all[at] = other;
            example(&all)
        };
        let other_order =
            example(&[usual[2].clone(), entry("x", &a), usual[0].clone(), usual[1].clone()]);
        // Read: as it is, in another order, with others between them, without an element.
        let mut names = Names::default();
        for message in [
            example(&usual),
            other_order,
            with(entry("x", &floats(&[1.0]))),
            without(2, entry("c", &ints(&[]))),
            without(2, entry("c", &[field(3, &[8, 1, 8, 2]), field(3, &[8, 3, 8, 4])].concat())),
            example(&usual),
        ] {
            let read = read(&message, &mut names).expect("it is read");
            let read: Vec<_> = read
                .iter()
                .map(|it| (it.row(0).shape().to_vec(), it.row(0).as_bytes().unwrap().to_vec()))
                .collect();
            assert_eq!(Some(read), found(&message));
        }
        // Not read, and found or not: twice, of another kind, too large, of another shape, none, cut off, laid out otherwise.
        let twice = with(entry("a", &ints(&[9])));
        assert!(found(&twice).is_some_and(|it| it[0].1[0] == 9));
        let split = [field(1, &usual[0]), field(1, &[&usual[1][..], &usual[2]].concat())].concat();
        assert!(found(&split).is_some());
        let swapped = field(1, &[field(2, &a), field(1, b"a")].concat());
        for message in [
            twice,
            split,
            without(0, swapped),
            without(0, entry("a", &floats(&[1.0]))),
            without(0, entry("a", &ints(&[1, 2]))),
            without(1, entry("b", &floats(&[1.0]))),
            without(2, entry("c", &field(3, &field(1, &[0xac, 2, 1])))),
            example(&usual[..2]),
            example(&usual)[..20].to_vec(),
            Vec::new(),
        ] {
            assert!(read(&message, &mut names).is_none(), "{message:?}");
        }
    }

    #[test]
    fn wanted_are_features_of_numbers() {
        let refused = |pointer: &str, ty: &Type| {
            let mut features = Features::default();
            features.want("/a", (0, &Type::scalar(DType::F32))).unwrap();
            features.want(pointer, (1, ty)).unwrap_err()
        };
        let f32 = Type::scalar(DType::F32);
        assert_eq!(refused("/a", &f32), "it is listed twice");
        assert_eq!(refused("/b/c", &f32), "features have no members");
        assert_eq!(refused("b", &f32), "it does not begin with `/`");
        assert_eq!(refused("/b", &Type::scalar(DType::Str)), "it is a text");
        let open = Type::Tensor { dtype: DType::F32, shape: vec![Extent::Unknown; 2] };
        assert!(refused("/b", &open).contains("only one extent"));
    }
}
