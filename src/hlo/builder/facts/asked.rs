//! Settings of an instruction on its way into a program, with those of what surrounds it.

use std::sync::Arc;

use crate::ir::Setting;

use crate::ast;
use crate::builder::lowering::Lowering;
use crate::builder::surroundings::Scope;
use crate::settings::Read;

impl<'a> Lowering<'a> {
    /// The settings of an instruction that the machine does not follow.
    pub fn settings_of(&mut self, instruction: &'a ast::Instruction, scope: &Scope) -> Option<Arc<[Setting]>> {
        let own = self.own_settings(instruction);
        if own.is_empty() && scope.settings.is_empty() {
            return None;
        }
        let mut all = [&scope.settings[..], &own].concat();
        all.sort();
        all.dedup();
        Some(all.into())
    }

    /// Whether anything is asked of an instruction itself.
    pub fn asks(&mut self, instruction: &'a ast::Instruction) -> bool {
        !self.own_settings(instruction).is_empty()
    }

    fn own_settings(&mut self, instruction: &'a ast::Instruction) -> Vec<Setting> {
        let mut read: Read = std::mem::take(&mut self.settings);
        let own = read.of(instruction, &|name| self.find(name)).to_vec();
        self.settings = read;
        own
    }
}
