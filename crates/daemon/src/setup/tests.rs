use super::fake::{Change, Host, add, set};
use super::*;

fn host() -> Host {
    [("a", "1"), ("b", "2")].map(|(name, value)| (name.to_owned(), value.to_owned())).into()
}

fn plan(steps: &[(Change, State)], undo: &[(Change, bool)]) -> Plan<Change, String> {
    Plan {
        undo: undo.iter().map(|(step, in_use)| Former { step: step.clone(), in_use: *in_use }).collect(),
        steps: steps.iter().map(|(step, state)| Planned { step: step.clone(), state: state.clone() }).collect(),
        warnings: vec!["look".to_owned()],
    }
}

fn setup(folder: &tempfile::TempDir) -> Setup<Change> {
    Setup::open(folder.path(), None).unwrap()
}

#[test]
fn a_plan_is_done_and_undone_in_their_orders() {
    let folder = tempfile::tempdir().unwrap();
    let (mut there, differs) = (host(), || State::Differs("1".to_owned()));
    let steps = [(set("a", "5"), differs()), (add("x"), State::Missing), (set("b", "2"), State::There)];
    let plan = plan(&steps, &[]);
    assert_eq!(plan.to_string(), "set a=5  # now 1\nadd x\n# there already: set b=2\n# warning: look\n");
    let done = setup(&folder).apply(&plan, &mut there).unwrap();
    assert_eq!(done, Done { done: 2, there: 1, undone: 0, in_use: 0, waits: 0 });
    assert_eq!((there["a"].as_str(), there.contains_key("x")), ("5", true));
    let undone = setup(&folder).cleanup(&mut there).unwrap();
    assert_eq!(undone, [Undone::Undone(add("x")), Undone::Undone(set("a", "5"))]);
    assert_eq!(there, host());
    assert!(!folder.path().join("record.json").exists());
}

#[test]
fn former_steps_are_undone_unless_they_are_in_use_or_nobody_recorded_them() {
    let folder = tempfile::tempdir().unwrap();
    let mut there = host();
    setup(&folder).apply(&plan(&[(add("x"), State::Missing), (add("y"), State::Missing)], &[]), &mut there).unwrap();
    there.insert("z".to_owned(), String::new());
    let former = [(add("x"), false), (add("y"), true), (add("z"), false)];
    let next = plan(&[], &former);
    assert!(next.to_string().starts_with(
        "undo add x  # set up before, not wanted any more\n# once no connection uses it any more: undo add y\n"
    ));
    let done = setup(&folder).apply(&next, &mut there).unwrap();
    assert_eq!((done.undone, done.in_use, done.is_whole()), (1, 1, false));
    assert_eq!(["x", "y", "z"].map(|name| there.contains_key(name)), [false, true, true]);
}

#[test]
fn a_step_that_fails_leaves_those_before_it_in_the_record() {
    let folder = tempfile::tempdir().unwrap();
    let mut there = host();
    let steps = [add("x"), set("a", "bad"), add("y")].map(|step| (step, State::Missing));
    let error = setup(&folder).apply(&plan(&steps, &[]), &mut there).unwrap_err();
    assert_eq!(error.to_string(), "`set a=bad`: refused");
    assert_eq!(setup(&folder).recorded().steps().cloned().collect::<Vec<_>>(), [add("x")]);
    setup(&folder).cleanup(&mut there).unwrap();
    assert_eq!(there, host());
}

#[test]
fn what_others_have_in_a_steps_place_stops_everything() {
    let folder = tempfile::tempdir().unwrap();
    let mut there = host();
    let steps = [(add("x"), State::Missing), (add("y"), State::Taken("something".to_owned()))];
    let error = setup(&folder).apply(&plan(&steps, &[]), &mut there).unwrap_err();
    assert_eq!(error.to_string(), "`add y`: something is in its place; take another name");
    assert_eq!(there, host());
}

#[test]
fn what_others_changed_since_stays_and_the_first_value_is_remembered() {
    let folder = tempfile::tempdir().unwrap();
    let mut there = host();
    for value in ["5", "6"] {
        let now = there["a"].clone();
        setup(&folder).apply(&plan(&[(set("a", value), State::Differs(now))], &[]), &mut there).unwrap();
    }
    let mut changed = there.clone();
    changed.insert("a".to_owned(), "7".to_owned());
    let copy = tempfile::tempdir().unwrap();
    std::fs::copy(folder.path().join("record.json"), copy.path().join("record.json")).unwrap();
    let undone = setup(&copy).cleanup(&mut changed).unwrap();
    assert_eq!(undone, [Undone::Changed(set("a", "6"), "7".to_owned())]);
    setup(&folder).cleanup(&mut there).unwrap();
    assert_eq!(there, host());
}
