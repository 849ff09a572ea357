use kernel::softmax;
use ulpgate::subject::{Call, Failure, Function};
use ulpgate::tensor::{Data, Tensor};
use ulpgate::{Question, check::Settings};

fn my_softmax(call: &Call) -> Result<Vec<Tensor>, Failure> {
    let x = &call.arguments[0];
    let p = softmax(&x.data().to_f32s(), x.dims()[1]);
    Ok(vec![Tensor::new(x.dims(), Data::F32(p))])
}

#[test]
fn softmax_is_within_the_bound_of_f32_arithmetic() -> Result<(), Box<dyn std::error::Error>> {
    for input in ["normal", "logits[scale=40]", "planted-neg-inf"] {
        Question::of("softmax[dtype=f32,rows=4]", 1027)?
            .input(input)?
            .subject(Function::new("mine", "cpu/highest/off".parse()?, my_softmax))
            .check("bound", Settings::default())?
            .ask()?
            .conforms()?;
    }
    Ok(())
}
