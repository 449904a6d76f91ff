"""Made-up results in the form of a page's data: plausible, without a simulation, the same at every call."""

import copy
import math
import random

METRICS = [
    {"name": "fct.mean", "label": "mean FCT", "unit": "ns", "better": "less"},
    {"name": "fct.p99", "label": "p99 FCT", "unit": "ns", "better": "less"},
    {"name": "goodput.sum", "label": "goodput of all flows", "unit": "bps", "better": "more"},
    {"name": "drops", "label": "drops", "unit": "1", "better": "less"},
]
POLICIES = ["tcp", "mptcp", "lanes-deadline", "lanes-link-cost"]
TOML = 'name = "queue-buildup"\nseed = 1\n\n[sweep]\nsenders = [0, 2, 4, 6]\n\n[traffic.query]\nsize = "20KB"\n'


def leaf_spine(leaves=2, spines=2, hosts=4):
    """Nodes and links, one entry for each direction."""
    nodes, links = [], []
    for spine in range(spines):
        nodes.append(
            {"name": f"spine{spine}", "kind": "switch", "tier": 2, "x": (spine + 0.5) / spines, "y": 0, "count": 1}
        )
    for leaf in range(leaves):
        nodes.append(
            {"name": f"leaf{leaf}", "kind": "switch", "tier": 1, "x": (leaf + 0.5) / leaves, "y": 0.5, "count": 1}
        )
    every = leaves * hosts
    for host in range(every):
        nodes.append({"name": f"h{host}", "kind": "host", "tier": 0, "x": host / (every - 1), "y": 1, "count": 1})

    def both(a, b, rate):
        for start, end in ((a, b), (b, a)):
            links.append({"from": start, "to": end, "rate_bps": rate, "delay_ns": 2000, "limit_bytes": 128_000})

    for leaf in range(leaves):
        for spine in range(spines):
            both(spines + leaf, spine, 10_000_000_000)
        for host in range(hosts):
            both(spines + leaves + leaf * hosts + host, spines + leaf, 1_000_000_000)
    return {"nodes": nodes, "links": links}


def film(policy, point, topology, seed, steps=120):
    """A queue that builds up at the last host's port and, with lanes, is left for another spine."""
    draw = random.Random(seed)
    links = []
    for index in range(len(topology["links"])):
        if draw.random() < 0.25:
            continue
        share = draw.uniform(0.05, 0.7)
        crowded = index == len(topology["links"]) - 1
        sent, queue, drops, flows = [], [], [], []
        for step in range(steps):
            wave = max(0.0, math.sin(step / steps * 2 * math.pi * (1 + index % 3) + index))
            if crowded:
                wave, share = min(1.0, step / 40) if policy < 2 else max(0.1, 1 - step / 60), 1.0
            sent.append(round(1000 * min(1.0, share * wave)))
            queue.append(round(128_000 * max(0.0, wave - 0.5) * 2 * share * draw.uniform(0.7, 1)))
            drops.append(draw.randint(1, 9) if queue[-1] > 110_000 else 0)
            flows.append(round(8 * wave))
        links.append({"link": index, "sent": sent, "queue": queue, "drops": drops, "flows": flows})
    switched = [[1_000_000 * step, 0, 4] for step in range(20, 60, 3)] if policy >= 2 else []
    active = [["query", [round(6 + 5 * math.sin(step / 9)) for step in range(steps)]], ["bulk", [2] * steps]]
    return {
        "policy": policy, "point": point, "repeat": 0, "topology": 0, "t": [(step + 1) * 500_000 for step in range(steps)],
        "links": links, "switched": switched, "active": active,
    }  # fmt: skip


def cdf_of(policy, point, traffic, draw, n=4000):
    centre = math.log(200e3 * (1 + 0.8 * point) / (1 + 0.5 * policy)) + traffic
    values = sorted(draw.lognormvariate(centre, 0.7) for _ in range(n))
    places = sorted(
        {round(n * (1 - 10 ** (-3.6 * i / 149))) for i in range(150)} | {round(n * i / 40) for i in range(41)}
    )
    places = [place for place in places if 0 < place <= n]
    return {
        "policy": policy, "point": point, "traffic": traffic, "n": n + (7 if policy == 0 else 0), "unfinished": 7 if policy == 0 else 0,
        "x": [round(values[place - 1]) for place in places], "y": [place / (n + (7 if policy == 0 else 0)) for place in places],
    }  # fmt: skip


def slowdown_of(policy, point, traffic):
    bins, size = [], 1000
    while size < 30_000_000:
        base = 1.2 + (2 + point) / (1 + policy) * math.exp(-((math.log10(size) - 4) ** 2) / 2)
        n = 4000 if size < 300_000 else 300
        bins.append({
            "from": size, "to": round(size * 3.1623), "n": n, "p50": base, "p95": base * 2.2, "p99": base * 4,
            "p999": base * 9 if n > 1000 else None,
        })  # fmt: skip
        size = round(size * 3.1623)
    return {"policy": policy, "point": point, "traffic": traffic, "bins": bins}


def samples(policy, point, entity, metric, unit, seed):
    draw, value, t, v = random.Random(seed), 0.0, [], []
    for step in range(400):
        value = max(0.0, value + draw.gauss(0, 0.1) + 0.02 * (1 if step % 90 < 45 else -1.4))
        scale = {"B": 60_000, "bps": 4e8, "ns": 2e5}[unit]
        t.append(round(step * 1e-4, 6))
        v.append(round(value * scale / (1 + 0.4 * policy) + (4e5 if unit == "ns" else 0)))
    return {
        "policy": policy,
        "point": point,
        "repeat": 0,
        "entity": entity,
        "metric": metric,
        "unit": unit,
        "t": t,
        "v": v,
        "of": 12_000,
    }


def run(policies=POLICIES, label="queue-buildup", slower=1.0):
    """One run with everything: four policies, four points, film, series, published numbers."""
    draw = random.Random(7)
    topology = leaf_spine()
    senders = [0, 2, 4, 6]
    traffics = ["query", "bulk"]
    summary = []
    for policy in range(len(policies)):
        for point, number in enumerate(senders):
            for traffic in range(2):
                fct = 3e5 * (1 + number) / (1 + 0.6 * policy) * (1 + 9 * traffic) * slower
                values = [fct, fct * 3.1, 8e8 * (1 + traffic) / (1 + number / 9), round(40 * number / (1 + policy))]
                for metric, value in enumerate(values):
                    half = value * draw.uniform(0.02, 0.15)
                    summary.append([policy, point, traffic, metric, value, value - half, value + half, 10])
    claims = [
        claim("mean FCT of query: lanes-deadline < tcp", "held", senders),
        claim("mean FCT of query: mptcp < 0.4 × tcp", "not held", senders[:2]),
        {**claim("FCT of lanes-link-cost as published", "known", senders, beside=True),
         "known": "The source's switches share one buffer; here every port has its own.", "published": ["12.4 ms (table 4.3)"]},
        {**claim("bulk is not slowed", "undecided", []), "skipped": 3},
    ]  # fmt: skip
    cells = [(policy, point) for policy in range(len(policies)) for point in range(len(senders))]
    return {
        "label": label, "scenario": "queue-buildup", "about": "Queries of 20 KB meet long flows at one port of a leaf switch.",
        "source": "thesis, §4.3", "version": "0.9.0", "seed": "18446744073709551615", "repeats": 10, "quick": False,
        "started": "2026-01-02T03:04:05Z", "finished": "2026-01-02T03:06:19Z", "wall_s": 134.2,
        "machine": {"os": "linux", "arch": "x86_64", "cpus": 8}, "kernel": None,
        "command": "headway run scenarios/queue-buildup.toml --repeats 10", "toml": TOML,
        "warnings": ["tcp at senders=6: 7 flows of query did not finish"], "notes": ["series were thinned to 400 samples each, peaks kept"],
        "policies": policies, "traffics": traffics,
        "sweep": [{"name": "senders", "values": [{"text": str(number), "number": number} for number in senders]}],
        "points": [{"text": f"senders={number}", "at": [i]} for i, number in enumerate(senders)],
        "claims": claims, "left_out": ["p99 FCT at senders = 12"], "metrics": METRICS, "summary": summary,
        "published": [{"policy": 0, "traffic": 0, "metric": 0, "source": "thesis, figure 4.7", "label": "tcp", "points": [[0, 3.3e5], [2, 1.3e6], [3, 2.4e6]]}],
        "cdf": [cdf_of(policy, point, traffic, draw) for policy, point in cells if point in (0, 3) for traffic in range(2)],
        "slowdown": [slowdown_of(policy, point, 0) for policy, point in cells if point in (0, 3)],
        "series": [samples(policy, 3, entity, metric, unit, hash_of(policy, entity, metric))
                   for policy in range(len(policies))
                   for metric, unit, entities in (("queue_bytes", "B", ["leaf1>h7", "leaf0>spine0", "leaf0>spine1"]), ("goodput_bps", "bps", ["bulk/0", "bulk/1"]), ("rtt_ns", "ns", ["bulk/0/0"]))
                   for entity in entities],
        "topologies": [topology],
        "films": [film(policy, point, topology, policy * 10 + point) for policy in range(min(3, len(policies))) for point in (0, 3)],
    }  # fmt: skip


def hash_of(*parts):
    """A number that is the same in every process, which Python's hash of text is not."""
    return sum((i + 1) * byte for i, byte in enumerate("/".join(map(str, parts)).encode()))


def claim(text, verdict, senders, beside=False):
    lines = []
    for number in senders:
        held = verdict == "held" or number < 2
        lines.append({
            "at": f"senders={number}", "text": f"lanes-deadline = {1 + number} ms [0.9 ms, 1.1 ms] < tcp = {2 + 2 * number} ms", "held": held,
            "published": [f"{2.5 + number} ms"] if beside else [], "ours": f"{2 + number} ms ± 0.2 ms" if beside else None,
            "ratios": [round((2 + number) / (2.5 + number), 3)] if beside else [],
        })  # fmt: skip
    return {"text": text, "verdict": verdict, "known": None, "published": [], "skipped": 0, "lines": lines}


def page(*runs, kind="run", title="queue-buildup", groups=()):
    return {"format": 1, "kind": kind, "title": title, "runs": list(runs), "groups": list(groups)}


def full():
    return page(run())


def no_sweep():
    """One point, one repeat (so no intervals), ten policies with long names."""
    one = run()
    names = [f"lanes-with-a-long-name-{i}" for i in range(10)]
    one.update(
        policies=names, sweep=[], points=[{"text": "", "at": []}], repeats=1, films=[], series=[], slowdown=[], published=[
            {"policy": 1, "traffic": None, "metric": 0, "source": "paper, table 2", "label": "lanes", "points": [[0, 9e5]]}],
        summary=[[policy, 0, traffic, metric, 1e6 * (1 + policy) * (1 + metric), None if traffic else 0.9e6 * (1 + policy) * (1 + metric), None if traffic else 1.1e6 * (1 + policy) * (1 + metric), 1]
                 for policy in range(10) for traffic in range(2) for metric in range(4)],
        cdf=[cdf_of(policy, 0, 0, random.Random(policy), 300) for policy in range(10)],
    )  # fmt: skip
    return page(one, title="no sweep")


def two_parameters():
    """Two swept parameters, of which one has values in words."""
    one = run()
    loads, kinds = [0.1, 0.2, 0.5, 0.9], ["drop-tail", "codel", "red"]
    one["sweep"] = [
        {"name": "load", "values": [{"text": str(load), "number": load} for load in loads]},
        {"name": "queue", "values": [{"text": kind, "number": None} for kind in kinds]},
    ]
    one["points"] = [
        {"text": f"load={load}, queue={kind}", "at": [i, j]}
        for i, load in enumerate(loads)
        for j, kind in enumerate(kinds)
    ]
    one["summary"] = [
        [policy, point, 0, metric, (1e6 + 1e5 * point) * (1 + policy / 3), 0.9e6 * (1 + policy / 3), (1.2e6 + 1e5 * point) * (1 + policy / 3), 5]
        for policy in range(4) for point in range(12) for metric in range(2)
    ]  # fmt: skip
    # of lanes-link-cost one flow at the first point did not finish, of mptcp none at the second did
    unfinished = len(METRICS)
    one["metrics"] = [*METRICS, {"name": "unfinished", "label": "unfinished flows", "unit": "1", "better": "less"}]
    one["summary"] = [row for row in one["summary"] if row[1] != 1]
    one["summary"] += [[3, 0, 0, unfinished, 1, 1, 1, 5], [1, 1, 0, unfinished, 9, 9, 9, 5]]
    one["published"], one["films"], one["series"] = [], [], []
    return page(one, title="two parameters")


def nothing():
    """A run that gave nothing that could be drawn."""
    one = run()
    for name in (
        "claims",
        "left_out",
        "summary",
        "published",
        "cdf",
        "slowdown",
        "series",
        "topologies",
        "films",
        "warnings",
        "notes",
        "sweep",
    ):
        one[name] = []
    one["points"] = [{"text": "", "at": []}]
    return page(one, title="nothing")


def comparison():
    """The second run has differences from the first: of the last metric an interval with zero in it."""
    first, second = run(label="before"), run(label="after", slower=0.7)
    for before, after in zip(first["summary"], second["summary"], strict=True):
        value = after[4] - before[4]
        half = 1.5 * abs(value) if after[3] == 3 else 0.2 * abs(value)
        judgement = "overlap" if after[3] == 3 else "differ" if value else "same"
        after.append([value, value - half, value + half, judgement])
    return page(first, second, kind="comparison", title="before and after")


def unordered():
    """Values of the sweep in another order than that of their size; the second run has one that the first has not."""
    first, second = run(label="before"), run(label="after")
    for one, values in ((first, ["16KB", "64KB", "256KB", "1MB"]), (second, ["16KB", "64KB", "32KB", "1MB"])):
        one["sweep"] = [{"name": "buffer", "values": [{"text": text, "number": None} for text in values]}]
        one["points"] = [{"text": f"buffer={text}", "at": [place]} for place, text in enumerate(values)]
    return page(first, second, kind="comparison", title="unordered")


def unlike():
    """Two runs that have neither sweep nor points nor all policies in common."""
    other = two_parameters()["runs"][0]
    other.update(label="loads", policies=["tcp", "codel-only", "red-only", "repflow"])
    return page(run(label="senders"), other, kind="comparison", title="unlike")


def reproduction():
    runs = [run(label=f"lanes-l{i}") for i in range(3)] + [run(label="pacing-p1", policies=POLICIES[:2])]
    for one in runs:
        one["films"] = one["films"][:2]
    return page(
        *runs,
        kind="reproduction",
        title="reproduction",
        groups=[{"title": "lanes", "runs": [0, 1, 2]}, {"title": "pacing", "runs": [3]}],
    )


EVIL = '</script><img src=x onerror="window.pwned=1"><b>{a|b}</b>&lt;\'`${1}\u202e'


def hostile():
    """Every text that comes from outside is markup."""

    def poison(value, key=""):
        if isinstance(value, str):
            return value if key in KEYS_OF_THE_CONTRACT else EVIL + value
        if isinstance(value, list):
            return [poison(each, key) for each in value]
        if isinstance(value, dict):
            return {name: poison(each, name) for name, each in value.items()}
        return value

    data = copy.deepcopy(full())
    data["title"] = EVIL
    data["runs"] = poison(data["runs"])
    return data


KEYS_OF_THE_CONTRACT = {"verdict", "unit", "better", "kind"}

ALL = {
    make.__name__: make for make in (full, no_sweep, two_parameters, nothing, comparison, unordered, unlike, reproduction, hostile)
}
