use super::*;

fn default_list() -> PriceList {
    PriceList::parse(DEFAULT_PRICES, DEFAULT_PRICES_NAME).unwrap_or_else(|problems| panic!("{problems}"))
}

fn refused(text: &str) -> String {
    PriceList::parse(text, "prices.toml").unwrap_err().to_string()
}

#[test]
fn figure_7_6_is_repeated_to_the_million() {
    let list = default_list();
    for (design, millions) in [(Design::FatTree { k: 48 }, 1217), (Design::MultiHomedFatTree { k: 48 }, 1016)] {
        let published = published(design).unwrap();
        assert_eq!(published.millions, millions, "as thesis §7.2.2 prints it");
        let estimate = Estimate::new(design, &list).unwrap();
        assert_eq!((estimate.total() / 1e6).floor(), published.millions as f64, "{design:?}");
        let switches: Vec<u64> = estimate.tiers.iter().map(|tier| tier.tier.switches).collect();
        assert_eq!(switches, published.switches);
        assert_eq!(estimate.inventory.hosts, 27_648);
        assert!(estimate.fits());
    }
    assert_eq!(published(Design::FatTree { k: 46 }), None);
    assert_eq!(published(Design::DualHomedFatTree { k: 48 }), None);
}

#[test]
fn a_switch_of_more_ports_than_any_device_is_counted_and_does_not_fit() {
    let list = default_list();
    let fit = |design| Estimate::new(design, &list).unwrap().tiers.iter().map(Priced::fits).collect::<Vec<_>>();
    // k ports of every switch: the edge's 48 are the first to run out.
    assert_eq!(fit(Design::FatTree { k: 50 }), [false, true, true]);
    // k/2 + 1 at the edge, k in the core: 48 and 128 ports last until k = 94 and k = 128.
    assert_eq!(fit(Design::MultiHomedFatTree { k: 94 }), [true, true, true]);
    assert_eq!(fit(Design::MultiHomedFatTree { k: 96 }), [false, true, true]);
    assert_eq!(fit(Design::MultiHomedFatTree { k: 130 }), [false, true, false]);
    // k²/4 + k/2 at the edge of a dual-homed one.
    assert_eq!(fit(Design::DualHomedFatTree { k: 12 }), [true, true, true]);
    assert_eq!(fit(Design::DualHomedFatTree { k: 14 }), [false, true, true]);
}

#[test]
fn cables_and_interfaces_cost_what_the_list_says() {
    let text = DEFAULT_PRICES.replace("cable = 0", "cable = 2.5").replace("interface = 0", "interface = 10");
    let list = PriceList::parse(&text, "x.toml").unwrap();
    let design = Design::MultiHomedFatTree { k: 4 };
    let estimate = Estimate::new(design, &list).unwrap();
    // 16 hosts of 2 interfaces: 32 cables to hosts, 16 above edge switches, 8 above aggregation switches.
    assert_eq!((estimate.cables, estimate.interfaces), (2.5 * (32.0 + 16.0 + 8.0), 10.0 * 32.0));
    let switches = 16.0 * 7_000.0 + (8.0 + 2.0) * 700_000.0;
    assert_eq!(estimate.total(), switches + estimate.cables + estimate.interfaces);
}

#[test]
fn the_cheapest_device_that_is_large_enough_is_taken() {
    let more = "[[switch]]\nname = \"small\"\nports = 8\nrate = \"1Gbps\"\nprice = 100\ntiers = [\"edge\", \"core\"]\n";
    let list = PriceList::parse(&format!("{DEFAULT_PRICES}\n{more}"), "x.toml").unwrap();
    let name = |role, ports| list.device(role, ports).name.as_str();
    assert_eq!((name(Role::Edge, 8), name(Role::Edge, 9)), ("small", "48-port-1gbe"));
    assert_eq!((name(Role::Edge, 49), name(Role::Aggregation, 8)), ("48-port-1gbe", "128-port-10gbe"));
    assert_eq!((name(Role::Core, 8), name(Role::Core, 1000)), ("small", "128-port-10gbe"));
}

#[test]
fn the_smallest_of_a_topology_has_the_hosts_and_the_next_smaller_has_not() {
    for hosts in [1, 2, 16, 17, 1000, 27_648, 27_649, 1_000_000_000] {
        let k = smallest_k(hosts);
        let room = |k: u32| Design::FatTree { k }.hosts().unwrap();
        assert!(room(k) >= u128::from(hosts) && (k == 2 || room(k - 2) < u128::from(hosts)), "{hosts}: {k}");
        let n = smallest_n(hosts, 4);
        let room = |n: u32| u128::from(n).pow(4);
        assert!(room(n) >= u128::from(hosts) && (n == 3 || room(n - 1) < u128::from(hosts)), "{hosts}: {n}");
        let levels = fewest_levels(hosts, 8);
        let room = |levels: u32| 8u128.pow(levels);
        assert!(room(levels) >= u128::from(hosts) && (levels == 1 || room(levels - 1) < u128::from(hosts)));
    }
}

#[test]
fn wrong_price_lists_are_refused_at_the_place() {
    let unknown = refused(&DEFAULT_PRICES.replacen("ports = 48", "prots = 48", 1));
    assert!(unknown.contains("prots") && unknown.contains("did you mean `ports`?"), "{unknown}");
    let missing = refused(&DEFAULT_PRICES.replacen("price = 7000\n", "", 1));
    assert!(missing.contains("needs `price`") && missing.contains("prices.toml:9:1"), "{missing}");
    let negative = refused(&DEFAULT_PRICES.replacen("price = 7000", "price = -1", 1));
    assert!(negative.contains("prices.toml:13:9"), "{negative}");
    let nobody = refused(&DEFAULT_PRICES.replacen("\"aggregation\", ", "", 1));
    assert!(nobody.contains("no switch of this price list is for the tier `aggregation`"), "{nobody}");
    let word = refused(&DEFAULT_PRICES.replacen("[\"edge\"]", "[\"egde\"]", 1));
    assert!(word.contains("did you mean `edge`?"), "{word}");
    let none = refused(&DEFAULT_PRICES.replacen("[\"edge\"]", "[]", 1));
    assert!(none.contains("`switch.48-port-1gbe.tiers` has none"), "{none}");
    let currency = refused(&DEFAULT_PRICES.replacen("USD", "$", 1));
    assert!(currency.contains("`currency` must be three to eight letters"), "{currency}");
    assert!(refused("price =").contains("this is not TOML"));
    assert!(refused("").contains("switch"));
    assert!(refused(&"#".repeat(4_000_001)).contains("at most 4 MB"));
}
