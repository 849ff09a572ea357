use kernel::rms_norm;
use ulpgate::Question;
use ulpgate::subject::{Call, Failure, Function};
use ulpgate::tensor::{Data, Tensor};

fn my_norm(call: &Call) -> Result<Vec<Tensor>, Failure> {
    let (x, gain) = (&call.arguments[0], &call.arguments[1]);
    let out = rms_norm(&x.data().to_f32s(), &gain.data().to_f32s(), 1e-6);
    Ok(vec![Tensor::new(x.dims(), Data::F32(out))])
}

#[test]
fn norm_errs_by_few_ulp() -> Result<(), Box<dyn std::error::Error>> {
    let record = Question::of("norm[dtype=f32,rows=4]", 1027)?
        .subject(Function::new("mine", "cpu/highest/off".parse()?, my_norm))
        .metric("max_ulp")?
        .ask()?;
    let error = record.figures[0].value;
    assert!(error <= 4.0, "{error} ulp");
    Ok(())
}
