//! Words of the output, for `ulpgate explain`. DESIGN.md has the words of the source.

/// Each word with its meaning.
pub const WORDS: &[(&str, &str)] = &[
    (
        "abstain",
        "The outcome of a check that has nothing to say of a case; its note says why, and --verbose prints it.",
    ),
    (
        "alarm",
        "A result that is not as its suite expects: a finding that no suite expects, an expected one that did not occur, or a \
         check that stays undecided. It makes a run exit with 1.",
    ),
    (
        "baseline",
        "The committed reports that `ulpgate gate` compares with: the folder reports/, unless --baseline says another.",
    ),
    ("bits", "The best verdict of `judge`: a permitted mode gives the same bits. The modes that do are listed."),
    (
        "bound",
        "How far a result may lie from the truth if the arithmetic of its mode is kept: a proven number for each element. The \
         check of this name finds results beyond it.",
    ),
    (
        "case",
        "A program, a mode and an input of one size. Its id names all of them; `ulpgate explain CASE` shows its worst rows.",
    ),
    (
        "choice",
        "One thing that a compiler may do to a program, such as to leave out a rounding for one user of a value. `explore` evaluates choices; `ulpgate list families` has their kinds.",
    ),
    (
        "conforming",
        "A verdict of `judge`: no mode gives these bits, but the orders of sums and the roundings that a compiler may choose \
         explain them, or they are as accurate as a permitted mode.",
    ),
    ("dtype", "The type of an element, by its HLO name: f32, bf16, s8, pred. `ulpgate list formats` has the floats."),
    (
        "enclosure",
        "An interval for each element that holds every permitted result. A row whose enclosures leave one outcome is proven.",
    ),
    (
        "excess",
        "Excess precision: digits that a compiler keeps although the program's type has fewer. With \
         xla_allow_excess_precision, XLA may leave out a rounding to bf16 for one user of a value and keep it for another. A \
         mode's third part says what is left out.",
    ),
    (
        "excess_on",
        "In the name of a dump: what XLA made of the program with xla_allow_excess_precision on, its default. `excess_off` is \
         the same with the flag off, and `before` the program before compilation.",
    ),
    (
        "family",
        "Choices of a compiler of one kind, for `explore --permit`: rounding, order, algebra. `ulpgate list families` has them with their evidence.",
    ),
    (
        "finding",
        "A deviation that a check found, such as a row that loses its best token. One that the suite expects is known, any \
         other is an alarm.",
    ),
    (
        "flaky",
        "A verdict of `tolerance` and `port`: some honest runs miss the tolerance. The interval holds their share with 95 %.",
    ),
    ("gate", "A fresh run held against the committed reports. It is red for each row that differs and each alarm."),
    (
        "guard",
        "A rounding that a compiler must keep, as `jax.lax.reduce_precision` writes it. `explore --repair` finds the fewest that \
         make each row safe.",
    ),
    (
        "known",
        "A finding that its suite expects or only reports, with the reason in `because`. It is printed and does not make a run \
         fail; that it is gone does.",
    ),
    (
        "margin",
        "Of a token: how far its score is ahead of the next one's, in ulp. `explore --margins` tells the least one under every choice.",
    ),
    (
        "mode",
        "The arithmetic in force, as chip/precision/excess[+key=value...]. `ulpgate explain v5e/default/off` explains each part.",
    ),
    ("open", "A verdict of `explore` and `same`: neither proven nor refuted. The lines below say what a proof lacks."),
    (
        "outside",
        "A verdict of `judge`: nothing that is permitted explains these results. The lines below name the fault, if one is \
         found. With --mode less is permitted: results of TF32 conform to one bf16 pass, and are outside of f32.",
    ),
    (
        "part",
        "A verdict of `same`: an input was found for which two programs give other bits, and --witness writes it.",
    ),
    (
        "power",
        "Of a verdict on a matmul: the smallest fault that would show at this K and number of outputs. What is smaller is not distinguishable from other orders of addition.",
    ),
    ("promise", "The arithmetic that results claim to follow, as a mode. Bounds are made from it."),
    (
        "proven",
        "A verdict: of `explore` for a row that no choice of a compiler changes, of `same` for two programs whose bits are \
         equal for all inputs.",
    ),
    (
        "reachable",
        "A verdict of `explore`: the choices that are named, each of which a compiler may take, change this row.",
    ),
    (
        "relative-rms",
        "Root mean square of the errors over that of the true values: 0.004 is about what one rounding to bf16 costs, 6e-8 \
         what one to f32 does. Between two results, the same of their difference.",
    ),
    ("row", "One index of a result's first dim: a token's logits, one softmax, one sequence."),
    (
        "rule",
        "A rewrite that a compiler does to roundings, with its evidence: rule A joins conversions, rule B computes bf16 \
         operations in f32 (FACTS 1.3). The policies of `ulpgate list excess` are made of them.",
    ),
    ("suite", "A claim, and the cases that test it: a file in suites/."),
    (
        "survives",
        "A verdict of `port`: every honest run on the second chip keeps to the tolerance. It says nothing of the faults that \
         pass, which `ulpgate tolerance` names.",
    ),
    (
        "truth",
        "The result over the real numbers, without any rounding, as far as it is proven. Results are held against it.",
    ),
    (
        "ulp",
        "Unit in the last place: the distance between a number and the next one of its format. An error of half an ulp is the \
         least that a rounding may cost; bf16 has 8 significant bits, so that an ulp is up to 1/128 of the number.",
    ),
    (
        "undecided",
        "A question that the truth does not decide with 4096 bits. It is never guessed, and no suite can expect it.",
    ),
    ("unknown", "A verdict of `judge`: neither permitted nor refuted; the reason is below it."),
    (
        "unsatisfiable",
        "A verdict of `tolerance` and `port`: honest runs miss the tolerance as a rule, or one rounding of the result may. A \
         proposal is below it.",
    ),
    (
        "witness",
        "Evidence that can be run: for `same` an input that gives other bits, for `explore` the choices that change a row.",
    ),
    (
        "worst",
        "The largest value of a suite's first figure over its cases, in the JSON of a run; `max_ulp 5.2` is an error of 5.2 ulp.",
    ),
];
