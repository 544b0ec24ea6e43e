//! The machine that code is made for.

use crate::{
    Kernel, Loop, OPERANDS_MAX, body,
    executable::{ALIGNMENT, Executable},
};
use cranelift_codegen::{
    Context,
    control::ControlPlane,
    ir::{AbiParam, Function, Signature, UserFuncName, types},
    isa::{self, CallConv, OwnedTargetIsa},
    settings::{self, Configurable, SettingKind},
};
use cranelift_frontend::FunctionBuilderContext;
use std::{
    collections::BTreeSet,
    env, fmt,
    sync::{Arc, Mutex, PoisonError},
};

/// A processor and what it can do.
pub struct Target {
    isa: OwnedTargetIsa,
    /// Used again for every loop.
    room: Mutex<Room>,
}

/// What a loop is compiled in.
#[derive(Default)]
struct Room {
    context: Option<Context>,
    known: FunctionBuilderContext,
    control: ControlPlane,
}

/// Why a loop is not compiled: the evaluator does it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused(pub String);

/// The code of a loop, to be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listing {
    /// Cranelift's intermediate form.
    pub clif: String,
    /// The instructions of the processor.
    pub asm: String,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Target {
    /// This machine; refused where it lacks vectors that round and compare (SSE 4.2 on x86-64).
    pub fn host() -> Result<Self, Refused> {
        Self::of(cranelift_native::builder().map_err(refused)?)
    }

    /// The processor of that name and of this machine's architecture, as [`Target::names`] has them;
    /// `native` is this machine.
    ///
    /// # Errors
    /// There is none of that name, or it lacks what [`Target::host`] wants.
    pub fn named(name: &str) -> Result<Self, Refused> {
        if name == NATIVE {
            return Self::host();
        }
        if !Self::names().iter().any(|it| it == name) {
            return Err(Refused(format!(
                "no processor `{name}` of {} is known",
                env::consts::ARCH
            )));
        }
        let mut builder = any_of_architecture()?;
        builder.enable(name).map_err(refused)?;
        Self::of(builder)
    }

    /// A processor of this machine's architecture that has `features`, as [`Target::features`] names
    /// them, and no others.
    ///
    /// # Errors
    /// One of them is not known.
    pub fn with_features<'a>(features: impl IntoIterator<Item = &'a str>) -> Result<Self, Refused> {
        let mut builder = any_of_architecture()?;
        for name in features {
            // Most are called `has_avx2`; a few are not.
            let all = [format!("has_{name}"), name.to_owned()];
            let known = builder.iter().map(|it| it.name).find(|it| all.iter().any(|of| of == it));
            let known = known.ok_or_else(|| Refused(format!("no feature `{name}` is known")))?;
            builder.enable(known).map_err(refused)?;
        }
        Self::of(builder)
    }

    /// The processors that can be named: those of compilers for C and Rust.
    pub fn names() -> Vec<String> {
        let all = any_of_architecture().into_iter().flat_map(|it| it.iter().collect::<Vec<_>>());
        let presets = all.filter(|it| it.kind == SettingKind::Preset).map(|it| it.name.to_owned());
        [NATIVE.to_owned()].into_iter().chain(presets).collect()
    }

    fn of(builder: isa::Builder) -> Result<Self, Refused> {
        let mut flags = settings::builder();
        for (name, value) in [
            ("opt_level", "speed"),
            ("enable_verifier", if cfg!(debug_assertions) { "true" } else { "false" }),
        ] {
            flags.set(name, value).map_err(refused)?;
        }
        let isa = builder.finish(settings::Flags::new(flags)).map_err(refused)?;
        let target = Self { isa, room: Mutex::default() };
        let vectors = match target.architecture().as_str() {
            "x86_64" => target.features().contains("sse42"),
            "aarch64" => true,
            _ => false,
        };
        if vectors {
            Ok(target)
        } else {
            Err(Refused("it has no vectors of 128 bits that round and compare".into()))
        }
    }

    /// Its architecture.
    pub fn architecture(&self) -> String {
        self.isa.triple().architecture.to_string()
    }

    /// What it has that not all of its architecture have.
    pub fn features(&self) -> BTreeSet<&'static str> {
        let on = self.isa.isa_flags().into_iter().filter(|it| it.as_bool() == Some(true));
        on.map(|it| it.name.trim_start_matches("has_")).collect()
    }

    /// Machine code for `program`, in memory.
    ///
    /// # Errors
    /// It has operations that are left to the evaluator, or there is no memory for code.
    pub fn compile(&self, program: &Loop) -> Result<Kernel, Refused> {
        let memory = self.code(program, |code| Executable::new(code).map_err(refused))??;
        // SAFETY: the code was made for this program just now, and is all that lies there.
        Ok(unsafe { Kernel::new(program, Arc::new(memory), 0) })
    }

    /// Gives `take` the machine code for `program`: it holds no address, so it runs wherever it lies,
    /// at a multiple of 64.
    ///
    /// # Errors
    /// It has operations that are left to the evaluator.
    pub fn code<T>(&self, program: &Loop, take: impl FnOnce(&[u8]) -> T) -> Result<T, Refused> {
        self.compiled(program, false, |context| {
            let code = context.compiled_code().expect("it was compiled");
            let fits = code.buffer.alignment as usize <= ALIGNMENT;
            if !fits || !code.buffer.relocs().is_empty() {
                return Err(Refused("its code is bound to an address".into()));
            }
            Ok(take(code.code_buffer()))
        })?
    }

    /// The code for `program`, to be read.
    ///
    /// # Errors
    /// It has operations that are left to the evaluator.
    pub fn listing(&self, program: &Loop) -> Result<Listing, Refused> {
        let mut clif = String::new();
        let asm = self.compiled(program, true, |context| {
            let code = context.compiled_code().expect("it was compiled");
            code.vcode.clone().unwrap_or_default()
        })?;
        let mut function = self.function();
        let mut known = FunctionBuilderContext::new();
        body::write(program, &mut function, &mut known, self.isa.frontend_config())?;
        clif.push_str(&function.display().to_string());
        Ok(Listing { clif, asm })
    }

    /// Compiles `program`, and gives `take` what came of it.
    fn compiled<T>(
        &self,
        program: &Loop,
        is_read: bool,
        take: impl FnOnce(&Context) -> T,
    ) -> Result<T, Refused> {
        if program.inputs.len() + program.outputs.len() > OPERANDS_MAX {
            return Err(Refused(format!("more than {OPERANDS_MAX} operands")));
        }
        let mut room = self.room.lock().unwrap_or_else(PoisonError::into_inner);
        let Room { context, known, control } = &mut *room;
        // What broke off half way leaves nothing behind.
        let mut own = context.take().unwrap_or_else(Context::new);
        own.clear();
        own.func = self.function();
        if let Err(why) = body::write(program, &mut own.func, known, self.isa.frontend_config()) {
            *known = FunctionBuilderContext::new();
            return Err(why);
        }
        own.set_disasm(is_read);
        own.compile(&*self.isa, control).map_err(|it| Refused(it.inner.to_string()))?;
        let taken = take(&own);
        *context = Some(own);
        Ok(taken)
    }

    /// One without a body: operands, results, blocks, functions to call.
    fn function(&self) -> Function {
        let mut signature = Signature::new(CallConv::triple_default(self.isa.triple()));
        signature.params = vec![AbiParam::new(types::I64); 4];
        Function::with_name_signature(UserFuncName::default(), signature)
    }
}

/// This machine.
pub const NATIVE: &str = "native";

/// A processor of this machine's architecture, with what all of them have.
fn any_of_architecture() -> Result<isa::Builder, Refused> {
    cranelift_native::builder_with_options(false).map_err(refused)
}

fn refused(why: impl fmt::Display) -> Refused {
    Refused(why.to_string())
}
