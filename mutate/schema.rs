//! One source file with many faults in it, each behind a switch.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::Failure;
use crate::source::{Kind, Place, Source};

/// A fault of this file, by its number.
pub struct Edit {
    pub fault: u32,
    pub range: Range<usize>,
    pub to: String,
}

/// A file whose faults are switched at places.
pub struct Schema {
    text: String,
    source: Source,
    edits: Vec<Edit>,
    /// The number of a fault's places that have turned out not to compile.
    refused: BTreeMap<u32, usize>,
}

/// A file as the compiler sees it.
pub struct Rendered {
    pub text: String,
    regions: Vec<Region>,
}

/// Bytes of the rendered text, and the faults that they are there for.
struct Region {
    bytes: Range<usize>,
    faults: Vec<u32>,
    /// Whether it is what a fault runs, and not what runs without it.
    faulty: bool,
}

impl Schema {
    pub fn new(text: String, edits: Vec<Edit>) -> Result<Self, Failure> {
        let source = Source::read(&text)?;
        Ok(Self { text, source, edits, refused: BTreeMap::new() })
    }

    /// The place in which a fault is switched; none if it needs a build of its own.
    fn place(&self, edit: &Edit) -> Option<Place> {
        let refused = self.refused.get(&edit.fault).copied().unwrap_or(0);
        self.source.places(&edit.range, &edit.to).into_iter().nth(refused)
    }

    /// The faults that can not be switched.
    pub fn alone(&self) -> impl Iterator<Item = u32> {
        self.edits.iter().filter(|edit| self.place(edit).is_none()).map(|edit| edit.fault)
    }

    /// Takes note that a fault does not compile where it is switched.
    pub fn refuse(&mut self, fault: u32) {
        *self.refused.entry(fault).or_default() += 1;
    }

    /// The file with all its switches and, where one is named, with a fault that is simply there.
    pub fn render(&self, planted: Option<u32>) -> Rendered {
        let mut places: BTreeMap<Place, Vec<&Edit>> = BTreeMap::new();
        for edit in &self.edits {
            if let Some(place) = self.place(edit) {
                places.entry(place).or_default().push(edit);
            }
        }
        // Outer places before those inside them.
        let mut places: Vec<(Place, Vec<&Edit>)> = places.into_iter().collect();
        places.sort_by_key(|(place, _)| (place.start, std::cmp::Reverse(place.end), place.kind));
        let planted = self.edits.iter().find(|edit| Some(edit.fault) == planted);
        let mut writer = Writer { text: &self.text, planted, out: String::new(), regions: Vec::new() };
        writer.write(0..self.text.len(), &places);
        Rendered { text: writer.out, regions: writer.regions }
    }
}

struct Writer<'a> {
    text: &'a str,
    planted: Option<&'a Edit>,
    out: String,
    regions: Vec<Region>,
}

impl Writer<'_> {
    /// Writes a range of the source with the switches of the places inside it.
    fn write(&mut self, range: Range<usize>, places: &[(Place, Vec<&Edit>)]) {
        let mut at = range.start;
        let mut rest = places;
        while let Some(((place, edits), following)) = rest.split_first() {
            let inner = following.iter().take_while(|(p, _)| p.start < place.end).count();
            let (inner, outer) = following.split_at(inner);
            self.copy(at..place.start);
            self.switch(place, edits, inner);
            at = place.end;
            rest = outer;
        }
        self.copy(at..range.end);
    }

    /// Writes source as it stands, but for the planted fault.
    fn copy(&mut self, range: Range<usize>) {
        match self.planted {
            Some(edit) if range.start <= edit.range.start && edit.range.end <= range.end => {
                self.out.push_str(&edited(self.text, &range, edit));
            }
            _ => self.out.push_str(&self.text[range]),
        }
    }

    fn switch(&mut self, place: &Place, edits: &[&Edit], inner: &[(Place, Vec<&Edit>)]) {
        let range = place.start..place.end;
        let start = self.out.len();
        match place.kind {
            Kind::Arm => {
                self.out.push_str(" if true");
                for edit in edits {
                    self.out.push_str(&format!(" && !crate::mutant::on({})", edit.fault));
                }
                // What stands here is a guard, or nothing.
                match self.text[range.clone()].find("if") {
                    Some(at) => {
                        self.out.push_str(" && (");
                        self.write(range.start + at + "if".len()..range.end, inner);
                        self.out.push_str(") ");
                    }
                    None => self.copy(range),
                }
            }
            Kind::Body | Kind::Expression => {
                let (open, close) = if place.kind == Kind::Body { ("{ ", " }") } else { ("(", ")") };
                self.out.push_str(open);
                for edit in edits {
                    self.out.push_str(&format!("if crate::mutant::on({}) {{ ", edit.fault));
                    let from = self.out.len();
                    self.out.push_str(&edited(self.text, &range, edit));
                    self.regions.push(Region { bytes: from..self.out.len(), faults: vec![edit.fault], faulty: true });
                    self.out.push_str(" } else ");
                }
                self.out.push_str("{ ");
                self.write(range, inner);
                self.out.push_str(" }");
                self.out.push_str(close);
            }
        }
        let faults = edits.iter().map(|edit| edit.fault).collect();
        self.regions.push(Region { bytes: start..self.out.len(), faults, faulty: false });
    }
}

/// A range of the source with this edit in it.
fn edited(text: &str, range: &Range<usize>, edit: &Edit) -> String {
    [&text[range.start..edit.range.start], &edit.to, &text[edit.range.end..range.end]].concat()
}

impl Rendered {
    /// The faults to blame for what the compiler says of these bytes: the one that would run there, else those that are
    /// switched there.
    pub fn blamed(&self, bytes: &Range<usize>) -> Option<(bool, &[u32])> {
        let around = |region: &&Region| region.bytes.start <= bytes.start && bytes.end <= region.bytes.end;
        let smallest = |faulty: bool| {
            let regions = self.regions.iter().filter(around).filter(|region| region.faulty == faulty);
            regions.min_by_key(|region| region.bytes.len())
        };
        let region = smallest(true).or_else(|| smallest(false))?;
        Some((region.faulty, &region.faults))
    }
}
