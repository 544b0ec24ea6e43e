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

To shuffle the records of large files, or to divide them among ranks, a run needs an index of where each record begins. Without \
one, it first reads the files once. This command builds the indices of files of 4 MiB and more in advance, so that the first \
batch arrives without this delay. If a file changes, its index is rebuilt.")]
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
