//! Making an image.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use super::about::{About, FORMAT, Part};
use super::cache::{Making, check_name};
use super::config::Config;
use super::error::{ImageError, io};
use super::files::{Files, gather};
use super::kernel::{Given, Kernel, Recipe};
use super::machine::Machine;
use super::patches::try_file;
use super::source::{Origin, examine};
use super::step::Steps;
use super::{Image, hash, needs, own};

/// What to make an image of.
#[derive(Debug, Clone, Default)]
pub struct BuildOptions {
    /// A kernel source tree, which stays as it is; Debian's package when left out.
    pub source: Option<PathBuf>,
    /// The image's name; `linux-VERSION` when left out, with patches `linux-VERSION-patched`, so that it does not take the
    /// place of the unpatched one.
    pub name: Option<String>,
    /// Lines of a configuration that are added to ours and win over them.
    pub config: Option<PathBuf>,
    /// Patches of the source, applied in order before ours.
    pub patches: Vec<PathBuf>,
    /// Programs by name, and files and folders by path, to take into the image.
    pub programs: Vec<String>,
    /// Compilers at the same time; as many as there are cores when left out.
    pub jobs: Option<u32>,
    /// Whether to build even if there is an image of the same.
    pub force: bool,
}

/// How far a build is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Progress {
    /// What is done next.
    Step(String),
    /// Files of the kernel compiled so far.
    Compiled(u32),
    /// Something to know.
    Note(String),
}

/// Makes an image, or finds that there is one of the same already. When `stop` is set, it ends soon and leaves nothing.
///
/// # Errors
/// Many; each says what to do. An image of the same name from before is then still there.
pub fn build(
    options: &BuildOptions,
    progress: &mut dyn FnMut(Progress),
    stop: &AtomicBool,
) -> Result<Image, ImageError> {
    if let Some(name) = &options.name {
        check_name(name)?;
    }
    // All that can be wrong with what is asked for, and with the machine, before anything that takes long.
    let given = Given::read(options.config.as_deref(), &options.patches)?;
    let machine = Machine::here();
    let own = own::own()?;
    needs::check(&machine, options.source.is_none(), &options.programs)?;
    if let Some(source) = &options.source {
        let (tree, version) = examine(source)?;
        // Those behind it may build on it.
        if let Some((file, text)) = given.patches.first() {
            try_file(&machine, &tree, file, text)?;
        }
        progress(Progress::Step(format!("reading the source of Linux {version} in {}", tree.display())));
    }
    let origin = Origin::find(&machine, options.source.as_deref(), stop)?;
    let recipe = Recipe::new(&machine, origin, given)?;
    let jobs = options.jobs.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, |n| n.get() as u32));
    let make = |at: &Path, log: &Path, progress: &mut dyn FnMut(Progress)| {
        recipe.make(&machine, jobs.max(1), at, &mut Steps::new(log, stop)?, progress)
    };
    progress(Progress::Step("gathering programs for kernel hosts".to_owned()));
    let inputs = Inputs {
        name: options.name.clone().unwrap_or_else(|| default_name(&recipe)),
        sha256: recipe.sha256(),
        own_sha256: own.sha256(),
        files: gather(&machine, own, &options.programs, stop)?,
        recipe: &recipe,
        force: options.force,
    };
    if stop.load(Ordering::Relaxed) {
        return Err(ImageError::Interrupted);
    }
    assemble(machine.kernels()?, inputs, make, progress)
}

/// What an image is made of, but for the kernel, which takes long.
struct Inputs<'a> {
    name: String,
    /// [`About::inputs_sha256`].
    sha256: String,
    own_sha256: String,
    files: Files,
    recipe: &'a Recipe,
    force: bool,
}

/// Puts an image together; `make` is called for the kernel, with a folder to do it in and a file for its log, if no
/// image has one of the same recipe.
fn assemble(
    kernels: &Path,
    inputs: Inputs,
    make: impl FnOnce(&Path, &Path, &mut dyn FnMut(Progress)) -> Result<Kernel, ImageError>,
    progress: &mut dyn FnMut(Progress),
) -> Result<Image, ImageError> {
    let making = Making::begin(kernels, &inputs.name)?;
    let stage = making.stage()?;
    let within = stage.path.join("image");
    fs::create_dir(&within).map_err(io("make", &within))?;
    let path = within.join("initramfs.cpio");
    fs::write(&path, inputs.files.first.bytes()).map_err(io("write", &path))?;
    let initramfs = hash::file(&path)?;
    let path = within.join("system");
    inputs.files.system.write(&path)?;
    let system = hash::tree(&path, &AtomicBool::new(false))?;

    let before = Image::open(kernels, &inputs.name).ok();
    if let Some(image) = &before
        && !inputs.force
        && image.about.inputs_sha256 == inputs.sha256
        && (&image.about.initramfs, &image.about.system) == (&initramfs, &system)
        && image.about.programs == inputs.files.programs
        && is_whole(image)
    {
        progress(Progress::Note(format!("the kernel `{}` is there already, made of the same", image.name)));
        return Ok(image.clone());
    }
    let same = || {
        let others = Image::list_in(kernels).unwrap_or_default();
        others.into_iter().find(|image| image.about.inputs_sha256 == inputs.sha256 && is_whole(image))
    };
    let reused = if inputs.force { None } else { same() };
    let mut about = if let Some(image) = reused {
        progress(Progress::Note(format!(
            "the kernel itself is taken from `{}`, which was made of the same",
            image.name
        )));
        reuse_kernel(image, &within)?
    } else {
        let kernel = make(&stage.path, &making.log(), progress)?;
        add_kernel(kernel, &inputs, &within, (&initramfs, &system))?
    };
    about.name.clone_from(&inputs.name);
    about.initramfs = initramfs;
    about.system = system;
    about.own_sha256 = inputs.own_sha256;
    about.programs = inputs.files.programs;
    let path = within.join("image.json");
    let text = serde_json::to_string_pretty(&about).expect("texts and numbers become JSON");
    fs::write(&path, text + "\n").map_err(io("write", &path))?;
    if let Some(before) = &before {
        note_replacement(before, &about, progress);
    }
    stage.finish("image")?;
    Image::open(kernels, &inputs.name)
}

/// Copies the kernel of `image` with its configuration into the image at `within`; says what it is made of.
fn reuse_kernel(image: Image, within: &Path) -> Result<About, ImageError> {
    fs::copy(&image.linux, within.join("linux")).map_err(io("copy", &image.linux))?;
    let config = image.folder.join("config");
    fs::copy(&config, within.join("config")).map_err(io("copy", &config))?;
    Ok(image.about)
}

/// Puts a kernel just made with its configuration into the image at `within`, which has `initramfs` and `system`
/// already; says what it is made of.
fn add_kernel(
    kernel: Kernel,
    inputs: &Inputs,
    within: &Path,
    (initramfs, system): (&Part, &Part),
) -> Result<About, ImageError> {
    let linux = within.join("linux");
    fs::copy(&kernel.linux, &linux).map_err(io("copy", &kernel.linux))?;
    let path = within.join("config");
    fs::write(&path, &kernel.config).map_err(io("write", &path))?;
    let config = Config::parse(&kernel.config);
    Ok(About {
        format: FORMAT,
        name: String::new(),
        version: kernel.version,
        source: inputs.recipe.origin.about.clone(),
        compiler: inputs.recipe.compiler.clone(),
        config_sha256: hash::bytes(kernel.config.as_bytes()),
        patches: kernel.patches,
        inputs_sha256: inputs.sha256.clone(),
        linux: hash::file(&linux)?,
        initramfs: initramfs.clone(),
        system: system.clone(),
        own_sha256: String::new(),
        programs: Vec::new(),
        hz: config.hz(),
        fast_path: kernel.fast_path,
        controls: config.controls(),
        queues: config.queues(),
    })
}

/// Notes that `before` is replaced by the image of `about`, and the programs that are lost with it.
fn note_replacement(before: &Image, about: &About, progress: &mut dyn FnMut(Progress)) {
    progress(Progress::Note(format!("it replaces the kernel `{}` from before", about.name)));
    let has = |path: &str| about.programs.iter().any(|own| own.path == path);
    let lost = before.about.programs.iter().filter(|program| !has(&program.path));
    let lost: Vec<&str> = lost.map(|program| program.path.as_str()).collect();
    if !lost.is_empty() {
        progress(Progress::Note(format!("which had {}: name them with --add to keep them", lost.join(", "))));
    }
}

/// Whether its files are as they were made.
fn is_whole(image: &Image) -> bool {
    let about = &image.about;
    let config = hash::file(&image.folder.join("config")).is_ok_and(|part| part.sha256 == about.config_sha256);
    config
        && hash::file(&image.linux).is_ok_and(|part| part == about.linux)
        && hash::file(&image.initramfs).is_ok_and(|part| part == about.initramfs)
        && hash::tree(&image.system, &AtomicBool::new(false)).is_ok_and(|part| part == about.system)
}

fn default_name(recipe: &Recipe) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "._+-".contains(c) { c } else { '-' };
    let version: String = recipe.origin.version.chars().map(plain).collect();
    format!("linux-{version}{}", if recipe.patches.is_empty() { "" } else { "-patched" })
}

#[cfg(test)]
mod tests {
    use super::super::about::{Patch, Source};
    use super::super::archive::Archive;
    use super::*;

    /// What an image is made of in a test: a "kernel" of one word, an "agent" of another.
    struct World {
        place: tempfile::TempDir,
        recipe: Recipe,
    }

    impl World {
        fn new() -> World {
            let place = tempfile::tempdir().unwrap();
            let about = Source { name: "test".to_owned(), sha256: None, describe: None };
            let recipe = Recipe {
                origin: Origin::test("6.12.1", about),
                fragment: String::new(),
                patches: Vec::new(),
                compiler: "cc".to_owned(),
                library: String::new(),
            };
            World { place, recipe }
        }

        fn kernels(&self) -> PathBuf {
            self.place.path().join("kernels")
        }

        /// The image, whether a kernel was made for it, and what was noted.
        fn build(&self, name: &str, inputs: &str, agent: &str, force: bool) -> (Image, bool, Vec<Progress>) {
            let (mut made, mut notes) = (false, Vec::new());
            let make = |at: &Path, _: &Path, _: &mut dyn FnMut(Progress)| {
                made = true;
                Ok(kernel(at, inputs))
            };
            let image =
                assemble(&self.kernels(), self.inputs(name, inputs, agent, force), make, &mut |note| notes.push(note));
            (image.unwrap(), made, notes)
        }

        fn inputs(&self, name: &str, inputs: &str, agent: &str, force: bool) -> Inputs<'_> {
            let (mut first, mut system) = (Archive::default(), Archive::default());
            first.file("init", 0o755, agent);
            system.file("bin/ip", 0o755, *b"ip");
            Inputs {
                name: name.to_owned(),
                sha256: hash::bytes(inputs.as_bytes()),
                own_sha256: hash::bytes(agent.as_bytes()),
                files: Files { first, system, programs: Vec::new() },
                recipe: &self.recipe,
                force,
            }
        }
    }

    fn kernel(at: &Path, content: &str) -> Kernel {
        let linux = at.join("out-linux");
        fs::write(&linux, content).unwrap();
        let config = "CONFIG_HZ=1000\nCONFIG_TCP_CONG_BBR=y\n".to_owned();
        Kernel { linux, config, version: "6.12.1".to_owned(), patches: Vec::new(), fast_path: true }
    }

    #[test]
    fn an_image_says_what_it_is_made_of() {
        let world = World::new();
        let (image, made, _) = world.build("k", "one", "agent", false);
        assert!(made);
        assert_eq!(fs::read_to_string(&image.linux).unwrap(), "one");
        assert_eq!(fs::read_to_string(image.system.join("bin/ip")).unwrap(), "ip");
        let about = &image.about;
        assert_eq!((about.hz, about.fast_path, about.linux.bytes, about.system.bytes), (1000, true, 3, 2));
        assert_eq!(about.controls, ["bbr", "reno"]);
        assert_eq!(Image::list_in(&world.kernels()).unwrap(), [image]);
    }

    #[test]
    fn what_is_made_of_the_same_is_not_made_again() {
        let world = World::new();
        let (before, ..) = world.build("k", "one", "agent", false);
        let (image, made, notes) = world.build("k", "one", "agent", false);
        assert!(!made && notes.len() == 1);
        assert_eq!(image, before);
        assert!(world.build("k", "one", "agent", true).1, "--force");
        assert!(world.build("k", "two", "agent", false).1, "another kernel");
    }

    #[test]
    fn another_agent_does_not_make_another_kernel() {
        let world = World::new();
        let (before, ..) = world.build("k", "one", "agent", false);
        for name in ["k", "other"] {
            let (image, made, _) = world.build(name, "one", "agent 2", false);
            assert!(!made, "{name}");
            assert_eq!((&image.name[..], &image.about.linux), (name, &before.about.linux));
            assert_ne!(image.about.initramfs, before.about.initramfs);
        }
    }

    #[test]
    fn a_damaged_image_is_made_again() {
        let world = World::new();
        let (image, ..) = world.build("k", "one", "agent", false);
        fs::write(&image.linux, "0ne").unwrap();
        assert!(world.build("k", "one", "agent", false).1);
        fs::remove_file(image.folder.join("image.json")).unwrap();
        assert!(world.build("k", "one", "agent", false).1);
    }

    #[test]
    fn a_build_that_fails_leaves_no_image() {
        let world = World::new();
        let make = |at: &Path, _: &Path, _: &mut dyn FnMut(Progress)| {
            fs::write(at.join("half"), "half").unwrap();
            Err(ImageError::Interrupted)
        };
        let result = assemble(&world.kernels(), world.inputs("k", "one", "agent", false), make, &mut |_| ());
        assert!(matches!(result, Err(ImageError::Interrupted)));
        let left: Vec<_> = fs::read_dir(world.kernels()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, [".lock-k"]);
    }

    /// Writes `change` of what `image` is made of into it.
    fn retell(image: &Image, change: impl FnOnce(&mut About)) {
        let mut about = image.about.clone();
        change(&mut about);
        fs::write(image.folder.join("image.json"), serde_json::to_string(&about).unwrap()).unwrap();
    }

    fn patch(name: &str) -> Patch {
        Patch { name: name.to_owned(), sha256: hash::bytes(name.as_bytes()) }
    }

    const OURS: [&str; 2] = ["seed-6.12.patch", "fast-path-6.12.patch"];

    /// A patched kernel, newer and first by name, is not taken unless it is named, or alone.
    #[test]
    fn the_newest_unpatched_image_is_taken_unasked() {
        let world = World::new();
        let (kernels, agent) = (world.kernels(), hash::bytes(b"agent"));
        let unasked = || Image::find_in(&kernels, None, &agent).unwrap().name;
        let (patched, ..) = world.build("a-patched", "one", "agent", false);
        retell(&patched, |about| {
            about.version = "6.13".to_owned();
            about.patches = ["mine.patch"].into_iter().chain(OURS).map(patch).collect();
        });
        assert_eq!(unasked(), "a-patched", "there is no other");
        let (tree, ..) = world.build("b-tree", "two", "agent", false);
        let source = |describe: &str| Source { name: "tree".into(), sha256: None, describe: Some(describe.into()) };
        retell(&tree, |about| about.source = source("v6.13-dirty"));
        let (plain, ..) = world.build("z-plain", "three", "agent", false);
        retell(&plain, |about| about.patches = OURS.map(patch).to_vec());
        assert_eq!(unasked(), "z-plain", "our own patches are in every image");
        retell(&tree, |about| about.source = source("v6.12.1"));
        assert_eq!(unasked(), "z-plain", "the distribution's before a tree of the same version");
        retell(&tree, |about| (about.source, about.version) = (source("v6.12.2"), "6.12.2".to_owned()));
        assert_eq!(unasked(), "b-tree", "newer");
        assert_eq!(Image::find_in(&kernels, Some("a-patched"), &agent).unwrap().changes(), "patched with mine.patch");
    }

    #[test]
    fn the_users_patches_are_told_from_ours() {
        let world = World::new();
        let (mut image, ..) = world.build("k", "one", "agent", false);
        for (all, users) in [
            (vec![], vec![]),
            (OURS.to_vec(), vec![]),
            (vec!["a.patch", "b.patch", OURS[0], OURS[1]], vec!["a.patch", "b.patch"]),
            // one of the user's that is called like ours
            (vec![OURS[0], OURS[0], OURS[1]], vec![OURS[0]]),
            // without the fast path
            (vec!["a.patch", OURS[0]], vec!["a.patch"]),
        ] {
            image.about.patches = all.iter().map(|name| patch(name)).collect();
            let names: Vec<&str> = image.patches().iter().map(|patch| patch.name.as_str()).collect();
            assert_eq!(names, users, "{all:?}");
            assert_eq!(image.is_patched(), !users.is_empty());
        }
    }

    #[test]
    fn a_patched_kernel_has_a_name_of_its_own() {
        let mut recipe = World::new().recipe;
        assert_eq!(default_name(&recipe), "linux-6.12.1");
        recipe.patches = vec![(PathBuf::from("a.patch"), String::new())];
        assert_eq!(default_name(&recipe), "linux-6.12.1-patched");
    }

    #[test]
    fn an_image_is_found_by_name_or_by_version() {
        let world = World::new();
        let (kernels, agent) = (world.kernels(), hash::bytes(b"agent"));
        assert!(matches!(Image::find_in(&kernels, None, &agent), Err(ImageError::NoImage)));
        world.build("b", "one", "agent", false);
        world.build("a", "one", "agent", false);
        let (newest, ..) = world.build("c", "two", "agent", false);
        retell(&newest, |about| about.version = "6.13".to_owned());
        assert_eq!(Image::find_in(&kernels, None, &agent).unwrap().name, "c");
        assert_eq!(Image::find_in(&kernels, Some("b"), &agent).unwrap().name, "b");
        fs::remove_dir_all(newest.folder).unwrap();
        assert_eq!(Image::find_in(&kernels, None, &agent).unwrap().name, "a");
        let missing = Image::find_in(&kernels, Some("c"), &agent);
        assert!(matches!(missing, Err(ImageError::NotFound { others, .. }) if others == ["a", "b"]));
        assert!(matches!(Image::find_in(&kernels, None, "other"), Err(ImageError::Stale { name }) if name == "a"));
        assert!(matches!(Image::find_in(&kernels, Some("../a"), &agent), Err(ImageError::BadName { .. })));
    }
}
