use std::sync::mpsc::{Receiver, sync_channel};
use std::time::{Duration, Instant};

use super::alertmanager::Alertmanager;
use super::document::Document;
use super::queue::{Channel, Queue};
use super::receiver::{Reports, TROUBLES_MAX, Timing};
use super::trouble::Trouble;
use crate::{Alarm, Change, SendTo};

/// Sends alarms to all receivers. Only [`Senders::finish`] waits.
#[derive(Debug)]
pub struct Senders {
    host: String,
    alertmanagers: Vec<Alertmanager>,
    queues: Vec<Queue>,
    troubles: Receiver<Trouble>,
}

impl Senders {
    /// Starts a thread for each receiver. `host` is the name of this host in messages.
    ///
    /// # Errors
    /// If no thread can be started.
    pub fn start(send: &SendTo, host: &str, timing: Timing) -> std::io::Result<Self> {
        let (sender, troubles) = sync_channel(TROUBLES_MAX);
        let reports = |to: String| Reports::new(to, sender.clone());
        let mut senders =
            Self { host: host.to_owned(), alertmanagers: Vec::new(), queues: Vec::new(), troubles };
        for address in &send.alertmanagers {
            let reports = reports(format!("Alertmanager at {address}"));
            let started = Alertmanager::start(address.clone(), host, timing, reports)?;
            senders.alertmanagers.push(started);
        }
        for address in &send.webhooks {
            let reports = reports(format!("the web hook at {address}"));
            let way = Channel::Webhook(address.clone());
            senders.queues.push(Queue::start(way, timing, reports)?);
        }
        if let Some(program) = &send.command {
            let reports = reports(format!("the program {}", program.path.display()));
            let way = Channel::Command(program.clone());
            senders.queues.push(Queue::start(way, timing, reports)?);
        }
        Ok(senders)
    }

    /// Sends changes of alarms, and the alarms that are active after them.
    pub fn tell<'a>(&self, changes: &[Change], active: impl Iterator<Item = &'a Alarm>) {
        if !self.alertmanagers.is_empty() {
            let active: Vec<Alarm> = active.cloned().collect();
            self.alertmanagers.iter().for_each(|own| own.tell(changes, &active));
        }
        for change in changes {
            let message = Document::new(&self.host, change).bytes();
            self.queues.iter().for_each(|queue| queue.add(message.clone()));
        }
    }

    /// Returns the troubles reported since the last call.
    pub fn troubles(&self) -> impl Iterator<Item = Trouble> + '_ {
        self.troubles.try_iter()
    }

    /// Delivers the waiting messages, for at most `patience`, and returns the last troubles.
    pub fn finish(self, patience: Duration) -> Vec<Trouble> {
        let until = Instant::now() + patience;
        self.alertmanagers.into_iter().for_each(|own| own.finish(until));
        self.queues.into_iter().for_each(|own| own.finish(until));
        self.troubles.try_iter().collect()
    }
}
