//! Devices of a module: their number and mesh, the groups that collectives name, the exchanges between them, and the plan of a
//! compiled collective.

pub mod device;
pub mod device_exchange;
pub mod group_list;
pub mod planned_collective;
pub mod sharding_mesh;
