//! The arrows between the files of a room, and the circles among them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::sources::{Named, Names, Source, names};

/// How many imports may stand between a name and what it stands for.
const DOORS_MAX: usize = 8;

/// A module: the names from the root of its room.
type Module = Vec<String>;

/// The files of a room by their modules, and what each of them names.
pub struct Room {
    files: BTreeMap<Module, File>,
}

struct File {
    path: String,
    names: Names,
}

impl Room {
    /// Reads the files of a room; their paths begin with its folder of sources.
    #[must_use]
    pub fn read(sources: &[Source], src: &Path) -> Room {
        let mut files = BTreeMap::new();
        for source in sources {
            let Ok(path) = source.path.strip_prefix(src) else {
                continue;
            };
            if source.is_proof() {
                continue;
            }
            let file = File {
                path: path.display().to_string(),
                names: names(&source.syntax(), false),
            };
            files.insert(module_of(path), file);
        }
        Room { files }
    }

    /// Returns the circles: groups of files, each of which stands on all others of its group.
    #[must_use]
    pub fn circles(&self) -> Vec<BTreeSet<String>> {
        let reach: BTreeMap<&Module, BTreeSet<Module>> = self
            .files
            .keys()
            .map(|module| (module, self.reach(module)))
            .collect();
        let mut circles = BTreeSet::new();
        for (module, reached) in &reach {
            let both = reached
                .iter()
                .filter(|other| reach.get(other).is_some_and(|back| back.contains(*module)));
            let circle: BTreeSet<String> =
                both.map(|other| self.files[other].path.clone()).collect();
            if circle.len() > 1 {
                circles.insert(circle);
            }
        }
        circles.into_iter().collect()
    }

    /// Returns the arrows of a file, each with the line that draws it.
    #[must_use]
    pub fn arrows(&self, path: &str) -> Vec<(String, usize)> {
        let found = self.files.iter().find(|(_, file)| file.path == path);
        let Some((module, _)) = found else {
            return Vec::new();
        };
        let arrows = self.targets(module).into_iter();
        arrows
            .map(|(target, line)| (self.files[&target].path.clone(), line))
            .collect()
    }

    fn reach(&self, from: &Module) -> BTreeSet<Module> {
        let mut reached = BTreeSet::new();
        let mut open = vec![from.clone()];
        while let Some(module) = open.pop() {
            for (target, _) in self.targets(&module) {
                if reached.insert(target.clone()) {
                    open.push(target);
                }
            }
        }
        reached
    }

    fn targets(&self, module: &Module) -> BTreeMap<Module, usize> {
        let names = &self.files[module].names;
        // What is only handed on is no use of it.
        let imports = names.imports.iter().filter(|import| !import.is_door);
        let used = imports.map(|import| &import.path).chain(&names.paths);
        let mut targets = BTreeMap::new();
        for path in used {
            if let Some(target) = self.target(module, path)
                && target != *module
            {
                targets.entry(target).or_insert(path.line);
            }
        }
        targets
    }

    /// Returns the module whose file defines what a path names; none where it is of another room.
    fn target(&self, module: &Module, path: &Named) -> Option<Module> {
        let place = [module.as_slice(), &path.inside].concat();
        let found = self.find(&place, &path.segments, DOORS_MAX)?;
        Some(self.file_of(&found))
    }

    /// Returns the module of the file in which a module stands.
    fn file_of(&self, module: &[String]) -> Module {
        let lengths = (0..=module.len()).rev();
        let mut files = lengths.map(|length| module[..length].to_vec());
        files
            .find(|module| self.files.contains_key(module))
            .unwrap_or_default()
    }

    fn find(&self, place: &[String], segments: &[String], doors: usize) -> Option<Module> {
        let (first, rest) = segments.split_first()?;
        let mut at: Module = place.to_vec();
        match first.as_str() {
            "crate" => at.clear(),
            "self" => {}
            "super" => {
                at.pop();
            }
            "Self" => return None,
            name => return self.step(place, name, rest, doors),
        }
        let mut rest = rest;
        while let Some((first, others)) = rest.split_first()
            && first == "super"
        {
            at.pop();
            rest = others;
        }
        match rest.split_first() {
            None => Some(at),
            Some((name, rest)) => self
                .step(&at, name, rest, doors)
                // A macro is named from the root of its room, wherever it stands; what a macro
                // makes is no item of the file that can be seen here.
                .or_else(|| self.macro_of(name))
                .or(Some(at)),
        }
    }

    /// Returns where a name of a module leads; none where the module has no such name.
    fn step(&self, at: &[String], name: &str, rest: &[String], doors: usize) -> Option<Module> {
        let doors = doors.checked_sub(1)?;
        let inner = [at, &[name.to_owned()]].concat();
        if self.files.contains_key(&inner) {
            return match rest.split_first() {
                None => Some(inner),
                Some((name, rest)) => self.step(&inner, name, rest, doors).or(Some(inner)),
            };
        }
        let file = self.files.get(&self.file_of(at))?;
        if file.names.items.iter().any(|item| item == name) {
            return Some(at.to_vec());
        }
        let imports = &file.names.imports;
        if let Some(import) = imports.iter().find(|import| import.name == name) {
            let path = [import.path.segments.as_slice(), rest].concat();
            return self.find(&self.file_of(at), &path, doors);
        }
        let mut all = imports.iter().filter(|import| import.name == "*");
        all.find_map(|import| {
            let module = self.find(&self.file_of(at), &import.path.segments, doors)?;
            self.step(&module, name, rest, doors)
        })
    }

    fn macro_of(&self, name: &str) -> Option<Module> {
        let mut files = self.files.iter();
        let found = files.find(|(_, file)| file.names.items.iter().any(|item| item == name));
        found.map(|(module, _)| module.clone())
    }
}

fn module_of(path: &Path) -> Module {
    let whole = path.with_extension("");
    let mut module: Module = whole
        .iter()
        .map(|part| part.to_string_lossy().into_owned())
        .collect();
    let is_root = module.len() == 1 && ["lib", "main"].contains(&module[0].as_str());
    if is_root || module.last().is_some_and(|last| last == "mod") {
        module.pop();
    }
    module
}
