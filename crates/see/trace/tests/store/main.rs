//! Tests of the trace store through its public interface.

mod document;
mod round_trip;
mod trouble;
