use spec::array::Array;
use toml::Value;

use super::change::{Change, ChangeError, Changed, Changes, Draft, blame, plain, text};
use super::document::ModelKind;
use super::{Subject, cache, disks};

impl Changes {
    /// Applies the changes to the array of a subject, and to its other models.
    ///
    /// # Errors
    ///
    /// Those of [`Changes::apply`].
    pub fn apply_to(&self, subject: &Subject) -> Result<Changed, ChangeError> {
        let is_fitted = subject.model == ModelKind::Fitted;
        let mut changed = self.applied(&subject.array, is_fitted)?;
        let others = subject.others.iter().map(|array| Ok(self.applied(array, is_fitted)?.array));
        changed.others = others.collect::<Result<_, ChangeError>>()?;
        Ok(changed)
    }

    /// Applies the changes to an array.
    ///
    /// # Errors
    ///
    /// If nothing is changed, or the result is no valid array; the error names the option.
    pub fn apply(&self, base: &Array) -> Result<Changed, ChangeError> {
        self.applied(base, false)
    }

    fn applied(&self, base: &Array, is_fitted: bool) -> Result<Changed, ChangeError> {
        if *self == Self::default() {
            return Err(ChangeError::Nothing);
        }
        let mut draft = Draft::default();
        cache::change(self, base, &mut draft)?;
        disks::change(self, (base, is_fitted), &mut draft)?;
        self.connect(base, &mut draft);
        let user = spec::array::overlay(&self.with)?;
        let name = format!("array \"{}\"", base.name);
        let text = toml::to_string(base)?;
        let array = spec::array::with_all(&name, &text, &[draft.overlay, user])
            .map_err(|error| blame(&draft.changes, error))?;
        if array == *base {
            return Err(ChangeError::Same { array: base.name.clone() });
        }
        let mut changes = draft.changes;
        changes.extend(self.with.iter().map(|setting| Change {
            option: format!("--with {setting}"),
            words: setting.clone(),
            keys: Vec::new(),
            assumed: Vec::new(),
            may_do_nothing: false,
        }));
        Ok(Changed { array, others: Vec::new(), changes })
    }

    /// Changes the link between hosts and disks.
    fn connect(&self, base: &Array, draft: &mut Draft) {
        if let Some(kind) = &self.link {
            draft.set(&["link", "kind"], Value::String(kind.clone()));
            // The array's own rate would override the kind's.
            let link = base.link.as_ref();
            let own = [("rate", link.is_some_and(|link| link.rate.is_some()))];
            let own = own
                .into_iter()
                .chain([("latency", link.is_some_and(|link| link.latency.is_some()))]);
            for (key, _) in own.filter(|(_, is_set)| *is_set) {
                draft.set(&["link", key, "remove"], Value::Boolean(true));
            }
            draft.note(&format!("--link {kind}"), format!("the link {kind}"), &["link"]);
        }
        if let Some(size) = self.memory {
            draft.set(&["controller", "read-memory", "size"], text(size));
            let option = format!("--memory {}", plain(size));
            draft.note(&option, format!("{size} of read memory"), &["controller"]);
        }
    }
}
