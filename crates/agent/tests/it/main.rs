//! Tests of the agent that need neither privileges nor a kernel of their own.

mod choice;
mod codec;
mod config;
mod hard;
mod native;
mod oracle;
mod peers;
mod record;
mod status;
