//! The tutorial and the cookbook, as a reader would follow them: every command is run, every recipe
//! gives records.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;
#[path = "common/shards.rs"]
#[allow(dead_code, reason = "other tests use the rest")]
mod shards;

use common::{Folder, PIPEC};
use flate2::{Compression, write::GzEncoder};
use std::{
    env, fs,
    io::Write,
    path::{Path, PathBuf},
    process::Command,
};

/// A fenced block of a page.
struct Block {
    /// What is written behind the fence.
    tag: String,
    text: String,
}

fn page(name: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs").join(name)).unwrap()
}

fn blocks(page: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut open: Option<Block> = None;
    for line in page.lines() {
        match (&mut open, line.strip_prefix("```")) {
            (None, Some(tag)) => {
                open = Some(Block { tag: tag.to_owned(), text: String::new() });
            }
            (Some(_), Some(_)) => blocks.extend(open.take()),
            (Some(block), None) => block.text += &format!("{line}\n"),
            (None, None) => {}
        }
    }
    blocks
}

/// Runs a block of commands as a shell does, ours being the `pipec` that is found; gives whether the last
/// one went well, and what all of them printed.
fn shell(commands: &str, folder: &Folder) -> (bool, String) {
    let ours = Path::new(PIPEC).parent().unwrap().to_owned();
    let others = env::var_os("PATH").unwrap_or_default();
    let path = env::join_paths([ours].into_iter().chain(env::split_paths(&others))).unwrap();
    let done = Command::new("sh")
        .args(["-c", &format!("exec 2>&1\n{commands}")])
        .current_dir(folder.path())
        .env("PATH", path)
        .output()
        .unwrap();
    (done.status.success(), String::from_utf8(done.stdout).unwrap())
}

/// Whether some line is as `promised` says, where `…` stands for anything.
fn has_line(printed: &str, promised: &str) -> bool {
    let fits = |line: &str| {
        let mut parts = promised.split('…');
        let first = parts.next().unwrap_or_default();
        let Some(mut rest) = line.strip_prefix(first) else { return false };
        let mut parts = parts.peekable();
        if parts.peek().is_none() {
            return rest.is_empty();
        }
        while let Some(part) = parts.next() {
            if parts.peek().is_none() {
                return rest.ends_with(part);
            }
            let Some(at) = rest.find(part) else { return false };
            rest = &rest[at + part.len()..];
        }
        true
    };
    printed.lines().map(str::trim_end).any(fits)
}

#[test]
fn the_tutorial_prints_what_it_promises() {
    // Issue 19, number 21. What calls Python is run by the tests of the Python package.
    let folder = Folder::new("tutorial");
    let (mut n_commands, mut printed) = (0, None);
    for block in blocks(&page("TUTORIAL.md")) {
        match block.tag.as_str() {
            "pipe" => folder.write("train.pipe", &block.text),
            "python" => folder.write("train.py", &block.text),
            "sh" | "sh fails" if block.text.contains("python ") => printed = None,
            "sh" | "sh fails" => {
                let (went_well, all) = shell(&block.text, &folder);
                assert_eq!(went_well, block.tag == "sh", "{}{all}", block.text);
                n_commands += 1;
                printed = Some((block.text, all));
            }
            "text" => {
                let Some((commands, all)) = &printed else { continue };
                for line in block.text.lines() {
                    assert!(has_line(all, line), "{commands}promised: {line}\nprinted:\n{all}");
                }
            }
            other => panic!("a block of the tutorial is `{other}`"),
        }
    }
    assert!(n_commands >= 7, "{n_commands} commands");
    assert!(folder.join("sheet.png").exists());
}

#[test]
fn promises_are_compared() {
    let printed = "200 pictures in `p`, 21 MB\nx = 3 \n";
    for kept in ["200 pictures in `p`, … MB", "…pictures…", "x = 3", "…"] {
        assert!(has_line(printed, kept), "{kept}");
    }
    for broken in ["20 pictures…", "… GB", "x = ", "…pictures"] {
        assert!(!has_line(printed, broken), "{broken}");
    }
}

#[test]
fn every_recipe_gives_records() {
    let page = page("COOKBOOK.md");
    let recipes: Vec<Block> = blocks(&page).into_iter().filter(|it| it.tag == "pipe").collect();
    assert!(recipes.len() >= 10, "{} recipes", recipes.len());
    let folder = Folder::new("cookbook");
    lay_out_photographs(&folder);
    lay_out_masks(&folder);
    lay_out_members(&folder);
    lay_out_prose(&folder);
    for recipe in recipes {
        folder.write("recipe.pipe", &recipe.text);
        let checked = folder.pipec(&["check", "recipe.pipe"]);
        // Not even what is allowed and seldom meant.
        let all = checked.out + &checked.err;
        assert!(checked.code == 0 && all.contains("no errors"), "{}{all}", recipe.text);
        let names = recipe.text.lines().filter_map(|it| it.strip_prefix("pipeline "));
        for name in names.filter_map(|it| it.split([' ', '(']).next()) {
            let looked = folder.pipec(&["peek", "recipe.pipe", name, "--json", "-n", "2"]);
            assert_eq!(looked.code, 0, "{name}: {}", looked.err);
            let steps: serde_json::Value = serde_json::from_str(&looked.out).unwrap();
            let last = steps.as_array().unwrap().last().unwrap();
            assert!(!last["records"].as_array().unwrap().is_empty(), "{name} gives no record");
        }
    }
}

#[test]
fn bad_rows_are_skipped_and_unknown_categories_end_the_run() {
    let page = page("COOKBOOK.md");
    let recipe = blocks(&page).into_iter().find(|it| it.text.contains("people.csv")).unwrap();
    // Of so few rows, two bad ones are more than one in a hundred.
    let recipe = recipe.text.replace("most: 0.01", "most: 0.5");
    let rows = "age,size,city\n36,1.5,Rome\nmany,2,Oslo\n7\n8,1,Oslo\n";
    let folder = Folder::of("people", &[("people.pipe", &recipe), ("data/people.csv", rows)]);
    folder.pipec(&["run", "people.pipe"]).ends(0, &["1 batch, 2 records"]);
    let line = |i: usize| format!("{i}.jpg,picture {i}\n");
    let captions: String = (0..12).filter(|it| it % 5 != 3).map(line).collect();
    folder.write("data/captions.csv", &format!("file,caption\n{captions}"));
    folder.write("data/people.csv", "age,size,city\n36,1.5,Rome\n8,1,Osl\n");
    folder.pipec(&["run", "people.pipe"]).ends(3, &["`Osl` is not one of 2 entries"]);
}

#[test]
fn mixup_mixes_the_last_smaller_batch_too() {
    let page = page("COOKBOOK.md");
    let recipe =
        blocks(&page).into_iter().find(|it| it.text.contains("mixup(image, label)")).unwrap();
    let folder = Folder::of("mixup", &[("mixup.pipe", &recipe.text)]);
    let ran = folder.pipec(&["run", "mixup.pipe", "train", "--out", "out"]);
    ran.ends(0, &["3 batches, 64 records"]);
    let mut rows = Vec::new();
    for file in fs::read_dir(folder.join("out/label")).unwrap().flatten() {
        let bytes = fs::read(file.path()).unwrap();
        let head = 10 + usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
        let numbers =
            bytes[head..].chunks_exact(4).map(|it| f32::from_le_bytes(it.try_into().unwrap()));
        rows.extend(numbers.collect::<Vec<_>>().chunks(10).map(<[f32]>::to_vec));
    }
    assert_eq!(rows.len(), 64);
    assert!(rows.iter().all(|it| (it.iter().sum::<f32>() - 1.0).abs() < 1e-5), "{rows:?}");
    assert!(rows.iter().any(|it| it.iter().filter(|it| **it > 0.0).count() == 2), "none is mixed");
}

#[test]
fn masks_keep_their_classes_and_move_with_the_picture() {
    let folder = Folder::new("segmentation");
    lay_out_masks(&folder);
    let page = page("COOKBOOK.md");
    let recipe = blocks(&page).into_iter().find(|it| it.text.contains("mask: i64(")).unwrap();
    // Without the normalisation, pixels are the levels that the class was drawn in.
    let plain = recipe.text.replace(
        "normalize(image, mean: [0.485, 0.456, 0.406], std: [0.229, 0.224, 0.225])",
        "f32(image)",
    );
    assert_ne!(plain, recipe.text);
    folder.write("seg.pipe", &plain);
    let ran = folder.pipec(&["run", "seg.pipe", "train", "--out", "out"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    // The first batch of a field, behind the head of its file.
    let bytes = |field: &str| -> Vec<u8> {
        let files = fs::read_dir(folder.join("out").join(field)).unwrap().flatten();
        let file = fs::read(files.map(|it| it.path()).min().unwrap()).unwrap();
        let head = 10 + usize::from(u16::from_le_bytes([file[8], file[9]]));
        file[head..].to_vec()
    };
    let classes: Vec<i64> = bytes("mask")
        .chunks_exact(8)
        .map(|it| i64::from_le_bytes(it.try_into().unwrap()))
        .collect();
    let levels: Vec<f32> = bytes("image")
        .chunks_exact(4)
        .map(|it| f32::from_le_bytes(it.try_into().unwrap()))
        .collect();
    let pixels = 64 * 64;
    assert_eq!(levels.len(), classes.len() * 3);
    let (mut n_right, mut n_seen) = (0, 0);
    for (i, class) in classes.iter().enumerate() {
        assert!([0, 7, 9].contains(class), "a class between two others: {class}");
        let red = levels[i / pixels * pixels * 3 + i % pixels];
        n_seen += 1;
        n_right += u32::from((red - red_of(*class)).abs() < 40.0);
    }
    // At the edges the picture is between two colours.
    assert!(
        n_seen >= 4 * 4096 && f64::from(n_right) > 0.9 * f64::from(n_seen),
        "{n_right} of {n_seen}"
    );
}

/// The red of a pixel of a class, in the pictures that are made here.
fn red_of(class: i64) -> f32 {
    match class {
        0 => 0.0,
        7 => 120.0,
        _ => 240.0,
    }
}

/// The labels of some images, and a shard of pages and arrays.
fn lay_out_members(folder: &Folder) {
    fs::create_dir_all(folder.join("data/labels")).unwrap();
    for i in 0..12 {
        let (from, to) = (format!("data/{i}.jpg"), format!("data/images/{i}.jpg"));
        fs::copy(folder.join(from), folder.join(to)).unwrap();
        if i % 4 != 3 {
            let labels = format!("{i} 0.5 0.4 0.25 0.1\n").repeat(i % 4);
            folder.write(&format!("data/labels/{i}.txt"), &labels);
        }
    }
    let page = |text: &[u8]| {
        let mut page = GzEncoder::new(Vec::new(), Compression::fast());
        page.write_all(text).unwrap();
        page.finish().unwrap()
    };
    let pages = ["Grüße".as_bytes(), b"Gr\xfc\xdfe", b"\xff\xfeG\0"].map(page);
    let array = shards::npy("<f8", "(8,)", &[0; 64]);
    let names: Vec<_> =
        (0..6).map(|it| [format!("{it}.html.gz"), format!("{it}.vector.npy")]).collect();
    let files = names.iter().zip(pages.iter().cycle()).flat_map(|([page_at, array_at], page)| {
        [(page_at.as_str(), page.as_slice()), (array_at, &array)]
    });
    let shard = shards::tar(&files.collect::<Vec<_>>());
    fs::write(folder.join("data/pages-000.tar"), shard).unwrap();
}

/// Documents of a crawl, pages with an article and without, sentences and their words.
fn lay_out_prose(folder: &Folder) {
    let sentence = "Mills that grind with the water of a river have a wheel, and somebody to keep both in order.";
    for name in ["web", "pages"] {
        fs::create_dir_all(folder.join(name)).unwrap();
    }
    let prose = format!("Home | About\\n{}", [sentence; 5].join("\\n"));
    let texts = [prose.as_str(), "# # #", sentence, "Lorem ipsum."];
    let lines: String = texts.iter().map(|it| format!("{{\"text\": \"{it}\"}}\n")).collect();
    folder.write("web/a.jsonl", &lines.repeat(2));

    let article = format!("<p>{}</p>", [sentence; 4].join(" ")).repeat(4);
    for (name, page) in
        [("a", format!("<nav>Home</nav><article>{article}</article>")), ("b", String::new())]
    {
        let mut file = GzEncoder::new(Vec::new(), Compression::fast());
        file.write_all(page.as_bytes()).unwrap();
        fs::write(folder.join(format!("pages/{name}.html.gz")), file.finish().unwrap()).unwrap();
    }
    folder.write("sentences.txt", "the house is old\nthe old mill\na house\n");
    folder.write("data/words.txt", "<pad>\n<mask>\n<unknown>\nthe\nhouse\nis\nold\nmill\na\n");
}

/// The photographs and their labels, where the recipes say that they are; two of them are torn.
fn lay_out_photographs(folder: &Folder) {
    let made = folder.pipec(&["sample", "images", "made", "--count", "12"]);
    assert_eq!(made.code, 0, "{}", made.err);
    let classes =
        fs::read_dir(folder.join("made")).unwrap().flatten().filter(|it| it.path().is_dir());
    let pictures = classes.flat_map(|it| fs::read_dir(it.path()).unwrap().flatten());
    let mut pictures: Vec<PathBuf> = pictures.map(|it| it.path()).collect();
    pictures.sort();
    assert_eq!(pictures.len(), 12);
    let mut labels = "file,label,split\n".to_owned();
    fs::create_dir_all(folder.join("data")).unwrap();
    for (i, picture) in pictures.iter().enumerate() {
        let mut bytes = fs::read(picture).unwrap();
        if i % 6 == 5 {
            bytes.truncate(bytes.len() / 2);
        }
        fs::write(folder.join(format!("data/{i}.jpg")), bytes).unwrap();
        let (class, split) = (["cat", "dog", "bird"][i % 3], ["train", "val"][usize::from(i == 4)]);
        labels += &format!("{i}.jpg,{class},{split}\n");
    }
    folder.write("data/labels.csv", &labels);
    let line = |i: usize| format!("{i}.jpg,picture {i}\n");
    let captions: String = (0..12).filter(|it| it % 5 != 3).map(line).collect();
    folder.write("data/captions.csv", &format!("file,caption\n{captions}"));
    folder.write("data/people.csv", "age,size,city\n36,1.5,Rome\nmany,2,Oslo\n7\n8,1,Oslo\n");
    folder.write("data/cities.txt", "<unknown>\nOslo\nRome\n");
    folder.write(
        "data/trips.csv",
        "Trip Distance,Fare (USD),zone\n1.5,7,3\n0,2,3\n2.5,,4\n0.5,5,4\n",
    );
    let line = |i: usize| format!("{{\"image\": \"{i}.jpg\", \"text\": \"picture {i}\"}}\n");
    folder.write("data/captions.jsonl", &(0..12).map(line).collect::<String>());
    let line = |i: usize| {
        let boxes = vec!["[10, 20, 50, 80]"; i % 3 + 1].join(", ");
        let labels = vec!["3"; i % 3 + 1].join(", ");
        format!("{{\"image\": \"{i}.jpg\", \"boxes\": [{boxes}], \"label\": [{labels}]}}\n")
    };
    folder.write("data/boxes.jsonl", &(0..12).map(line).collect::<String>());
    fs::create_dir_all(folder.join("corpus")).unwrap();
    let line = |i: usize| {
        format!("{{\"text\": \"text {i}\", \"license\": \"{}\"}}\n", ["mit", "gpl"][i % 2])
    };
    folder.write("corpus/a.jsonl", &(0..6).map(line).collect::<String>());
    folder.write("corpus/b.csv", "text,license\na text,mit\n,mit\nanother text,apache-2.0\n");
}

/// The pictures and their masks, where the recipe says that they are.
fn lay_out_masks(folder: &Folder) {
    let (height, width) = (80, 96);
    for sub in ["images", "masks"] {
        fs::create_dir_all(folder.join("data").join(sub)).unwrap();
        for i in 0..8 {
            let class = |pixel: usize| match (pixel / width, pixel % width) {
                (y, _) if y > 60 => 9,
                (_, x) if x > 30 + 5 * i => 7,
                _ => 0,
            };
            let classes = (0..height * width).map(class);
            let (colour, levels): (_, Vec<u8>) = match sub {
                "masks" => (png::ColorType::Grayscale, classes.map(|it| it as u8).collect()),
                _ => (
                    png::ColorType::Rgb,
                    classes.flat_map(|it| [red_of(it) as u8, 90, 60]).collect(),
                ),
            };
            let file = fs::File::create(folder.join(format!("data/{sub}/{i}.png"))).unwrap();
            let mut encoder = png::Encoder::new(file, width as u32, height as u32);
            encoder.set_color(colour);
            encoder.set_depth(png::BitDepth::Eight);
            encoder.write_header().unwrap().write_image_data(&levels).unwrap();
        }
    }
}
