//! Macro for enums whose variants have names in files and on the command line.

macro_rules! words {
    ($(#[$about:meta])* $type:ident { $($(#[$doc:meta])* $variant:ident $name:literal,)+ }) => {
        $(#[$about])*
        #[derive(
            Debug,
            Clone,
            Copy,
            PartialEq,
            Eq,
            PartialOrd,
            Ord,
            serde::Serialize,
            serde::Deserialize,
            schemars::JsonSchema,
        )]
        pub enum $type {
            $($(#[$doc])* #[serde(rename = $name)] $variant,)+
        }

        impl $type {
            /// All variants, in the order of the help.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// Returns the name of the variant in files and on the command line.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name),+ }
            }

            pub(crate) fn named(text: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|own| own.name() == text)
            }
        }
    };
}

pub(crate) use words;
