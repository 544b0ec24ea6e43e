//! The machine that code is made for.

use crate::{Kernel, Loop, OPERANDS_MAX, body};
use cranelift_codegen::{
    Context,
    ir::{AbiParam, Function, Signature, UserFuncName, types},
    isa::{CallConv, OwnedTargetIsa},
    settings::{self, Configurable},
};
use cranelift_frontend::FunctionBuilderContext;
use cranelift_jit::{JITBuilder, JITModule};
use cranelift_module::{Linkage, Module, default_libcall_names};
use std::fmt;

/// A processor and what it can do.
pub struct Target {
    isa: OwnedTargetIsa,
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
        let mut flags = settings::builder();
        for (name, value) in [
            ("opt_level", "speed"),
            ("is_pic", "false"),
            ("use_colocated_libcalls", "false"),
            ("enable_verifier", if cfg!(debug_assertions) { "true" } else { "false" }),
        ] {
            flags.set(name, value).map_err(refused)?;
        }
        let builder = cranelift_native::builder().map_err(refused)?;
        let isa = builder.finish(settings::Flags::new(flags)).map_err(refused)?;
        let is_on =
            |name| isa.isa_flags().iter().any(|it| it.name == name && it.as_bool() == Some(true));
        let vectors = match isa.triple().architecture.to_string().as_str() {
            "x86_64" => is_on("has_sse42"),
            "aarch64" => true,
            _ => false,
        };
        if vectors { Ok(Self { isa }) } else { Err(Refused("no vectors of 128 bits here".into())) }
    }

    /// Its architecture, and what it has that not all of them have.
    pub fn features(&self) -> String {
        let on = self.isa.isa_flags().into_iter().filter(|it| it.as_bool() == Some(true));
        let names: Vec<&str> = on.map(|it| it.name.trim_start_matches("has_")).collect();
        format!("{} {}", self.isa.triple().architecture, names.join(" "))
    }

    /// Machine code for `program`, in memory.
    pub fn compile(&self, program: &Loop) -> Result<Kernel, Refused> {
        let mut context = self.context(program)?;
        let mut module =
            JITModule::new(JITBuilder::with_isa(self.isa.clone(), default_libcall_names()));
        let id = module
            .declare_function("elements", Linkage::Local, &context.func.signature)
            .map_err(refused)?;
        module.define_function(id, &mut context).map_err(refused)?;
        module.finalize_definitions().map_err(refused)?;
        let code = module.get_finalized_function(id);
        // SAFETY: the body was made for this signature, and the module goes along.
        Ok(unsafe { Kernel::new(program, module, code) })
    }

    /// The code for `program`, to be read.
    pub fn listing(&self, program: &Loop) -> Result<Listing, Refused> {
        let mut context = self.context(program)?;
        let clif = context.func.display().to_string();
        context.set_disasm(true);
        let code = context.compile(&*self.isa, &mut Default::default());
        let code = code.map_err(|it| Refused(it.inner.to_string()))?;
        Ok(Listing { clif, asm: code.vcode.clone().unwrap_or_default() })
    }

    fn context(&self, program: &Loop) -> Result<Context, Refused> {
        if program.inputs.len() + program.outputs.len() > OPERANDS_MAX {
            return Err(Refused(format!("more than {OPERANDS_MAX} operands")));
        }
        let mut signature = Signature::new(CallConv::triple_default(self.isa.triple()));
        signature.params = vec![AbiParam::new(types::I64); 3];
        let mut function = Function::with_name_signature(UserFuncName::default(), signature);
        let mut known = FunctionBuilderContext::new();
        body::write(program, &mut function, &mut known, self.isa.frontend_config())?;
        Ok(Context::for_function(function))
    }
}

fn refused(why: impl fmt::Display) -> Refused {
    Refused(why.to_string())
}
