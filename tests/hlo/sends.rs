//! `send` and `recv` between devices, in both worlds.

use ulpgate::hlo::{Import, lower, lower_with_opaque, parse};
use ulpgate::machine::Mode;
use ulpgate::oracle::{Demand, Oracle, TruthTensor};
use ulpgate::subject;

fn import(text: &str) -> Import {
    lower(&parse(text).unwrap()).unwrap_or_else(|error| panic!("{error} in\n{text}"))
}

/// The integers that devices have in the end, the same in both worlds.
#[track_caller]
fn integers(import: &Import) -> Vec<Vec<i64>> {
    let mode: Mode = "cpu/f32/as-compiled".parse().unwrap();
    let machine = subject::evaluate(&import.program, &mode, &[]).unwrap();
    let truth = Oracle::default().evaluate(&import.program, &[], &vec![Demand::Rounded; machine.len()]).unwrap();
    let machine: Vec<Vec<i64>> = machine.iter().map(|tensor| tensor.data().to_i64s()).collect();
    for (machine, truth) in machine.iter().zip(&truth.outputs) {
        let TruthTensor::Integer { values, .. } = truth else { panic!("{truth:?}") };
        assert_eq!(machine, &values.iter().map(|value| value.unwrap()).collect::<Vec<i64>>());
    }
    machine
}

const PAIRS: &str = "frontend_attributes={_xla_send_recv_source_target_pairs=\"{{0,1},{1,2}}\"}";

/// Each device sends ten more than its number.
fn text(number: &str, channel: &str, exchange: &str) -> String {
    format!(
        "HloModule m\n\nENTRY e {{\n  id = u32[] {number}()\n  ten = u32[] constant(10)\n  sum = u32[] add(id, ten)\n  \
         t = token[] after-all()\n{exchange}  d = (u32[], token[]) recv-done(r){channel}\n  s2 = token[] send-done(s){channel}\n  \
         ROOT got = u32[] get-tuple-element(d), index=0\n}}\n"
    )
}

fn exchange(channel: &str) -> [String; 2] {
    [
        format!("  s = (u32[], u32[], token[]) send(sum, t){channel}, {PAIRS}\n"),
        format!("  r = (u32[], u32[], token[]) recv(t){channel}, {PAIRS}\n"),
    ]
}

#[test]
fn a_device_receives_what_its_partner_sends() {
    for (number, channel) in [("replica-id", ""), ("replica-id", ", channel_id=0"), ("partition-id", ", channel_id=1")]
    {
        let [send, recv] = exchange(channel);
        for order in [format!("{send}{recv}"), format!("{recv}{send}")] {
            let import = import(&text(number, channel, &order));
            assert_eq!(import.devices, 3, "{number}");
            assert_eq!(import.program.output_names, ["out0@0", "out0@1", "out0@2"]);
            assert_eq!(integers(&import), [[0], [10], [11]], "{number} {order}");
        }
    }
}

/// The data may be made after the `recv` has begun.
#[test]
fn a_recv_meets_data_that_is_made_later() {
    let [send, recv] = exchange("");
    let more = "  twice = u32[] add(sum, sum)\n".to_string() + &send.replace("send(sum", "send(twice");
    assert_eq!(integers(&import(&text("replica-id", "", &(recv + &more)))), [[0], [20], [22]]);
}

#[test]
fn exchanges_of_one_channel_meet_by_their_pairs_and_in_order() {
    let [send, recv] = exchange("");
    // One more exchange, of the device's own number, whose result is the second.
    let of_both = |lines: &str| {
        let text = text("replica-id", "", lines).replace("ROOT got", "one");
        let end = "  d3 = (u32[], token[]) recv-done(r3)\n  two = u32[] get-tuple-element(d3), index=0\n  \
                   ROOT both = (u32[], u32[]) tuple(one, two)\n}\n";
        integers(&import(&(text.trim_end().trim_end_matches('}').to_string() + end)))
    };
    let more_sent = send.replacen("  s", "  s3", 1).replace("send(sum", "send(id");
    let more_received = recv.replacen("  r", "  r3", 1);
    let [sent, received] = [&more_sent, &more_received].map(|line| line.replace("{{0,1},{1,2}}", "{{2,0}}"));
    assert_eq!(of_both(&(sent + &send + &recv + &received)), [[0], [10], [11], [2], [0], [0]]);
    assert_eq!(of_both(&(send + &more_sent + &recv + &more_received)), [[0], [10], [11], [0], [0], [1]]);
}

#[test]
fn what_meets_nothing_is_refused() {
    let [send, recv] = exchange("");
    let limits = "_xla_send_recv_validation=\"{{0,1}}\",_xla_send_recv_source";
    for exchange in [
        format!("{}{recv}", send.replace("{{0,1},{1,2}}", "{{0,1}}")),
        format!("{send}{recv}").replace("_xla_send_recv_source", limits),
        // The data depends on what is received.
        format!("{recv}  early = (u32[], token[]) recv-done(r)\n  x = u32[] get-tuple-element(early), index=0\n")
            + &send.replace("send(sum", "send(x"),
    ] {
        let text = text("replica-id", "", &exchange);
        let error = lower(&parse(&text).unwrap()).unwrap_err().to_string();
        assert!(error.contains("opcode `recv` is not supported: what it exchanges"), "{error}");
        // Those who do not run it read it.
        assert!(lower_with_opaque(&parse(&text).unwrap()).is_ok());
    }
}
