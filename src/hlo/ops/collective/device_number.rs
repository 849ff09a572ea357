//! The number that a device has among partitions or replicas.

use crate::builder::fill::integer;
use crate::builder::{Emitter, Value};
use crate::devices::device::Devices;
use crate::error::LowerError;
use crate::opcode::DeviceNumber;
use crate::tensor::DType;

type Result<T> = std::result::Result<T, LowerError>;

/// `partition-id` or `replica-id`.
pub fn lower(e: &mut Emitter, number: DeviceNumber) -> Result<Value> {
    let Devices { replicas, partitions, .. } = e.lowering.devices;
    let is_partition = match number {
        DeviceNumber::PartitionId => true,
        DeviceNumber::ReplicaId => false,
    };
    let mut numbers = Vec::new();
    for number in 0..if is_partition { partitions } else { replicas } {
        numbers.push(Value::Array(integer(e, DType::U32, number as i64, &[])?));
    }
    let own = |device: usize| numbers[if is_partition { device % partitions } else { device / partitions }].clone();
    Ok(Value::of_devices((0..replicas * partitions).map(own).collect()))
}
