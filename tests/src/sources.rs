//! The sources of the project as syntax trees: their functions, the paths that they name, and the
//! circles among the files of a room.

use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::{TokenStream, TokenTree};
use syn::spanned::Spanned as _;
use syn::visit::{self, Visit};

/// Folders that hold nothing that was written by hand.
const SKIPPED: [&str; 4] = ["target", "data", "corpus", "outside"];

/// A source file.
pub struct Source {
    /// Where it stands, from the folder of the project.
    pub path: PathBuf,
    /// Its text.
    pub text: String,
}

impl Source {
    /// Returns the file as a syntax tree.
    ///
    /// # Panics
    ///
    /// Where it is no Rust.
    #[must_use]
    pub fn syntax(&self) -> syn::File {
        let parsed = syn::parse_file(&self.text);
        parsed.unwrap_or_else(|error| panic!("{}: {error}", self.path.display()))
    }

    /// Returns whether the file holds tests, benchmarks or examples and nothing that is shipped.
    #[must_use]
    pub fn is_proof(&self) -> bool {
        let folders = ["tests", "benches", "examples"];
        let mut parts = self.path.iter().filter_map(|part| part.to_str());
        parts.any(|part| folders.contains(&part) || part == "tests.rs")
    }
}

/// Returns every source file below a folder of the project, in the order of their paths.
///
/// # Panics
///
/// Where a file cannot be read.
#[must_use]
pub fn sources(root: &Path, below: &str) -> Vec<Source> {
    let mut found = Vec::new();
    collect(root, &root.join(below), &mut found);
    found.sort_by(|one, other| one.path.cmp(&other.path));
    found
}

fn collect(root: &Path, folder: &Path, found: &mut Vec<Source>) {
    let entries = fs::read_dir(folder).expect("a folder of the project can be read");
    for entry in entries.map(|entry| entry.expect("an entry of a folder can be read")) {
        let path = entry.path();
        let name = entry.file_name().to_string_lossy().into_owned();
        if path.is_dir() {
            if !name.starts_with('.') && !SKIPPED.contains(&name.as_str()) {
                collect(root, &path, found);
            }
        } else if name.ends_with(".rs") {
            let text = fs::read_to_string(&path).expect("a source is a text");
            let path = path.strip_prefix(root).unwrap_or(&path).to_owned();
            found.push(Source { path, text });
        }
    }
}

/// A function or method.
pub struct Function {
    /// Its name.
    pub name: String,
    /// The line of its signature.
    pub line: usize,
    /// How many lines it has, from its signature to its closing brace.
    pub lines: usize,
}

/// Returns every function of a file that has a body, those inside others included.
#[must_use]
pub fn functions(file: &syn::File) -> Vec<Function> {
    let mut found = Functions(Vec::new());
    found.visit_file(file);
    found.0
}

struct Functions(Vec<Function>);

impl Functions {
    fn add(&mut self, signature: &syn::Signature, block: &syn::Block) {
        let line = signature.span().start().line;
        self.0.push(Function {
            name: signature.ident.to_string(),
            line,
            lines: block.span().end().line + 1 - line,
        });
    }
}

impl<'a> Visit<'a> for Functions {
    fn visit_item_fn(&mut self, function: &'a syn::ItemFn) {
        self.add(&function.sig, &function.block);
        visit::visit_item_fn(self, function);
    }

    fn visit_impl_item_fn(&mut self, function: &'a syn::ImplItemFn) {
        self.add(&function.sig, &function.block);
        visit::visit_impl_item_fn(self, function);
    }

    fn visit_trait_item_fn(&mut self, function: &'a syn::TraitItemFn) {
        if let Some(block) = &function.default {
            self.add(&function.sig, block);
        }
        visit::visit_trait_item_fn(self, function);
    }
}

/// A path that a file names, segment by segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// The segments, such as `std`, `time`, `Instant`.
    pub segments: Vec<String>,
    /// The line.
    pub line: usize,
    /// The modules inside the file in which it stands.
    pub inside: Vec<String>,
}

/// What a file brings into scope.
#[derive(Clone, Debug)]
pub struct Import {
    /// The path; without its last `*` where everything is imported.
    pub path: Named,
    /// The name in this file; `*` where everything is imported.
    pub name: String,
    /// Whether others are given it, too.
    pub is_door: bool,
}

/// The names of a file.
#[derive(Debug, Default)]
pub struct Names {
    /// What its `use` declarations bring in.
    pub imports: Vec<Import>,
    /// The paths that stand in its code, those with one segment left out.
    pub paths: Vec<Named>,
    /// The items that it defines outside functions.
    pub items: Vec<String>,
}

/// Returns the names of a file; what is compiled for tests only is left out unless it is asked for.
#[must_use]
pub fn names(file: &syn::File, with_tests: bool) -> Names {
    let mut found = Finder {
        names: Names::default(),
        inside: Vec::new(),
        with_tests,
    };
    found.visit_file(file);
    found.names
}

impl Names {
    /// Returns every path with the names of imports put in for what they stand for, and the
    /// imports themselves.
    #[must_use]
    pub fn full_paths(&self) -> Vec<Named> {
        let imported = self.imports.iter().map(|import| import.path.clone());
        let written = self.paths.iter().map(|path| {
            let first = &path.segments[0];
            let import = self.imports.iter().find(|import| import.name == *first);
            let Some(import) = import else {
                return path.clone();
            };
            let rest = path.segments[1..].iter();
            let segments = import.path.segments.iter().chain(rest).cloned().collect();
            Named {
                segments,
                ..path.clone()
            }
        });
        imported.chain(written).collect()
    }
}

struct Finder {
    names: Names,
    inside: Vec<String>,
    with_tests: bool,
}

impl Finder {
    fn is_left_out(&self, attributes: &[syn::Attribute]) -> bool {
        let is_test = |attribute: &syn::Attribute| {
            attribute.path().is_ident("cfg")
                && attribute
                    .parse_args::<syn::Path>()
                    .is_ok_and(|what| what.is_ident("test"))
        };
        !self.with_tests && attributes.iter().any(is_test)
    }

    fn named(&self, segments: Vec<String>, line: usize) -> Named {
        Named {
            segments,
            line,
            inside: self.inside.clone(),
        }
    }

    fn import(&mut self, tree: &syn::UseTree, mut before: Vec<String>, is_door: bool) {
        let line = tree.span().start().line;
        let (last, name) = match tree {
            syn::UseTree::Path(path) => {
                before.push(path.ident.to_string());
                return self.import(&path.tree, before, is_door);
            }
            syn::UseTree::Group(group) => {
                for inner in &group.items {
                    self.import(inner, before.clone(), is_door);
                }
                return;
            }
            syn::UseTree::Name(name) => (Some(name.ident.to_string()), name.ident.to_string()),
            syn::UseTree::Rename(name) => (Some(name.ident.to_string()), name.rename.to_string()),
            syn::UseTree::Glob(_) => (None, "*".to_owned()),
        };
        // `use a::b::{self}` brings in `b`.
        let (last, name) = match last.as_deref() {
            Some("self") if name == "self" => (None, before.last().cloned().unwrap_or_default()),
            Some("self") => (None, name),
            _ => (last, name),
        };
        before.extend(last);
        let path = self.named(before, line);
        self.names.imports.push(Import {
            path,
            name,
            is_door,
        });
    }

    /// Finds paths among tokens, which is all that the call of a macro is.
    fn tokens(&mut self, tokens: TokenStream) {
        let mut path: Vec<String> = Vec::new();
        let (mut line, mut colons) = (0, 0);
        for token in tokens {
            match token {
                TokenTree::Ident(ident) => {
                    if colons != 2 {
                        self.end_path(&mut path, line);
                    }
                    line = ident.span().start().line;
                    path.push(ident.to_string());
                    colons = 0;
                }
                TokenTree::Punct(punct) if punct.as_char() == ':' && !path.is_empty() => {
                    colons += 1;
                }
                other => {
                    self.end_path(&mut path, line);
                    colons = 0;
                    if let TokenTree::Group(group) = other {
                        self.tokens(group.stream());
                    }
                }
            }
        }
        self.end_path(&mut path, line);
    }

    fn end_path(&mut self, path: &mut Vec<String>, line: usize) {
        let segments = std::mem::take(path);
        if segments.len() > 1 {
            let named = self.named(segments, line);
            self.names.paths.push(named);
        }
    }

    fn define(&mut self, item: &syn::Item) {
        let name = match item {
            syn::Item::Const(item) => &item.ident,
            syn::Item::Enum(item) => &item.ident,
            syn::Item::Fn(item) => &item.sig.ident,
            syn::Item::Static(item) => &item.ident,
            syn::Item::Struct(item) => &item.ident,
            syn::Item::Trait(item) => &item.ident,
            syn::Item::Type(item) => &item.ident,
            syn::Item::Union(item) => &item.ident,
            syn::Item::Macro(item) => match &item.ident {
                Some(name) => name,
                None => return,
            },
            _ => return,
        };
        self.names.items.push(name.to_string());
    }
}

impl<'a> Visit<'a> for Finder {
    fn visit_item(&mut self, item: &'a syn::Item) {
        let attributes = match item {
            syn::Item::Fn(item) => &item.attrs,
            syn::Item::Impl(item) => &item.attrs,
            syn::Item::Mod(item) => &item.attrs,
            syn::Item::Use(item) => &item.attrs,
            syn::Item::Struct(item) => &item.attrs,
            syn::Item::Const(item) => &item.attrs,
            _ => &Vec::new(),
        };
        if !self.is_left_out(attributes) {
            self.define(item);
            visit::visit_item(self, item);
        }
    }

    fn visit_item_mod(&mut self, module: &'a syn::ItemMod) {
        if module.content.is_some() {
            self.inside.push(module.ident.to_string());
            visit::visit_item_mod(self, module);
            self.inside.pop();
        }
    }

    fn visit_item_use(&mut self, item: &'a syn::ItemUse) {
        let is_door = !matches!(item.vis, syn::Visibility::Inherited);
        self.import(&item.tree, Vec::new(), is_door);
    }

    fn visit_path(&mut self, path: &'a syn::Path) {
        let segments: Vec<String> = path
            .segments
            .iter()
            .map(|segment| segment.ident.to_string())
            .collect();
        if segments.len() > 1 {
            let named = self.named(segments, path.span().start().line);
            self.names.paths.push(named);
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'a syn::Macro) {
        self.visit_path(&call.path);
        self.tokens(call.tokens.clone());
    }

    fn visit_visibility(&mut self, _: &'a syn::Visibility) {
        // `pub(in path)` names a place, and uses nothing of it.
    }
}
