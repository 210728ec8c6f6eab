//! Roles, one by one and as a set.

use std::fmt;

use referee_api::v1;

/// What a credential allows. The numbers are those of the contract, and are kept in stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Role {
    /// Plays one seat of one game.
    Player = v1::Role::Player as u8,
    /// Reads and watches.
    Spectator = v1::Role::Spectator as u8,
    /// Reads, and acts as the arbiter.
    Arbiter = v1::Role::Arbiter as u8,
    /// Everything with the games of a platform.
    Platform = v1::Role::Platform as u8,
    /// Counts for perft jobs.
    Worker = v1::Role::Worker as u8,
    /// Everything.
    Operator = v1::Role::Operator as u8,
}

impl Role {
    /// All roles, in the order of their numbers.
    pub const ALL: [Role; 6] = [
        Role::Player,
        Role::Spectator,
        Role::Arbiter,
        Role::Platform,
        Role::Worker,
        Role::Operator,
    ];

    /// Returns the role of a number; none where there is no such role.
    #[must_use]
    pub fn of(number: i64) -> Option<Role> {
        Role::ALL.into_iter().find(|role| role.number() == number)
    }

    /// Returns the number.
    #[must_use]
    pub fn number(self) -> i64 {
        self as i64
    }

    /// Returns the word for the role, as command lines and claims have it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Role::Player => "player",
            Role::Spectator => "spectator",
            Role::Arbiter => "arbiter",
            Role::Platform => "platform",
            Role::Worker => "worker",
            Role::Operator => "operator",
        }
    }

    /// Returns the role of a word; none where there is no such role.
    #[must_use]
    pub fn named(word: &str) -> Option<Role> {
        Role::ALL.into_iter().find(|role| role.word() == word)
    }
}

/// A set of roles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Roles(u8);

impl Roles {
    /// No role.
    pub(crate) const NONE: Roles = Roles(0);

    /// The set of some roles.
    pub(crate) const fn of(roles: &[Role]) -> Roles {
        let mut bits = 0;
        let mut index = 0;
        while index < roles.len() {
            bits |= 1 << roles[index] as u8;
            index += 1;
        }
        Roles(bits)
    }

    /// All roles.
    pub(crate) const ALL: Roles = Roles::of(&Role::ALL);

    /// Whether a role is in the set.
    pub(crate) fn has(self, role: Role) -> bool {
        self.0 & 1 << role as u8 != 0
    }

    /// Whether a role is in both sets.
    pub(crate) fn meets(self, other: Roles) -> bool {
        self.0 & other.0 != 0
    }
}

impl fmt::Display for Roles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = Role::ALL.into_iter().filter(|role| self.has(*role));
        let words: Vec<&str> = words.map(Role::word).collect();
        f.write_str(&words.join(","))
    }
}
