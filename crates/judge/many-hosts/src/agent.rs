use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

use bench::BenchError;
use bench::fleet::{DiskNeed, Driven, StepOrder, driven, fleet};
use bench::plan::{Layer, Origin, ResolvedPlan, Surroundings, resolve};
use bench::progress::{Control, Request};
use bench::rig::{Load, Logins, PrefillSoFar, RealRig, Rig, reach};
use bench::run::{ReusableRun, RunPart, caches, summary, target_facts, warnings};
use cluster::{Asked, ClusterError, Invitation, Member};
use datastore::{Datastore, Preflight, Removed};
use run_store::run::ToolFacts;
use units::{Bytes, Nanos};

use crate::allowed::{Allowed, Permitted};
use crate::hold::{HeldBy, Hold};
use crate::refusal::{AgentError, data, json, read, remote, to_data};
use crate::seeing::{Seeing, Sight, in_memory};
use crate::simulating::{Foreseeing, Simulating};
use crate::under_way::{Eyes, UnderWay, held};
use crate::wire::{
    Began, Begin, Examined, Failed, Hello, Job, JobDone, JobState, Lose, Lost, Open, Opened, Order,
    Put, Ready, Refused, Reusable, Said, Sees, SimulateStep, Simulation, Stand, Study, Take,
    step_name, topic,
};

/// Permissions and identity of an agent, which drives load on its host for a controller.
#[derive(Debug, Clone)]
pub struct AgentOptions {
    /// Targets that may be written on this host.
    pub allowed: Allowed,
    /// Version of the program.
    pub tool: ToolFacts,
    /// Executable file of the program, which is also run as the process of web sites.
    pub program: PathBuf,
    /// Directory for verification state that cannot be stored beside the disks.
    pub base: PathBuf,
    /// Silence after which a controller counts as lost.
    pub lease: Duration,
    /// Maximum time to reach the controller.
    pub join_within: Duration,
    /// Function that carries out commands of the program on one host.
    pub commands: fn(&Order) -> Result<Said, AgentError>,
    /// Name of this agent among several on one host; empty for the only one.
    pub slot: String,
}

/// Reason why an agent's work for its controller ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AgentEnd {
    /// The controller had no further orders.
    Left,
    /// The controller is lost.
    Alone {
        /// Files that could not be removed, with the reason.
        not_removed: Vec<String>,
    },
    /// A user of this host stopped the agent.
    Stopped {
        /// Files that could not be removed, with the reason.
        not_removed: Vec<String>,
    },
}

/// Agent on this host for one controller.
pub struct Agent {
    options: AgentOptions,
    /// Lock of this host, or its current holder.
    hold: Result<Hold, HeldBy>,
    invitation: Invitation,
    member: RwLock<Option<Arc<Member>>>,
    /// End of a simulated power loss; `None` outside of one.
    away: Mutex<Option<Instant>>,
    has_left: AtomicBool,
    open: Mutex<Option<OpenRun>>,
    rig: Mutex<Option<RealRig>>,
    job: Mutex<Option<Arc<JobUnderWay>>>,
    ready: Mutex<Option<Built>>,
    load: Mutex<Option<(Arc<UnderWay>, Began)>>,
    study: Mutex<Option<Arc<Simulating>>>,
    steps: Mutex<Option<Arc<Foreseeing>>>,
    seeing: Seeing,
}

/// VMs of a load that has not started.
struct Built {
    epoch: u64,
    driven: Vec<Driven>,
    guests: BTreeMap<u32, String>,
}

struct OpenRun {
    run_id: String,
    made_by: String,
    plan: ResolvedPlan,
    opened: Opened,
}

#[derive(Debug)]
struct JobUnderWay {
    job: Job,
    stop: AtomicBool,
    state: Mutex<JobState>,
}

/// Interval between checks for the controller.
const LOOK: Duration = Duration::from_millis(20);
/// Maximum wait of a request for the end of a load.
const FINISH_WAIT: Duration = Duration::from_secs(2);
/// Maximum wait for requests in flight after the controller is lost.
const END_WAIT: Duration = Duration::from_secs(10);

impl Agent {
    /// Joins, carries out orders, and ends with the controller or when `control` stops it. At the
    /// end everything that it created is removed, except for objects that the controller told it to
    /// keep.
    ///
    /// # Errors
    ///
    /// If it cannot join.
    pub fn run(
        invitation: &Invitation,
        options: AgentOptions,
        control: &Control,
    ) -> Result<AgentEnd, ClusterError> {
        let agent = Arc::new(Self {
            hold: Hold::take(&options.slot),
            options,
            invitation: invitation.clone(),
            member: RwLock::default(),
            away: Mutex::default(),
            has_left: AtomicBool::new(false),
            open: Mutex::default(),
            rig: Mutex::default(),
            job: Mutex::default(),
            ready: Mutex::default(),
            load: Mutex::default(),
            study: Mutex::default(),
            steps: Mutex::default(),
            seeing: Seeing::default(),
        });
        agent.join()?;
        loop {
            std::thread::sleep(LOOK);
            if agent.has_left.load(Ordering::Acquire) {
                // The answer to that request must still be sent.
                std::thread::sleep(LOOK);
                agent.end();
                return Ok(AgentEnd::Left);
            }
            if control.request() != Request::GoOn {
                return Ok(AgentEnd::Stopped { not_removed: agent.end() });
            }
            let is_alone = || agent.member().is_none_or(|member| member.is_alone());
            if !agent.is_away() && is_alone() {
                return Ok(AgentEnd::Alone { not_removed: agent.end() });
            }
        }
    }

    /// Joins the controller, replacing the former membership.
    fn join(self: &Arc<Self>) -> Result<(), ClusterError> {
        let AgentOptions { lease, join_within, .. } = self.options;
        let answering = Arc::clone(self);
        let answer =
            move |asked: Asked| answering.answer(&asked).map_err(|error| error.to_remote());
        let member = Member::join(&self.invitation, lease, join_within, Box::new(answer))?;
        let mut place = self.member.write().unwrap_or_else(PoisonError::into_inner);
        let before = place.replace(Arc::new(member));
        drop(place);
        // Leaving a lost controller may take a while.
        std::thread::spawn(move || drop(before));
        Ok(())
    }

    fn member(&self) -> Option<Arc<Member>> {
        self.member.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns true during a simulated power loss. Joins again at its end. A failure to join is
    /// detected as for any agent without a controller.
    fn is_away(self: &Arc<Self>) -> bool {
        let until = *held(&self.away);
        match until {
            None => false,
            Some(until) if Instant::now() < until => true,
            Some(_) => {
                let _ = self.join();
                *held(&self.away) = None;
                false
            }
        }
    }

    /// Ends load and job, and removes everything that was created. Returns the objects that could
    /// not be removed.
    fn end(&self) -> Vec<String> {
        let mut not_ended = self.seeing.end(END_WAIT);
        if let Some((load, _)) = held(&self.load).take() {
            load.stop();
            let _ = load.finished(END_WAIT);
        }
        if let Some(job) = held(&self.job).take() {
            job.stop.store(true, Ordering::Release);
        }
        let until = Instant::now() + END_WAIT;
        while Instant::now() < until {
            if let Ok(mut rig) = self.rig.try_lock() {
                let removed = rig.take().map(RealRig::clear);
                let failed = removed.iter().flat_map(|removed| &removed.failed);
                not_ended.extend(failed.map(ToString::to_string));
                return not_ended;
            }
            std::thread::sleep(LOOK);
        }
        not_ended.push("a job did not end".to_owned());
        not_ended
    }

    fn answer(self: &Arc<Self>, asked: &Asked) -> Result<Vec<u8>, AgentError> {
        let question = &asked.question;
        match asked.topic.as_str() {
            topic::HELLO => json(&self.hello()),
            topic::EXAMINE => json(&self.examined(&read(question)?)?),
            topic::COMMAND => json(&self.said(&read(question)?)?),
            topic::KEPT => json(&self.kept(&read(question)?)?),
            topic::OPEN => json(&self.opened(read(question)?)?),
            topic::SEES => json(&self.sees(&read(question)?)?),
            topic::JOB => json(&self.begin_job(read(question)?)?),
            topic::JOB_STATE => json(&self.with_job(|job| held(&job.state).clone())?),
            topic::JOB_STOP => json(&self.with_job(|job| job.stop.store(true, Ordering::Release))?),
            topic::READY => json(&self.ready(read(question)?)?),
            topic::BEGIN => json(&self.begin(&read(question)?)?),
            topic::MARK => json(&self.of_load(read(question)?, UnderWay::mark)?),
            topic::STOP => json(&self.of_load(read(question)?, UnderWay::stop)?),
            topic::FINISH => {
                json(&self.of_load(read(question)?, |load| load.finished(FINISH_WAIT))?)
            }
            topic::SLICE => {
                let Lost { epoch, number } = read(question)?;
                let kept = self.of_load(epoch, |load| load.slice(number))?;
                Ok(kept.map_or_else(Vec::new, |bytes| bytes.as_ref().clone()))
            }
            topic::TAKE => {
                let Take { epoch, tile } = data(question)?;
                to_data(&self.of_load(epoch, |load| load.take(tile))??)
            }
            topic::PUT => {
                let Put { epoch, tile, taken } = data(question)?;
                to_data(&self.of_load(epoch, |load| load.put(tile, taken))??)
            }
            topic::STAND => {
                let Stand { epoch, for_ns } = read(question)?;
                json(&self.of_load(epoch, |load| load.stand_still(Nanos(for_ns)))??)
            }
            topic::LOSE => json(&self.lose(&read(question)?)?),
            topic::STUDY => json(&self.begin_study(read(question)?)?),
            topic::POINT => json(&self.study()?.begin(read(question)?)?),
            topic::POINT_OUTCOME => json(&self.study()?.outcome(read(question)?)?),
            topic::STUDY_STOP => json(&self.study()?.stop()),
            topic::SIMULATION => json(&self.begin_simulation(read(question)?)?),
            topic::STEP => json(&self.begin_step(&read(question)?)?),
            topic::STEP_OUTCOME => json(&self.steps()?.outcome(read(question)?)?),
            topic::LEAVE => {
                self.has_left.store(true, Ordering::Release);
                json(&())
            }
            topic::WATCH => self.watched(question),
            asked if Seeing::is_asked(asked) => {
                self.seeing.answer(asked, question, |who| self.sight(who))
            }
            other => Err(AgentError::refused(format!("{other:?} is not a known request"))),
        }
    }

    fn hold(&self) -> Result<&Hold, AgentError> {
        let hold = self.hold.as_ref().map_err(HeldBy::clone)?;
        match hold.is_released() {
            true => Err(AgentError::refused("it reads its watch store for this controller only")),
            false => Ok(hold),
        }
    }

    /// Answers a question about the watch store. A page may be open for days, and reading does not
    /// disturb runs. So the host is released for others that want to measure.
    fn watched(&self, question: &[u8]) -> Result<Vec<u8>, AgentError> {
        if let Ok(hold) = &self.hold {
            hold.release();
        }
        crate::watching::answered(&self.options.allowed, question)
    }

    /// Returns the resources for a recording. Holds this host for its controller.
    fn sight(self: &Arc<Self>, who: &str) -> Result<Sight, AgentError> {
        let hold = self.hold()?;
        hold.is_held_by(who.to_owned());
        let AgentOptions { allowed, base, tool, .. } = self.options.clone();
        let own = Arc::clone(self);
        let offer = move |what: &str, file| match own.member() {
            Some(member) => member.offer(what, file),
            None => Err(std::io::ErrorKind::NotConnected.into()),
        };
        Ok(Sight { allowed, base, tool, offer: Box::new(offer) })
    }

    fn hello(&self) -> Hello {
        Hello {
            tool: self.options.tool.clone(),
            hostname: rustix::system::uname().nodename().to_string_lossy().into_owned(),
            allowed: self.options.allowed.names(),
            held_by: self.hold.as_ref().err().map(|by| by.0.clone()),
            processors: std::thread::available_parallelism().map_or(1, Into::into),
        }
    }

    /// Examines the target without writing.
    fn examined(&self, asked: &Open) -> Result<Examined, AgentError> {
        let plan = resolved(asked)?;
        let permitted = self.allowed(&plan, asked)?;
        let options = store_options(&plan, asked);
        let needed = Bytes::new(asked.needed_bytes);
        let found = datastore::examine(permitted.target(), needed, &options);
        let refused = |refusal: &datastore::Refusal| Refused {
            id: refusal.id().to_owned(),
            text: permitted.named(&refusal.to_string()),
            hint: refusal.hint(),
        };
        let refusals = found.refusals.iter().map(refused).collect();
        let preflight = Preflight { target: permitted.text(), ..found.preflight };
        Ok(Examined { preflight, refusals })
    }

    /// Returns the runs whose disks fit this host's part.
    fn kept(&self, asked: &Reusable) -> Result<Vec<ReusableRun>, AgentError> {
        let plan = resolved(&asked.open)?;
        self.allowed(&plan, &asked.open)?;
        let Ok(reuse) = asked.reuse.parse();
        let suffix = format!("-{}", self.invitation.member());
        let part = RunPart { suffix: &suffix, tiles: Some(&asked.open.tiles) };
        Ok(bench::run::kept(&plan, &reuse, part)?)
    }

    fn said(&self, order: &Order) -> Result<Said, AgentError> {
        let hold = self.hold()?;
        let checked = order.target().map(|target| self.options.allowed.check(target, false));
        let permitted = checked.transpose()?;
        hold.is_held_by("a controller that looks for leftovers".to_owned());
        let Some(permitted) = permitted else { return (self.options.commands)(order) };
        let order = order.with_target(permitted.target().to_string());
        let mut said = (self.options.commands)(&order)
            .map_err(|error| permitted.named_error(error.to_remote()))?;
        said.text = permitted.named(&said.text);
        said.errors = said.errors.iter().map(|text| permitted.named(text)).collect();
        // In this document only strings contain paths.
        let document = permitted.named(&said.document.to_string());
        said.document = serde_json::from_str(&document).unwrap_or(said.document);
        Ok(said)
    }

    fn allowed(&self, plan: &ResolvedPlan, asked: &Open) -> Result<Permitted, AgentError> {
        Ok(self.options.allowed.check(&plan.datastore, asked.allowances.allow_root_fs)?)
    }

    fn opened(&self, asked: Open) -> Result<Opened, AgentError> {
        let hold = self.hold()?;
        let mut open = held(&self.open);
        match open.as_ref() {
            Some(known) if known.run_id == asked.run_id => return Ok(known.opened.clone()),
            Some(known) => {
                return Err(AgentError::refused(format!("run {} is open here", known.run_id)));
            }
            None => {}
        }
        let plan = resolved(&asked)?;
        let permitted = self.allowed(&plan, &asked)?;
        let target = permitted.target();
        let options = store_options(&plan, &asked);
        // A controller cannot make this host read one of its files, so passwords and authorities stay at home.
        let services = reach(&plan, &Logins::new())?;
        let store = Datastore::open(target, Bytes::new(asked.needed_bytes), &options)
            .map_err(|error| permitted.named_error(remote(&BenchError::from(error))))?;
        let preflight = Preflight { target: permitted.text(), ..store.preflight().clone() };
        let environment = run_store::env::capture(permitted.path(), self.options.tool.clone());
        let value = |document| serde_json::to_value(document).unwrap_or_default();
        let opened = Opened {
            capacity_bytes: store.capacity().get(),
            summary: summary(&preflight),
            kind: target_facts(&plan, target, &preflight).kind,
            path: store.path().display().to_string(),
            warnings: warnings(&preflight).collect(),
            caches: caches(&plan, &preflight),
            preflight: serde_json::to_value(&preflight).unwrap_or_default(),
            environment: value(environment),
        };
        let state = self.options.base.join(format!("{}.verify", asked.run_id));
        let rig = RealRig::new(store, &plan, asked.allowances.keep, state)?;
        let rig = rig.with_services(services);
        // An agent that is to stop ends, and its servers with it.
        let rig = rig.with_servers(&asked.run_id, &self.options.program, Arc::default());
        *held(&self.rig) = Some(rig);
        hold.is_held_by(format!("run {} of {}", asked.run_id, asked.controller));
        let made_by = asked.made_by().to_owned();
        *open = Some(OpenRun { run_id: asked.run_id, made_by, plan, opened: opened.clone() });
        Ok(opened)
    }

    /// Starts to simulate points of a study. A repeated request changes nothing.
    fn begin_study(&self, asked: Study) -> Result<(), AgentError> {
        let hold = self.hold()?;
        let mut study = held(&self.study);
        if study.is_none() {
            hold.is_held_by(format!("study {}", asked.name));
            *study = Some(Simulating::new(asked.configurations));
        }
        Ok(())
    }

    fn study(&self) -> Result<Arc<Simulating>, AgentError> {
        held(&self.study).clone().ok_or_else(|| AgentError::refused("no study is simulated here"))
    }

    /// Starts to simulate steps of a run. A repeated request changes nothing.
    fn begin_simulation(&self, asked: Simulation) -> Result<(), AgentError> {
        let hold = self.hold()?;
        let mut steps = held(&self.steps);
        if steps.is_none() {
            hold.is_held_by("a simulation".to_owned());
            *steps = Some(Foreseeing::new(asked)?);
        }
        Ok(())
    }

    fn steps(&self) -> Result<Arc<Foreseeing>, AgentError> {
        held(&self.steps).clone().ok_or_else(|| AgentError::refused("no run is simulated here"))
    }

    fn begin_step(self: &Arc<Self>, asked: &SimulateStep) -> Result<(), AgentError> {
        let own = Arc::clone(self);
        let what = step_name(asked.number);
        if let Some(member) = self.member() {
            asked.received.iter().for_each(|number| member.withdraw(&step_name(*number)));
        }
        self.steps()?.begin(asked, move |bytes| {
            let member =
                own.member().ok_or_else(|| AgentError::refused("the controller is gone"))?;
            let file = in_memory(&bytes).map_err(AgentError::failed)?;
            member.offer(&what, file).map_err(AgentError::failed)
        })
    }

    fn plan(&self) -> Result<ResolvedPlan, AgentError> {
        let open = held(&self.open);
        open.as_ref()
            .map(|open| open.plan.clone())
            .ok_or_else(|| AgentError::refused("no run is open here"))
    }

    /// Returns true if this host sees the target that another host opened.
    fn sees(&self, asked: &Sees) -> Result<bool, AgentError> {
        let plan = self.plan()?;
        let target = plan.datastore.parse().map_err(AgentError::failed)?;
        let found = datastore::find_owned(&target).map_err(AgentError::failed)?;
        Ok(found.iter().any(|owned| owned.run_id == asked.run_id))
    }

    /// Starts a job on a separate thread. A repeated request changes nothing.
    fn begin_job(self: &Arc<Self>, job: Job) -> Result<(), AgentError> {
        let mut current = held(&self.job);
        if let Some(current) = current.as_ref()
            && matches!(*held(&current.state), JobState::Going { .. })
        {
            return match current.job == job {
                true => Ok(()),
                false => Err(AgentError::refused("another job is running")),
            };
        }
        let plan = self.plan()?;
        let going = JobState::Going { done: 0, total: 0, bytes_per_s: 0.0 };
        let begun =
            Arc::new(JobUnderWay { job, stop: AtomicBool::new(false), state: Mutex::new(going) });
        *current = Some(Arc::clone(&begun));
        let own = Arc::clone(self);
        let work = move || {
            let done = own.work(&plan, &begun);
            *held(&begun.state) = done.map_or_else(JobState::Failed, JobState::Done);
        };
        let spawned = std::thread::Builder::new().name("job".to_owned()).spawn(work);
        spawned.map(drop).map_err(AgentError::Thread)
    }

    fn work(&self, plan: &ResolvedPlan, under_way: &JobUnderWay) -> Result<JobDone, Failed> {
        let mut place = held(&self.rig);
        let missing = || failed(&BenchError::Hosts("nothing is open here".to_owned()));
        match &under_way.job {
            Job::Prepare { tiles } => {
                let rig = place.as_mut().ok_or_else(missing)?;
                let disks = disks_of(plan, tiles).map_err(|error| failed(&error))?;
                let mut tell = |so_far: PrefillSoFar| {
                    let PrefillSoFar { done, total, bytes_per_s } = so_far;
                    let (done, total) = (done.get(), total.get());
                    *held(&under_way.state) = JobState::Going { done, total, bytes_per_s };
                    !under_way.stop.load(Ordering::Acquire)
                };
                let prefilled = rig.prepare(&disks, &mut tell).map_err(|error| failed(&error))?;
                Ok(JobDone { prefilled, ..JobDone::default() })
            }
            Job::Keep => {
                if let Some(rig) = place.take() {
                    rig.keep();
                }
                Ok(JobDone::default())
            }
            Job::Check => {
                let rig = place.as_mut().ok_or_else(missing)?;
                let verified = rig.check_written().map_err(|error| failed(&error))?;
                Ok(JobDone { verified, ..JobDone::default() })
            }
            Job::CheckOf { run_id, tiles } => {
                let rig = place.as_mut().ok_or_else(missing)?;
                let disks = disks_of(plan, tiles).map_err(|error| failed(&error))?;
                let verified = rig.check_lent(run_id, &disks).map_err(|error| failed(&error))?;
                Ok(JobDone { verified, ..JobDone::default() })
            }
            Job::Clear { is_evidence } => {
                let Some(mut rig) = place.take() else { return Ok(JobDone::default()) };
                if *is_evidence {
                    let stays = rig.keep_evidence();
                    let stays = stays.iter().map(|path| path.display().to_string()).collect();
                    return Ok(JobDone { stays, ..JobDone::default() });
                }
                let Removed { kept, lingering, failed, .. } = rig.clear();
                let path = |path: &PathBuf| path.display().to_string();
                Ok(JobDone {
                    stays: kept.iter().chain(&lingering).map(path).collect(),
                    not_removed: failed.iter().map(ToString::to_string).collect(),
                    ..JobDone::default()
                })
            }
        }
    }

    fn with_job<T>(&self, get: impl FnOnce(&JobUnderWay) -> T) -> Result<T, AgentError> {
        held(&self.job).as_deref().map(get).ok_or_else(|| AgentError::refused("no job was started"))
    }

    fn ready(&self, asked: Ready) -> Result<(), AgentError> {
        let plan = self.plan()?;
        let Ready { epoch, order, guests } = asked;
        guests.values().try_for_each(|run_id| self.is_of_this_run(run_id))?;
        let driven = driven(&plan, &order)?;
        if let Some(rig) = held(&self.rig).as_mut() {
            rig.open_guests(&plan, &driven, &guests)?;
        }
        *held(&self.ready) = Some(Built { epoch, driven, guests });
        Ok(())
    }

    fn begin(self: &Arc<Self>, asked: &Begin) -> Result<Began, AgentError> {
        let mut current = held(&self.load);
        if let Some((load, began)) = current.as_ref()
            && load.epoch() == asked.epoch
        {
            return Ok(*began);
        }
        let built = held(&self.ready).take_if(|built| built.epoch == asked.epoch);
        let Built { driven, guests, .. } =
            built.ok_or_else(|| AgentError::refused("the step was not prepared"))?;
        let tiles = driven.iter().filter_map(|own| own.instance.member.tile).collect();
        // A lost load may still wait for its last completions.
        if let Some((before, _)) = current.as_ref() {
            let _ = before.finished(END_WAIT);
        }
        let mut rig = held(&self.rig);
        let rig = rig.as_mut().ok_or_else(|| AgentError::refused("nothing is open here"))?;
        rig.begin_at(Nanos(asked.at_ns));
        let watch = rig.watch();
        let load = rig.drive_with(driven, &guests)?;
        let began = Began { unit_bytes: load.unit().get(), began_late_ns: load.began_late().0 };
        let own = Arc::clone(self);
        let send = move |bytes: &[u8]| {
            // The controller asks again for lost messages.
            let _ = own.member().map(|member| member.send(bytes));
        };
        let eyes = move || Eyes { watch, meters: bystanders::meters() };
        let under_way = UnderWay::start((asked.epoch, tiles), load, eyes, Box::new(send))
            .map_err(AgentError::Thread)?;
        *current = Some((under_way, began));
        Ok(began)
    }

    /// Refuses disks of other runs.
    fn is_of_this_run(&self, run_id: &str) -> Result<(), AgentError> {
        let open = held(&self.open);
        let own = open.as_ref().map_or("", |open| open.made_by.as_str());
        let whole = own.strip_suffix(self.invitation.member().as_str());
        match whole.is_some_and(|whole| whole.ends_with('-') && run_id.starts_with(whole)) {
            true => Ok(()),
            false => Err(AgentError::refused(format!("{run_id} is not part of the run {own}"))),
        }
    }

    /// Ends the load and stops responding, as in a power cut.
    fn lose(self: &Arc<Self>, asked: &Lose) -> Result<(), AgentError> {
        self.of_load(asked.epoch, UnderWay::lose)?;
        *held(&self.away) = Some(Instant::now() + Duration::from_nanos(asked.away_ns));
        let member = self.member();
        let silent = move || {
            // The answer to this request must still be sent.
            std::thread::sleep(LOOK);
            member.inspect(|member| member.fall_silent());
        };
        let spawned = std::thread::Builder::new().name("power".to_owned()).spawn(silent);
        spawned.map(drop).map_err(AgentError::Thread)
    }

    fn of_load<T>(&self, epoch: u64, get: impl FnOnce(&UnderWay) -> T) -> Result<T, AgentError> {
        // The lock is released during the wait for the end.
        let load = held(&self.load).as_ref().map(|(load, _)| Arc::clone(load));
        let load = load.filter(|load| load.epoch() == epoch);
        let missing = || AgentError::refused(format!("there is no load {epoch} here"));
        load.map(|load| get(&load)).ok_or_else(missing)
    }
}

impl std::fmt::Debug for Agent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Agent").field("options", &self.options).finish_non_exhaustive()
    }
}

/// Resolves the controller's plan. It contains every value, so nothing depends on this host.
fn resolved(asked: &Open) -> Result<ResolvedPlan, AgentError> {
    let layers = [Layer { origin: Origin::Plan, ..Layer::of_plan(&asked.plan) }];
    let here = Surroundings { entropy: 0, cores: 1 };
    Ok(resolve(&layers, asked.tile.clone(), here)?)
}

fn store_options(plan: &ResolvedPlan, asked: &Open) -> datastore::Options {
    let allowances = &asked.allowances;
    datastore::Options {
        buffered: plan.settings.engine.buffered,
        write: true,
        space_max: plan.settings.engine.space_max,
        destroy_data: allowances.destroy_data.clone(),
        overwrite_file: allowances.overwrite_file,
        allow_root_fs: allowances.allow_root_fs,
        run_id: asked.run_id.clone(),
        adopt: asked.adopt.clone(),
    }
}

/// Returns the disks of these tiles.
fn disks_of(plan: &ResolvedPlan, tiles: &[u32]) -> Result<Vec<DiskNeed>, BenchError> {
    let most = tiles.iter().max().map_or(0, |tile| tile.saturating_add(1));
    let mut order = StepOrder::whole(plan, most, 0);
    order.members.retain(|member| member.tile.is_some_and(|tile| tiles.contains(&tile)));
    Ok(fleet(plan, order)?.disks().cloned().collect())
}

fn failed(error: &BenchError) -> Failed {
    let wrong_blocks = match error {
        BenchError::Mismatch(blocks) => blocks.clone(),
        _ => Vec::new(),
    };
    Failed { error: remote(error), is_interrupted: error.is_interruption(), wrong_blocks }
}
