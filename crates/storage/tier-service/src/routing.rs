//! Routing of a disk's requests to its current owner, by [`Standing`], and the change of the owner
//! at the end of a move.

use std::time::Instant;

use block_server::{Effects, Request};
use nbd::{Code, Operation};
use tier::ownership::{Course, Pulled, Standing};
use tier::{Event, Order, REQUEST_BYTES_MAX};

use crate::core::Core;
use crate::error::Refusal;
use crate::inbox::{ElsewhereReport, Move};
use crate::opening::Opening;
use crate::route::{Giving, Other, Route, Shape, TellGiving, Want};

impl Core {
    /// Routes a request of a client of this server.
    pub(crate) fn course(&mut self, at: usize, request: Request, fx: &mut Effects) {
        let changes =
            !matches!(request.operation, Operation::Read | Operation::Flush | Operation::Cache);
        let route = self.route(at);
        match route.standing.course(changes) {
            Course::Answer => {
                let index = route.index;
                self.submit(index, request, fx);
            }
            Course::Ask if request.operation == Operation::Cache => {
                fx.answer(request.id, Err(Code::NotSupported), request.data);
            }
            Course::Ask => route.want(Want::Ask(request, Instant::now())),
            Course::Wait => route.waiting.push((Instant::now(), request)),
            Course::Pull => {
                route.waiting.push((Instant::now(), request));
                route.standing = Standing::Pulling;
                route.want(Want::Pull);
            }
        }
    }

    fn route(&mut self, at: usize) -> &mut Route {
        self.routes[at].as_mut().expect("a disk with clients has a route")
    }

    fn route_of(&mut self, name: &str) -> Option<(usize, &mut Route)> {
        let places = self.routes.iter_mut().enumerate();
        places.filter_map(|(at, route)| Some((at, route.as_mut()?))).find(|own| own.1.name == name)
    }

    fn put(&mut self, route: Route) -> usize {
        let at = self.routes.iter().position(Option::is_none).unwrap_or(self.routes.len());
        self.routes.resize_with(self.routes.len().max(at + 1), || None);
        self.routes[at] = Some(route);
        at
    }

    /// Lets clients use a disk of the set, which is new or was pulled.
    pub(crate) fn serve(
        &mut self,
        index: u16,
        opening: Opening,
        shape: Shape,
        fx: &mut Effects,
    ) -> usize {
        self.handle(Event::Order(Order::Serve { disk: index }), fx);
        let Some((at, route)) = self.route_of(&opening.name) else {
            return self.put(Route::near(opening, index, shape));
        };
        (route.standing, route.index, route.line) = (Standing::Near, index, None);
        self.say(format!("this server now owns {}", opening.name));
        self.release(at, fx);
        at
    }

    /// Sends a message to the operator. The receiver may have been dropped.
    fn say(&self, words: String) {
        let _ = self.inbox.told.send(words);
    }

    /// Returns the shape and the maximum request size of a disk that other servers may read here,
    /// because this server owns it.
    pub(crate) fn owned(&self, name: &str) -> Option<(Shape, u32)> {
        let mut routes = self.routes.iter().flatten();
        let route = routes.find(|own| own.name == name && own.standing.answers_servers())?;
        Some((route.shape, self.tier.request_bytes_max().min(REQUEST_BYTES_MAX)))
    }

    /// Returns the shape of a disk that this server is pulling.
    pub(crate) fn pulled(&self, name: &str) -> Option<Shape> {
        let mut routes = self.routes.iter().flatten();
        let is_pulled = |own: &&Route| own.name == name && own.standing == Standing::Pulling;
        routes.find(is_pulled).map(|route| route.shape)
    }

    /// Sends waiting requests to the new owner.
    fn release(&mut self, at: usize, fx: &mut Effects) {
        for (_, request) in std::mem::take(&mut self.route(at).waiting) {
            self.course(at, request, fx);
        }
    }

    /// Drops the route of a detached disk, unless another server owns the disk now.
    pub(crate) fn drop_near(&mut self, index: u16) {
        for route in &mut self.routes {
            route.take_if(|own| own.index == index && own.standing == Standing::Near);
        }
    }

    /// Handles a step of a disk's move.
    pub(crate) fn moved(&mut self, what: Move, fx: &mut Effects) {
        match what {
            Move::Come { opening, shape, line, tell } => {
                let taken = self.route_of(&opening.name).is_some();
                let _ = tell.send(match taken {
                    true => Err("a disk of this name is already served".into()),
                    false => Ok(self.put(Route::far(*opening, shape, line))),
                });
            }
            Move::Drop(name) => {
                if let Some((at, _)) = self.route_of(&name) {
                    self.routes[at] = None;
                }
            }
            Move::Asked(name, request) => match self.route_of(&name) {
                Some((_, route)) if route.standing.answers_servers() => {
                    let index = route.index;
                    self.submit(index, request, fx);
                }
                _ => fx.answer(request.id, Err(Code::Shutdown), request.data),
            },
            Move::Said(words) => self.say(words),
            Move::Answer(id, result, data) => fx.answer(id, result, data),
            Move::Give { name, to, tell } => self.give(&name, &to, tell),
            Move::Given(name, line) => {
                let words = format!("{name} was released to {}", line.other.address);
                if let Some((at, route)) = self.route_of(&name) {
                    (route.standing, route.line) = (Standing::Far, Some(line));
                    self.release(at, fx);
                }
                self.say(words);
            }
            Move::Failed { name, why } => {
                if let Some((_, route)) = self.route_of(&name)
                    && route.standing == Standing::Pulling
                {
                    route.standing = Standing::Far;
                    self.expire(&name, None, fx);
                }
                // The reader is a person: reason and hint are on a line each.
                let hint = why.hint.iter().map(|hint| format!("\nhint: {hint}"));
                self.say(format!("{name} is not pulled: {why}{}", hint.collect::<String>()));
            }
            Move::Expire(name, since) => self.expire(&name, Some(since), fx),
        }
    }

    /// Fails the requests of a disk that have waited since `since` or longer; all waiting requests
    /// for `None`. None of these requests was started.
    fn expire(&mut self, name: &str, since: Option<Instant>, fx: &mut Effects) {
        let Some((_, route)) = self.route_of(name) else { return };
        let is_late = |at: &Instant| since.is_none_or(|since| *at <= since);
        let (late, rest) =
            std::mem::take(&mut route.waiting).into_iter().partition(|(at, _)| is_late(at));
        route.waiting = rest;
        let late: Vec<(Instant, Request)> = late;
        for (_, request) in late {
            fx.answer(request.id, Err(Code::Io), request.data);
        }
    }

    /// Begins to give up a disk for another server.
    fn give(&mut self, name: &str, to: &Other, tell: TellGiving) {
        let refused = |why: &str| {
            let _ = tell.send(Err(Refusal::new(format!("{name} is not released: {why}"))));
        };
        let has_failed = self.inbox.has_failed;
        let Some((at, route)) = self.route_of(name) else { return refused("it is not served") };
        let heir = route.line.as_ref().is_some_and(|line| line.other == *to);
        let pulled = route.standing.pulled(heir);
        let giving =
            Giving { index: route.index, opening: route.opening.clone(), shape: route.shape };
        match pulled {
            Pulled::Given => return drop(tell.send(Ok(None))),
            Pulled::Refused => return refused("another server owns it, or is about to"),
            Pulled::Give => {}
        }
        let status = self.tier.status(giving.index);
        let is_stuck = |status: &tier::DiskStatus| {
            status.is_damaged || status.is_fenced || (has_failed && status.mode == tier::Mode::Back)
        };
        if status.as_ref().is_none_or(is_stuck) {
            return refused("its log cannot be written to its backing store");
        }
        self.route(at).standing = Standing::Giving;
        self.quiet.push((giving, tell));
        self.tell_quiet();
    }

    /// Lets disks move once they have no request in progress.
    pub(crate) fn tell_quiet(&mut self) {
        for (giving, tell) in std::mem::take(&mut self.quiet) {
            if self.requests.has(giving.index) {
                self.quiet.push((giving, tell));
            } else {
                let _ = tell.send(Ok(Some(giving)));
            }
        }
    }

    /// Returns the disks that this server does not own, or is about to give up.
    pub(crate) fn elsewhere(&self) -> Vec<ElsewhereReport> {
        let routes = self.routes.iter().flatten();
        routes
            .filter(|route| route.standing != Standing::Near)
            .map(|route| ElsewhereReport {
                name: route.name.clone(),
                owner: route.line.as_ref().map(|line| line.other.address.clone()),
                is_pulled: route.standing == Standing::Pulling,
                waiting: route.waiting.len(),
            })
            .collect()
    }
}

impl Route {
    fn want(&self, want: Want) {
        let line =
            self.line.as_ref().expect("a disk that is owned elsewhere has a line to its owner");
        // Sending fails only if the thread ended together with the server.
        let _ = line.wants.send(want);
    }
}
