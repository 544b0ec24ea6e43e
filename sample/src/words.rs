//! Words and sentences that look like those of people, in several scripts.
//!
//! Words are drawn by rank from lexicons whose frequencies fall as 1/rank (Zipf's law), so that the vocabulary of a corpus
//! grows with its length as that of real ones does. The frequent words are real, the others are made of syllables.

use crate::chance::Chance;

/// Scripts that a text is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Script {
    English,
    German,
    French,
    Russian,
    Greek,
    Hindi,
    Arabic,
    Chinese,
    Japanese,
}

/// All of them, with how many of a thousand texts of the web are written in each.
pub(crate) const SCRIPTS: [(Script, u64); 9] = [
    (Script::English, 640),
    (Script::German, 70),
    (Script::French, 60),
    (Script::Russian, 60),
    (Script::Greek, 20),
    (Script::Hindi, 40),
    (Script::Arabic, 30),
    (Script::Chinese, 50),
    (Script::Japanese, 30),
];

/// Words of a lexicon: the first ones are given, the others are made.
const LEXICON: u64 = 30_000;

/// Frequent words of each script, in the order of [`Script`]; the most frequent first, in lower case where there are cases.
const FREQUENT: [&[&str]; 9] = [
    &[
        "the", "of", "and", "to", "a", "in", "is", "that", "it", "was", "for", "on", "as", "with",
        "by", "at", "from", "are", "this", "which", "or", "be", "has", "not", "had", "his", "they",
        "an", "but", "have", "one", "their", "when", "were", "who", "more", "its", "so", "we",
        "can", "out", "other", "time", "there", "into", "two", "over", "year", "new", "water",
        "after", "house", "people", "where", "made", "city", "first", "many", "river", "then",
        "before", "under", "day", "light", "small", "road", "long", "often", "work", "between",
        "morning", "great", "three", "world", "old", "garden", "because", "winter", "never",
        "through", "against", "mountain",
    ],
    &[
        "der", "die", "und", "in", "das", "den", "von", "zu", "mit", "ist", "auf", "für", "nicht",
        "ein", "eine", "als", "auch", "es", "an", "werden", "aus", "er", "hat", "dass", "sie",
        "nach", "wird", "bei", "einer", "um", "am", "sind", "noch", "wie", "über", "haus", "zeit",
        "jahr", "wasser", "straße", "schön", "größe", "zwischen",
    ],
    &[
        "de", "la", "le", "et", "les", "des", "en", "un", "du", "une", "que", "est", "pour", "qui",
        "dans", "par", "sur", "pas", "plus", "au", "avec", "ne", "se", "été", "son", "après",
        "même", "être", "où", "déjà", "forêt", "maison",
    ],
    &[
        "и",
        "в",
        "не",
        "на",
        "что",
        "он",
        "с",
        "как",
        "это",
        "по",
        "но",
        "из",
        "они",
        "за",
        "от",
        "все",
        "было",
        "так",
        "его",
        "вода",
        "дом",
        "год",
        "город",
        "время",
        "река",
        "утро",
        "зима",
        "после",
        "между",
        "дорога",
    ],
    &[
        "και",
        "το",
        "η",
        "ο",
        "να",
        "της",
        "του",
        "με",
        "που",
        "για",
        "την",
        "από",
        "στο",
        "είναι",
        "δεν",
        "θα",
        "νερό",
        "σπίτι",
        "πόλη",
        "χρόνος",
        "δρόμος",
    ],
    &[
        "के",
        "है",
        "में",
        "की",
        "और",
        "को",
        "से",
        "का",
        "यह",
        "कि",
        "पर",
        "वह",
        "नहीं",
        "एक",
        "था",
        "भी",
        "लिए",
        "पानी",
        "घर",
        "समय",
        "शहर",
        "नदी",
        "सुबह",
        "सर्दी",
        "क्योंकि",
        "स्त्री",
    ],
    &[
        "في",
        "من",
        "على",
        "أن",
        "إلى",
        "التي",
        "عن",
        "هذا",
        "ما",
        "مع",
        "كان",
        "بعد",
        "بين",
        "ماء",
        "بيت",
        "وقت",
        "مدينة",
        "نهر",
        "صباح",
    ],
    &[
        "的", "是", "在", "了", "和", "有", "我们", "不", "这", "人", "他", "中", "大", "来", "上",
        "个", "时间", "城市", "河流", "早晨", "冬天", "因为", "道路", "房子",
    ],
    &[
        "の", "に", "は", "を", "た", "が", "で", "て", "と", "し", "れ", "さ", "ある", "いる",
        "です", "ます", "時間", "都市", "川", "朝", "冬", "道",
    ],
];

/// Beginnings and ends of syllables of made words.
fn syllables(script: Script) -> (&'static [&'static str], &'static [&'static str]) {
    match script {
        Script::English => (
            &[
                "b", "br", "c", "ch", "d", "dr", "f", "g", "gr", "h", "l", "m", "n", "p", "pl",
                "r", "s", "st", "t", "tr", "v", "w",
            ],
            &[
                "a", "ar", "e", "ea", "el", "en", "er", "i", "ing", "in", "o", "on", "or", "ou",
                "u", "y",
            ],
        ),
        Script::German => (
            &[
                "b", "d", "f", "g", "h", "k", "l", "m", "n", "pf", "r", "s", "sch", "st", "t", "v",
                "w", "z",
            ],
            &["a", "au", "ä", "e", "ei", "en", "er", "i", "ie", "o", "ö", "u", "ü", "ung"],
        ),
        Script::French => (
            &["b", "c", "ch", "d", "f", "g", "j", "l", "m", "n", "p", "qu", "r", "s", "t", "v"],
            &["a", "ai", "e", "é", "è", "eau", "i", "in", "o", "ou", "on", "u", "eur", "tion"],
        ),
        Script::Russian => (
            &[
                "б", "в", "г", "д", "ж", "з", "к", "л", "м", "н", "п", "р", "с", "ст", "т", "х",
                "ч", "ш",
            ],
            &["а", "е", "и", "о", "у", "ы", "я", "ение", "ный", "ов", "ать", "ость"],
        ),
        Script::Greek => (
            &["β", "γ", "δ", "κ", "λ", "μ", "ν", "π", "ρ", "σ", "τ", "φ", "χ"],
            &["α", "ά", "ε", "η", "ή", "ι", "ο", "ό", "ου", "ω", "ος", "ικό"],
        ),
        Script::Hindi => (
            &[
                "क",
                "ख",
                "ग",
                "च",
                "ज",
                "त",
                "द",
                "न",
                "प",
                "ब",
                "म",
                "र",
                "ल",
                "व",
                "स",
                "ह",
                "क्ष",
                "प्र",
            ],
            &["", "ा", "ि", "ी", "ु", "े", "ो", "ं"],
        ),
        Script::Arabic => (
            &["ب", "ت", "ج", "ح", "د", "ر", "س", "ش", "ع", "ف", "ق", "ك", "ل", "م", "ن", "ه"],
            &["", "ا", "و", "ي", "ة", "ات"],
        ),
        Script::Chinese | Script::Japanese => (&[], &[]),
    }
}

/// A rank, of so many: the smaller, the more often, as 1/rank.
fn rank(chance: &mut Chance, most: u64) -> u64 {
    let exponent = f64::from(chance.unit());
    (libm::pow(most as f64, exponent) as u64).clamp(1, most) - 1
}

/// A word of a lexicon, in lower case.
pub(crate) fn word(script: Script, chance: &mut Chance) -> String {
    let known = FREQUENT[script as usize];
    let rank = rank(chance, LEXICON);
    match known.get(rank as usize) {
        Some(word) => (*word).to_owned(),
        None => made(script, rank),
    }
}

/// The word of a rank: the same in each text of all sets.
fn made(script: Script, rank: u64) -> String {
    let mut chance = Chance::new(0x6c65_7869 + script as u64, rank);
    let characters = |first: u32, last: u32, chance: &mut Chance| {
        char::from_u32(chance.whole(first.into(), last.into()) as u32).expect("a character")
    };
    match script {
        // The rarer a word, the further behind stand its characters, as in a list by frequency.
        Script::Chinese => {
            let last = 0x4e00 + 200 + (rank / 8) as u32;
            let n = chance.whole(1, 2);
            (0..n).map(|_| characters(0x4e00, last.min(0x9fa5), &mut chance)).collect()
        }
        Script::Japanese => {
            let (first, last) =
                if chance.happens(0.3) { (0x30a2, 0x30f3) } else { (0x3042, 0x3093) };
            let n = chance.whole(2, 4);
            (0..n).map(|_| characters(first, last, &mut chance)).collect()
        }
        _ => {
            let (before, after) = syllables(script);
            let n = chance.whole(1, 2) + u64::from(rank > 500) + u64::from(chance.happens(0.2));
            (0..n).map(|_| chance.pick(before).to_owned() + chance.pick(after)).collect()
        }
    }
}

/// A sentence with its full stop, of four to some thirty words.
pub(crate) fn sentence(script: Script, chance: &mut Chance) -> String {
    let (space, comma, stop) = match script {
        Script::Chinese | Script::Japanese => ("", "，", "。"),
        Script::Arabic => (" ", "، ", "."),
        Script::Hindi => (" ", ", ", "।"),
        _ => (" ", ", ", "."),
    };
    let n = chance.whole(4, 12) + chance.whole(0, 12) * u64::from(chance.happens(0.5));
    let mut text = String::new();
    for number in 0..n {
        if number > 0 {
            text += if chance.happens(0.08) { comma } else { space };
        }
        let next = match chance.happens(0.02) {
            true => chance.whole(2, 20_000).to_string(),
            false => word(script, chance),
        };
        text += &if number == 0 { capital(&next) } else { next };
    }
    text += if chance.happens(0.06) { chance.pick(&["!", "?", "…"]) } else { stop };
    text
}

/// A paragraph of so many sentences.
pub(crate) fn paragraph(script: Script, n: u64, chance: &mut Chance) -> String {
    let space = if matches!(script, Script::Chinese | Script::Japanese) { "" } else { " " };
    let all: Vec<String> = (0..n).map(|_| sentence(script, chance)).collect();
    all.join(space)
}

/// With a capital letter, where there are some.
pub(crate) fn capital(word: &str) -> String {
    let mut all = word.chars();
    all.next().map_or_else(String::new, |it| it.to_uppercase().collect::<String>() + all.as_str())
}

/// What tokenizers and filters find hard: emoji in several parts, combining marks, what cannot be seen, long words.
pub(crate) fn odd(chance: &mut Chance) -> String {
    match chance.whole(0, 9) {
        0 => "👩‍👩‍👧‍👦🏳️‍🌈 👍🏽".to_owned(),
        1 => "e\u{301}a\u{308}o\u{302}n\u{303}".to_owned(),
        2 => "\u{200b}\u{feff}soft\u{ad}hyphen\u{a0}space".to_owned(),
        3 => "z̷̗̑a̶͔͝l̵̰͌g̸̱̈o̵̤͋".to_owned(),
        4 => format!(
            "https://{}.example/{}?q=%20{}",
            made(Script::English, 700),
            made(Script::English, 900),
            chance.whole(1, 99_999)
        ),
        5 => "a".repeat(chance.whole(100, 400) as usize),
        6 => (0..chance.whole(20, 60)).map(|_| word(Script::German, chance)).collect(),
        7 => format!("{}\t{}   {}\r\n", chance.whole(0, 9), chance.whole(10, 99), "-".repeat(72)),
        8 => "\u{202e}txet desrever\u{202c} ﬁne ﬂow Ⅷ ½ ㎏ ｆｕｌｌ".to_owned(),
        _ => "ǅ ß ẞ İ ı ſ ᾳ".to_owned(),
    }
}

/// The same thing said in English and in German.
pub(crate) fn pair(chance: &mut Chance) -> [String; 2] {
    const WHO: [[&str; 2]; 8] = [
        ["a man", "ein Mann"],
        ["two women", "zwei Frauen"],
        ["a young girl", "ein junges Mädchen"],
        ["some children", "einige Kinder"],
        ["a dog", "ein Hund"],
        ["an old couple", "ein altes Paar"],
        ["the workers", "die Arbeiter"],
        ["three boys", "drei Jungen"],
    ];
    // In German with "ist" and "sind", what they do stands in the same form for all.
    const DOING: [[&str; 2]; 8] = [
        ["waiting for the train", "beim Warten auf den Zug"],
        ["playing football", "beim Fußballspielen"],
        ["cooking", "beim Kochen"],
        ["reading a newspaper", "beim Zeitunglesen"],
        ["climbing", "beim Klettern"],
        ["painting a wall", "beim Streichen einer Wand"],
        ["swimming", "beim Schwimmen"],
        ["repairing a bicycle", "beim Reparieren eines Fahrrads"],
    ];
    const WHERE: [[&str; 2]; 8] = [
        ["in the park", "im Park"],
        ["on the street", "auf der Straße"],
        ["by the sea", "am Meer"],
        ["in front of a house", "vor einem Haus"],
        ["at the station", "am Bahnhof"],
        ["on a bridge", "auf einer Brücke"],
        ["in the snow", "im Schnee"],
        ["near the market", "in der Nähe des Markts"],
    ];
    const WHEN: [[&str; 2]; 6] = [
        ["", ""],
        ["", ""],
        ["in the morning", "am Morgen"],
        ["at night", "in der Nacht"],
        ["while it is raining", "während es regnet"],
        ["on a sunny day", "an einem sonnigen Tag"],
    ];
    let (who, doing) = (chance.pick(&WHO), chance.pick(&DOING));
    let (first, when) = (chance.pick(&WHERE), chance.pick(&WHEN));
    let are = ["two", "some", "the workers", "three"].iter().any(|it| who[0].starts_with(it));
    let mut both = [
        format!("{} {} {} {}", capital(who[0]), if are { "are" } else { "is" }, doing[0], first[0]),
        format!(
            "{} {} {} {}",
            capital(who[1]),
            if are { "sind" } else { "ist" },
            first[1],
            doing[1]
        ),
    ];
    if chance.happens(0.3) {
        let more = chance.pick(&WHERE);
        both.iter_mut()
            .zip([format!(", {}", more[0]), format!(", {}", more[1])])
            .for_each(|(to, it)| to.push_str(&it));
    }
    let ends = if when[0].is_empty() {
        [".".to_owned(), ".".to_owned()]
    } else {
        when.map(|it| format!(" {it}."))
    };
    both.iter_mut().zip(ends).for_each(|(to, it)| to.push_str(&it));
    both
}
