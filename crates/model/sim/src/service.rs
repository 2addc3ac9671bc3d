//! Modelled services that answer calls.
//!
//! A service is an M/M/c queue as in textbooks: a number of equal servers behind one queue, first
//! come first served, with exponential service times. It is a station of `hardware`, and all
//! callers of endpoints with the same name call the same service. Connections, protocols and bytes
//! take no time of their own: the mean includes their time.

use hardware::{Alarm, Array, ModelEffects, ParameterError, ServiceTime, Station, Ticket, Volume};
use state_machine::{Call, DiskId, IoRequest, KindId, Operation, Pattern, Purpose, Stream, Token};
use units::{Bytes, Nanos};

/// Parallelism and speed of a modelled service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServiceParameters {
    /// Number of calls served at the same time, at least 1.
    pub servers: u32,
    /// Mean service time, above zero.
    pub mean: Nanos,
}

/// All services of a run. Without any, every call is answered at once.
#[derive(Debug, Default)]
pub struct Services(Option<Array>);

impl Services {
    /// Makes idle services. For each instance, `endpoints` has the position of the service behind
    /// each of its endpoints; `seed` is the seed of the service times.
    ///
    /// # Errors
    ///
    /// If a service has no server or a mean time of zero.
    pub fn new(
        services: &[ServiceParameters],
        endpoints: &[Vec<usize>],
        seed: u64,
    ) -> Result<Self, ParameterError> {
        let (mut array, mut parts) = (Array::new(), Vec::new());
        for (service, number) in services.iter().zip(0..) {
            let stream = Stream::derive(seed, &[number], Purpose::Service);
            let time = ServiceTime::Exponential(service.mean, stream);
            parts.push(array.add(Station::new(service.servers, time, None)?));
        }
        for own in endpoints {
            let volume = |service: &usize| Volume {
                entry: parts[*service],
                base: 0,
                size: Bytes::new(u64::MAX),
            };
            array.add_instance(&own.iter().map(volume).collect::<Vec<_>>());
        }
        Ok(Self(Some(array)))
    }

    /// Accepts a call of the instance at this position.
    pub(crate) fn submit(
        &mut self,
        now: Nanos,
        (instance, ticket): (usize, Ticket),
        call: &Call,
        fx: &mut ModelEffects<Alarm>,
    ) {
        let Some(array) = &mut self.0 else {
            return fx.done.push((now, ticket, Ok(())));
        };
        array.submit(now, instance, ticket, &job(call), fx);
    }

    pub(crate) fn wake(&mut self, now: Nanos, alarm: Alarm, fx: &mut ModelEffects<Alarm>) {
        if let Some(array) = &mut self.0 {
            array.wake(now, alarm, fx);
        }
    }
}

/// Returns a call in the form that a station accepts: a read of its answer.
fn job(call: &Call) -> IoRequest {
    IoRequest {
        token: Token(0),
        disk: DiskId(call.endpoint.0),
        operation: Operation::Read,
        kind: KindId(0),
        offset: 0,
        length: call.size,
        due: call.due,
        pattern: Pattern::default(),
        durable: false,
    }
}
