//! Sources of the values of each argument of a program: a distribution, an array of a file, or a result of another
//! program.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use crate::file::Entry;
use crate::ir::Shape;
use crate::machine::{Mode, Prepared};
use crate::program::ProgramSpec;
use crate::tensor::Tensor;

use super::{Argument, InputError, InputKey, InputSpec, generate};

/// Source of the values of one argument.
#[derive(Clone, Debug)]
pub enum Binding {
    /// Values of a distribution.
    Drawn(InputSpec),
    /// An array, read once and shared by all who evaluate it.
    Given {
        /// Its file, and its name there.
        text: String,
        /// The array.
        tensor: Tensor,
    },
    /// A result of another program of the same size, from arguments of its own and the distribution of the other arguments,
    /// as plain IEEE arithmetic computes it (mode [`EARLIER`]): the same bits for everyone who is judged.
    Earlier {
        /// The program.
        program: ProgramSpec,
        /// The result's name.
        output: String,
    },
}

/// The mode that computes earlier results.
pub const EARLIER: &str = "cpu/highest/off";

impl Binding {
    /// The binding that a text means: `FILE.safetensors:NAME`, `FILE.npy` (paths relative to `folder`), `PROGRAM:RESULT`, or
    /// a distribution.
    ///
    /// # Errors
    /// If the file has no such array, or there is no such program, result or distribution.
    pub fn parse(text: &str, folder: &Path) -> Result<Binding, InputError> {
        let unbound = |why: String| InputError::Unbound { text: text.to_string(), why };
        if let Some(entry) = Entry::parse(text) {
            let tensor = entry.read(folder).map_err(|error| unbound(error.to_string()))?;
            return Ok(Binding::Given { text: entry.to_string(), tensor });
        }
        match text.split_once(':') {
            Some((program, output)) => {
                let program: ProgramSpec = program.parse().map_err(|e| unbound(format!("{e}")))?;
                Ok(Binding::Earlier { program, output: output.to_string() })
            }
            None => Ok(Binding::Drawn(text.parse()?)),
        }
    }
}

impl fmt::Display for Binding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Binding::Drawn(spec) => spec.fmt(f),
            Binding::Given { text, .. } => f.write_str(text),
            Binding::Earlier { program, output } => write!(f, "{program}:{output}"),
        }
    }
}

/// The arrays of one file, each bound to the argument that answers to its name ([`Argument::answers_to`]): the weights of a
/// model. A clone shares them.
#[derive(Clone, Debug)]
pub struct Weights {
    text: String,
    arrays: Arc<BTreeMap<String, Binding>>,
}

impl Weights {
    /// The arrays of the file that ids and errors call `text`, with their names.
    pub fn new(text: &str, arrays: Vec<(String, Tensor)>) -> Weights {
        let given = |(name, tensor): (String, Tensor)| {
            let text = format!("{text}:{name}");
            (name, Binding::Given { text, tensor })
        };
        Weights { text: text.to_string(), arrays: Arc::new(arrays.into_iter().map(given).collect()) }
    }

    /// That every argument but the first has an array, or a binding of its own in `inputs`.
    fn check(&self, inputs: &Inputs, arguments: &[Argument]) -> Result<(), InputError> {
        let lacks = |(number, argument): &(usize, &Argument)| inputs.binding(*number, argument).is_none();
        let Some((_, argument)) = arguments.iter().enumerate().skip(1).find(lacks) else { return Ok(()) };
        let hint = crate::name::hint(&argument.name, self.arrays.keys().map(String::as_str));
        let why = format!("it has no array for the argument `{}`; {hint}", argument.name);
        Err(InputError::Unbound { text: self.text.clone(), why })
    }
}

/// Sources of the values of all arguments of a program.
#[derive(Clone, Debug)]
pub struct Inputs {
    /// The distribution of all arguments without a binding of their own.
    pub drawn: InputSpec,
    /// Bindings by a name that the argument answers to.
    bound: BTreeMap<String, Binding>,
    /// Bindings of the other arguments to the arrays of one file.
    weights: Option<Weights>,
}

impl From<InputSpec> for Inputs {
    fn from(drawn: InputSpec) -> Inputs {
        Inputs { drawn, bound: BTreeMap::new(), weights: None }
    }
}

/// `DISTRIBUTION`, for each binding `+NAME=BINDING`, sorted by name, and `+weights=FILE`.
impl fmt::Display for Inputs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.drawn.fmt(f)?;
        self.bound.iter().try_for_each(|(name, binding)| write!(f, "+{name}={binding}"))?;
        self.weights.iter().try_for_each(|weights| write!(f, "+weights={}", weights.text))
    }
}

impl Inputs {
    /// These inputs with one argument bound.
    pub fn with(mut self, name: &str, binding: Binding) -> Inputs {
        self.bound.insert(name.to_string(), binding);
        self
    }

    /// These inputs with all arguments that have no binding of their own bound to the arrays of a file; the first argument, the
    /// data, may be left to the distribution.
    pub fn with_weights(mut self, weights: Weights) -> Inputs {
        self.weights = Some(weights);
        self
    }

    /// The binding of an argument; `None` if it is left to the distribution.
    pub fn binding(&self, number: usize, argument: &Argument) -> Option<&Binding> {
        let names = argument.answers_to(number);
        let arrays = self.weights.iter().map(|weights| weights.arrays.as_ref());
        std::iter::once(&self.bound).chain(arrays).find_map(|bound| names.iter().find_map(|name| bound.get(name)))
    }

    /// Types of `arguments` and the source of each one's values. Programs for which this text is equal get the same
    /// tensors, under one key and over the same rows.
    pub fn fillings(&self, arguments: &[Argument]) -> String {
        let filled = |(number, argument): (usize, &Argument)| {
            let Argument { dtype, dims, .. } = argument;
            match self.binding(number, argument) {
                None => format!("{dtype}{dims:?}={}", self.drawn),
                Some(binding) => format!("{dtype}{dims:?}={binding}"),
            }
        };
        let each: Vec<String> = arguments.iter().enumerate().map(filled).collect();
        format!("({})", each.join(", "))
    }

    /// That every binding is one of an argument, and that weights are there for all.
    ///
    /// # Errors
    /// If there is no such argument, or the weights' file has no array for one.
    pub fn check_names(&self, arguments: &[Argument]) -> Result<(), InputError> {
        for name in self.bound.keys() {
            let is_of = |(number, argument): (usize, &Argument)| argument.answers_to(number).contains(name);
            if !arguments.iter().enumerate().any(is_of) {
                let known = arguments.iter().map(|argument| argument.name.as_str());
                return Err(InputError::UnknownArgument { name: name.clone(), hint: crate::name::hint(name, known) });
            }
        }
        self.weights.as_ref().map_or(Ok(()), |weights| weights.check(self, arguments))
    }

    /// The arguments that do not depend on which rows are asked for, whole: arrays of files and earlier results. `arguments`
    /// are those of any number of rows.
    ///
    /// # Errors
    /// If an array has not the shape of its argument (the first argument's leading dim aside), or an earlier program cannot
    /// be evaluated.
    pub fn fixed_tensors(&self, key: &InputKey, arguments: &[Argument]) -> Result<Vec<Option<Tensor>>, InputError> {
        self.check_names(arguments)?;
        let mut fixed = Vec::with_capacity(arguments.len());
        for (number, argument) in arguments.iter().enumerate() {
            let tensor = match self.binding(number, argument) {
                None | Some(Binding::Drawn(_)) => None,
                Some(Binding::Given { tensor, .. }) => Some(tensor.clone()),
                Some(Binding::Earlier { program, output }) => Some(self.earlier(key, program, output)?),
            };
            if let Some(tensor) = &tensor {
                check_shape(number, argument, tensor)?;
            }
            fixed.push(tensor);
        }
        Ok(fixed)
    }

    /// Values for `arguments`, in order, as [`generate`] draws them; those in `fixed` as they are, of the first one the
    /// `rows`.
    ///
    /// # Errors
    /// As [`generate`], and if the first argument is fixed and has fewer rows.
    pub fn tensors(
        &self,
        key: &InputKey,
        arguments: &[Argument],
        fixed: &[Option<Tensor>],
        rows: Range<u64>,
    ) -> Result<Vec<Tensor>, InputError> {
        let spec = |number: usize| match arguments.get(number).and_then(|argument| self.binding(number, argument)) {
            Some(Binding::Drawn(spec)) => spec,
            _ => &self.drawn,
        };
        let is_fixed = |number: usize| fixed.get(number).is_some_and(Option::is_some);
        let mut tensors = generate::each(&spec, &is_fixed, key, arguments, rows.clone())?;
        for (number, tensor) in fixed.iter().enumerate() {
            let Some(tensor) = tensor else { continue };
            tensors[number] = Some(if number == 0 && tensor.dims().len() > 1 {
                let has = tensor.dims()[0];
                if rows.end > has as u64 {
                    let (argument, asked) = (arguments[0].name.clone(), rows.end);
                    return Err(InputError::Rows { argument, has, asked });
                }
                tensor.rows(rows.start as usize..rows.end as usize)
            } else {
                tensor.clone()
            });
        }
        Ok(tensors.into_iter().flatten().collect())
    }

    /// The result `output` of another program.
    fn earlier(&self, key: &InputKey, program: &ProgramSpec, output: &str) -> Result<Tensor, InputError> {
        let text = format!("{program}:{output}");
        let unbound = |why: String| InputError::Unbound { text: text.clone(), why };
        let built = program.build(key.n as usize, program.rows).map_err(|error| unbound(error.to_string()))?;
        let known = || crate::name::hint(output, built.output_names.iter().map(String::as_str));
        let at = built.output(output).ok_or_else(|| unbound(format!("it has no result `{output}`; {}", known())))?;
        let arguments = Argument::of_program(&built);
        let rows = 0..arguments.first().map_or(0, |first| first.rows() as u64);
        let drawn = generate(&self.drawn, key, &arguments, rows)?;
        let mode: Mode = EARLIER.parse().map_err(|error| unbound(format!("{error}")))?;
        let prepared = Prepared::new(&built);
        let results = prepared.bind(&drawn).and_then(|bound| prepared.evaluate(&mode, &bound));
        Ok(results.map_err(|error| unbound(error.to_string()))?.swap_remove(at))
    }
}

/// Checks that an array has the type and shape of its argument; the first argument may have any number of rows.
fn check_shape(number: usize, argument: &Argument, tensor: &Tensor) -> Result<(), InputError> {
    let skipped = usize::from(number == 0 && argument.dims.len() > 1);
    let same = tensor.dtype() == argument.dtype
        && tensor.dims().len() == argument.dims.len()
        && tensor.dims()[skipped..] == argument.dims[skipped..];
    if same {
        return Ok(());
    }
    Err(InputError::WrongShape {
        argument: argument.name.clone(),
        given: Shape::array(tensor.dtype(), tensor.dims()).to_string(),
        expected: Shape::array(argument.dtype, &argument.dims).to_string(),
    })
}
