//! A row: one attribute of an instruction with two values, and the regions that rows name.

/// Regions and computations that rows name.
pub const COMPUTATIONS: &str = "\
    add { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT r = f32[] add(a, b) }\n\
    maximum { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT r = f32[] maximum(a, b) }\n\
    less { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT r = pred[] compare(a, b), direction=LT }\n\
    greater { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT r = pred[] compare(a, b), direction=GT }\n\
    at_least { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT r = pred[] compare(a, b), direction=GE }\n\
    greater_of_two { a = f32[] parameter(0)\n b = f32[] parameter(1)\n c = s32[] parameter(2)\n d = s32[] parameter(3)\n \
      ROOT r = pred[] compare(a, b), direction=GT }\n\
    running { a = f32[] parameter(0)\n b = f32[] parameter(1)\n c = f32[] add(a, b)\n ROOT r = (f32[], f32[]) tuple(c, c) }\n\
    falling { a = f32[] parameter(0)\n b = f32[] parameter(1)\n c = f32[] subtract(a, b)\n ROOT r = (f32[], f32[]) tuple(c, c) }\n\
    running_rows { a = f32[3] parameter(0)\n b = f32[3] parameter(1)\n c = f32[3] add(a, b)\n ROOT r = (f32[3], f32[3]) tuple(c, c) }\n\
    double { a = f32[4] parameter(0)\n ROOT r = f32[4] add(a, a) }\n\
    square { a = f32[4] parameter(0)\n ROOT r = f32[4] multiply(a, a) }\n\
    doubled { s = (s32[], f32[4]) parameter(0)\n i = s32[] get-tuple-element(s), index=0\n one = s32[] constant(1)\n \
      j = s32[] add(i, one)\n v = f32[4] get-tuple-element(s), index=1\n w = f32[4] add(v, v)\n \
      ROOT t = (s32[], f32[4]) tuple(j, w) }\n\
    squared { s = (s32[], f32[4]) parameter(0)\n i = s32[] get-tuple-element(s), index=0\n one = s32[] constant(1)\n \
      j = s32[] add(i, one)\n v = f32[4] get-tuple-element(s), index=1\n w = f32[4] multiply(v, v)\n \
      ROOT t = (s32[], f32[4]) tuple(j, w) }\n\
    twice { s = (s32[], f32[4]) parameter(0)\n i = s32[] get-tuple-element(s), index=0\n n = s32[] constant(2)\n \
      ROOT r = pred[] compare(i, n), direction=LT }\n\
    thrice { s = (s32[], f32[4]) parameter(0)\n i = s32[] get-tuple-element(s), index=0\n n = s32[] constant(3)\n \
      ROOT r = pred[] compare(i, n), direction=LT }\n";

/// An attribute of an instruction, two values of it, and a program with `$` in their place.
pub struct Row {
    pub opcode: &'static str,
    pub attribute: &'static str,
    pub values: [&'static str; 2],
    pub body: &'static str,
}

pub const fn row(opcode: &'static str, attribute: &'static str, values: [&'static str; 2], body: &'static str) -> Row {
    Row { opcode, attribute, values, body }
}
