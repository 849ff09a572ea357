//! Opcodes of HLO text, parsed once: by families, each of which has its handler in `ops`.
//!
//! Source of the names: openxla/xla, `hlo/ir/hlo_opcode.h`; FACTS 7.2.

use std::collections::HashMap;
use std::fmt;
use std::sync::LazyLock;

use crate::ir::{Binary, Unary};
use crate::name;

/// A family of opcodes: an enum whose variants have names in HLO text, and a list of them all.
macro_rules! family {
    ($(#[$meta:meta])* $name:ident { $($variant:ident = $text:literal,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name {
            $(#[doc = concat!("`", $text, "`.")] $variant,)*
        }

        impl $name {
            /// All of them.
            pub const ALL: &[$name] = &[$($name::$variant,)*];

            /// The name in HLO text.
            pub const fn name(self) -> &'static str {
                match self {
                    $($name::$variant => $text,)*
                }
            }
        }
    };
}

family! {
    /// Copies, slices and calls that run beside other work.
    Asynchronous {
        AsyncDone = "async-done",
        AsyncStart = "async-start",
        AsyncUpdate = "async-update",
        CallDone = "call-done",
        CallStart = "call-start",
        CallUpdate = "call-update",
        CopyDone = "copy-done",
        CopyStart = "copy-start",
        DynamicSliceDone = "dynamic-slice-done",
        DynamicSliceStart = "dynamic-slice-start",
        SliceDone = "slice-done",
        SliceStart = "slice-start",
    }
}

family! {
    /// Batch normalization and its gradients.
    BatchNorm {
        BatchNormGrad = "batch-norm-grad",
        BatchNormInference = "batch-norm-inference",
        BatchNormTraining = "batch-norm-training",
    }
}

family! {
    /// Exchange between devices, or the beginning of one.
    Collective {
        AllGather = "all-gather",
        AllGatherStart = "all-gather-start",
        AllReduce = "all-reduce",
        AllReduceStart = "all-reduce-start",
        AllToAll = "all-to-all",
        CollectiveBroadcast = "collective-broadcast",
        CollectivePermute = "collective-permute",
        CollectivePermuteStart = "collective-permute-start",
        RaggedAllToAll = "ragged-all-to-all",
        ReduceScatter = "reduce-scatter",
    }
}

family! {
    /// The end of an exchange between devices.
    CollectiveDone {
        AllGatherDone = "all-gather-done",
        AllReduceDone = "all-reduce-done",
        CollectivePermuteDone = "collective-permute-done",
    }
}

family! {
    /// Complex numbers from their parts, and their parts.
    ComplexPart {
        Complex = "complex",
        Imag = "imag",
        Real = "real",
    }
}

family! {
    /// Calls, choices and loops of computations.
    Control {
        Call = "call",
        Conditional = "conditional",
        Fusion = "fusion",
        Map = "map",
        While = "while",
    }
}

family! {
    /// Decompositions and systems of equations.
    Decomposition {
        Cholesky = "cholesky",
        TriangularSolve = "triangular-solve",
    }
}

family! {
    /// A device's own number.
    DeviceNumber {
        PartitionId = "partition-id",
        ReplicaId = "replica-id",
    }
}

family! {
    /// Functions of one operand that are formulas of others.
    Elementary {
        Acos = "acos",
        Acosh = "acosh",
        Asin = "asin",
        Asinh = "asinh",
        Atan = "atan",
        Atanh = "atanh",
        Cosh = "cosh",
        Sinh = "sinh",
    }
}

family! {
    /// Functions of elements that are no [`Unary`] and no [`Binary`].
    Elementwise {
        Clamp = "clamp",
        Compare = "compare",
        Convert = "convert",
        ReducePrecision = "reduce-precision",
        Select = "select",
        StochasticConvert = "stochastic-convert",
    }
}

family! {
    /// Operations that give their operand.
    Identity {
        AddDependency = "add-dependency",
        Copy = "copy",
        Domain = "domain",
        OptBarrier = "opt-barrier",
    }
}

family! {
    /// Operations at places that are computed.
    Indexed {
        DynamicSlice = "dynamic-slice",
        DynamicUpdateSlice = "dynamic-update-slice",
        Gather = "gather",
        Scatter = "scatter",
    }
}

family! {
    /// Operations that move elements to places that the text says, or count places.
    Movement {
        Broadcast = "broadcast",
        Concatenate = "concatenate",
        GetDimensionSize = "get-dimension-size",
        Iota = "iota",
        Pad = "pad",
        Reshape = "reshape",
        Reverse = "reverse",
        SetDimensionSize = "set-dimension-size",
        Slice = "slice",
        Transpose = "transpose",
    }
}

family! {
    /// Operations on what is outside of a program: generators of a runtime, and channels to a host.
    Outside {
        Infeed = "infeed",
        Outfeed = "outfeed",
        Recv = "recv",
        RecvDone = "recv-done",
        Rng = "rng",
        RngGetAndUpdateState = "rng-get-and-update-state",
        Send = "send",
        SendDone = "send-done",
    }
}

family! {
    /// Sums of products.
    Product {
        Convolution = "convolution",
        Dot = "dot",
        RaggedDot = "ragged-dot",
        ScaledDot = "scaled-dot",
    }
}

family! {
    /// Elements in order.
    Ranking {
        Sort = "sort",
        TopK = "topk",
    }
}

family! {
    /// Elements combined by a region.
    Reduction {
        Reduce = "reduce",
        ReduceWindow = "reduce-window",
        SelectAndScatter = "select-and-scatter",
    }
}

family! {
    /// The same bits as another type or another array.
    Reinterpretation {
        Bitcast = "bitcast",
        BitcastConvert = "bitcast-convert",
    }
}

family! {
    /// Values that hold nothing and order effects.
    Token {
        AfterAll = "after-all",
        CreateToken = "create-token",
    }
}

family! {
    /// Tuples and their elements.
    Tuples {
        GetTupleElement = "get-tuple-element",
        Tuple = "tuple",
    }
}

family! {
    /// Opcodes that are a family of one.
    Single {
        Constant = "constant",
        CustomCall = "custom-call",
        Fft = "fft",
        Parameter = "parameter",
        RngBitGenerator = "rng-bit-generator",
        Scan = "scan",
    }
}

/// The families of [`Opcode`].
macro_rules! opcode {
    ($($(#[$doc:meta])* $family:ident,)*) => {
        /// An opcode, by its family.
        #[derive(Clone, Debug, PartialEq, Eq, Hash)]
        pub enum Opcode {
            $($(#[$doc])* $family($family),)*
            /// A name that this project has no meaning for, as written.
            Other(Box<str>),
        }

        impl Opcode {
            /// All that have a name of their own here.
            pub fn all() -> impl Iterator<Item = Opcode> {
                std::iter::empty()$(.chain($family::ALL.iter().copied().map(Opcode::$family)))*
            }

            /// The name in HLO text.
            pub fn name(&self) -> &str {
                match self {
                    $(Opcode::$family(one) => one.name(),)*
                    Opcode::Other(name) => name,
                }
            }
        }

        /// The names of all opcodes that have one here.
        fn names() -> impl Iterator<Item = &'static str> {
            std::iter::empty()$(.chain($family::ALL.iter().map(|one| one.name())))*
        }
    };
}

opcode! {
    /// A copy, slice or call beside other work.
    Asynchronous,
    /// A batch normalization or its gradients.
    BatchNorm,
    /// A function of two operands of one shape.
    Binary,
    /// An exchange between devices.
    Collective,
    /// The end of one.
    CollectiveDone,
    /// A complex number or a part of it.
    ComplexPart,
    /// A call, choice or loop.
    Control,
    /// A decomposition or a system of equations.
    Decomposition,
    /// A device's number.
    DeviceNumber,
    /// A function of one operand that is a formula of others.
    Elementary,
    /// Another function of elements.
    Elementwise,
    /// Its operand.
    Identity,
    /// An operation at computed places.
    Indexed,
    /// An operation at places that the text says.
    Movement,
    /// An operation on what is outside of the program.
    Outside,
    /// A sum of products.
    Product,
    /// Elements in order.
    Ranking,
    /// A reduction of whole dims or of windows.
    Reduction,
    /// The same bits otherwise.
    Reinterpretation,
    /// An opcode of no family.
    Single,
    /// A value that holds nothing.
    Token,
    /// A tuple or an element of one.
    Tuples,
    /// A function of one operand.
    Unary,
}

/// Other opcodes of XLA, and why each has no meaning here.
const WITHOUT_MEANING: &[(&str, &str)] = &[
    ("collective-reduce", "no release of a compiler prints it; a reduction between devices is an `all-reduce`"),
    ("dynamic-reshape", "its result's extents are known when it runs; write the extents as they are, in a `reshape`"),
    ("shuffle", "no release of a compiler prints it; moved elements are a `gather` or a `collective-permute`"),
];

static BY_NAME: LazyLock<HashMap<&'static str, Opcode>> = LazyLock::new(|| names().zip(Opcode::all()).collect());

impl From<&str> for Opcode {
    fn from(name: &str) -> Opcode {
        BY_NAME.get(name).cloned().unwrap_or_else(|| Opcode::Other(name.into()))
    }
}

impl fmt::Display for Opcode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Opcode {
    /// The reason why one has no meaning here, or the name that it is probably a slip of: ``; did you mean `dot`?``. Else nothing.
    pub(super) fn hint(&self) -> String {
        let Opcode::Other(wanted) = self else { return String::new() };
        match WITHOUT_MEANING.iter().find(|(name, _)| *name == &**wanted) {
            Some((_, why)) => format!(": {why}"),
            None => name::nearest(wanted, names()).map_or(String::new(), |name| format!("; did you mean `{name}`?")),
        }
    }

    /// Why it is refused whatever its operands, if it is.
    pub(super) fn refusal(&self) -> Option<&'static str> {
        let Opcode::Outside(outside) = self else { return None };
        Some(match outside {
            Outside::Rng | Outside::RngGetAndUpdateState => {
                "its bits are those of a generator inside the compiler's runtime: give them as an argument"
            }
            Outside::Infeed
            | Outside::Outfeed
            | Outside::Recv
            | Outside::RecvDone
            | Outside::Send
            | Outside::SendDone => "what it exchanges with the world outside is not known",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_that_of_one_opcode() {
        let all: Vec<Opcode> = Opcode::all().collect();
        assert!(all.len() > 100, "{}", all.len());
        for opcode in all {
            assert_eq!(Opcode::from(opcode.name()), opcode);
        }
        assert_eq!(BY_NAME.len(), names().count());
    }

    #[test]
    fn a_slip_has_a_hint_and_another_opcode_of_xla_has_its_reason() {
        assert_eq!(Opcode::from("brodcast").hint(), "; did you mean `broadcast`?");
        let hint = Opcode::from("dynamic-reshape").hint();
        assert!(hint.starts_with(": its result's extents") && hint.contains("`reshape`"), "{hint}");
        assert!(WITHOUT_MEANING.iter().all(|(name, _)| matches!(Opcode::from(*name), Opcode::Other(_))));
        assert_eq!(Opcode::from("broadcast").hint(), "");
    }
}
