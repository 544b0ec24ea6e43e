//! Arguments of `index`.

use super::PipelineArgs;
use clap::Args;
use std::path::PathBuf;

/// `index`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  pipec index train.pipe train
  pipec index train.pipe train --index-dir /shared/index      then `run --index-dir /shared/index`, on any rank

To shuffle or share out the records of large files, a run must know where each begins: it reads them once for that, unless an \
index is there. This command makes the indices of files of 4 MiB and more beforehand, so that the first batch comes at once. \
An index belongs to its file as it is now; if the file changes, it is made again.")]
pub(crate) struct IndexArgs {
    /// Program.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) pipeline: PipelineArgs,
    /// Folder for the indices [default: `pipec/index` in the user's cache folder].
    #[arg(long, value_name = "DIR")]
    pub(crate) index_dir: Option<PathBuf>,
    /// Print what was found as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}
