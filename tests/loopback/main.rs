//! `loopback FOLDER [LATENCY-MS [BYTES-A-SECOND]]`: serves until it is stopped, for trials by hand.

use loopback::{Manner, Server};
use std::{env, io, path::Path, thread, time::Duration};

fn main() -> io::Result<()> {
    let mut args = env::args().skip(1);
    let folder = args.next().unwrap_or_else(|| ".".to_owned());
    let mut number = || args.next().and_then(|it| it.parse::<u64>().ok());
    let latency = Duration::from_millis(number().unwrap_or(0));
    let bytes_per_second = number();
    let server = Server::start(
        Path::new(&folder),
        Manner { latency, bytes_per_second, ..Manner::default() },
    )?;
    #[expect(clippy::print_stdout, reason = "who starts it wants to know where it is")]
    {
        println!("{}", server.url());
    }
    let mut told = String::new();
    loop {
        thread::sleep(Duration::from_secs(1));
        let counts = format!("{:?}", server.counts());
        if counts != told {
            #[expect(clippy::print_stderr, reason = "as well as what it was asked for")]
            {
                eprintln!("{counts}");
            }
            told = counts;
        }
    }
}
