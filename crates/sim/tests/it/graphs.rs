//! Links between nodes, and flows over several paths.

use proptest::prelude::*;
use sojourn_trace::Output;

use crate::lab::{Named, close, run, total};

/// Links of 8 Mbit/s that are named after their nodes, in their order in the alphabet.
fn links(names: &[&str]) -> String {
    let link = |name: &&str| {
        let (from, to) = (&name[..1], &name[1..2]);
        format!(
            "[[link]]\nname = \"{name}\"\nfrom = \"{from}\"\nto = \"{to}\"\nrate = \"8Mbit\"\n\
             delay = \"5ms\"\n"
        )
    };
    names.iter().map(link).collect()
}

fn over(names: &[&str], rest: &str) -> Output {
    run(&format!("duration = \"10s\"\nmeasure = {{ from = \"1s\" }}\n{}{rest}", links(names)))
}

/// Bytes of an Ethernet frame around a packet.
const FRAME: f64 = 14.0;

const CBR: &str = "[[flow]]\nname = \"a\"\napp = \"cbr rate 20Mbit size 1000\"\n";

#[test]
fn two_equal_bottlenecks_by_packet_carry_twice_what_one_does() {
    let goodput = |path: &str| over(&["st", "st2"], &format!("{CBR}{path}")).flow("a").goodput_mbps;
    let one = goodput("path = ['st']");
    close(one, 8.0 * 972.0 / (1000.0 + FRAME), 0.1);
    close(goodput("path = [['st'], ['st2']]\nmultipath = 'packet'"), 2.0 * one, 0.1);
    close(goodput("path = [['st'], ['st2']]\nmultipath = 'flow'"), one, 0.1);
}

#[test]
fn paths_by_packet_get_their_weights_and_queues_tell_their_flows() {
    let flow = "[[flow]]\nname = \"a\"\napp = \"cbr rate 5Mbit size 1000\"\n\
                path = [['st'], ['su', 'ut']]\nmultipath = 'packet'\nweights = [3, 1]";
    let output = over(&["st", "su", "ut"], flow);
    let passed = |queue: &str| output.queue(queue).sent_packets;
    assert!(passed("st").abs_diff(3 * passed("su")) <= 3, "{} {}", passed("st"), passed("su"));
    assert!(passed("su") - passed("ut") <= 1);
    let of_flow = |queue: &str| output.queue(queue).flows.iter().any(|flow| flow.name == "a");
    assert!(of_flow("st") && of_flow("su") && of_flow("ut"));
}

#[test]
fn copies_by_flow_are_spread_over_the_paths() {
    let flow = "[[flow]]\nname = \"a\"\napp = \"cbr rate 1Mbit size 1000\"\nflows = 20\n\
                path = [['st'], ['st2']]";
    let output = over(&["st", "st2"], flow);
    let flows = |queue: &str| {
        output.queue(queue).flows.iter().map(|flow| flow.name.clone()).collect::<Vec<_>>()
    };
    let (first, second) = (flows("st"), flows("st2"));
    assert_eq!(first.len() + second.len(), 20, "each takes one");
    assert!(first.len() > 4 && second.len() > 4, "{first:?} {second:?}");
}

#[test]
fn both_directions_of_a_connection_are_spread() {
    let flow = "[[flow]]\nname = \"a\"\ncc = \"cubic\"\ntcp = { tsq = true }\n\
                path = [['st'], ['st2']]\nmultipath = 'packet'";
    let output = over(&["st", "st2"], flow);
    let passed = |queue: &str| output.queue(queue).sent_packets;
    for way in ["", ".reverse"] {
        let [first, second] = ["st", "st2"].map(|link| passed(&format!("{link}{way}")));
        assert!(first > 1000 && first.abs_diff(second) < 100, "{first} {second}");
    }
    close(output.flow("a").goodput_mbps, 2.0 * 8.0 * 1448.0 / (1500.0 + FRAME), 5.0);
    let [first, second] = ["st", "st2"].map(passed);
    // But for the SYN and the ACK of the handshake.
    assert!((first + second).abs_diff(output.summary.data_packets) <= 2);
}

#[test]
fn data_that_cross_a_link_backward_pass_its_reverse_port() {
    let flow = format!("{CBR}path = ['su', 'tu']");
    let output = over(&["su", "tu"], &flow);
    assert!(output.queue("tu.reverse").sent_packets > 5000);
    assert_eq!(output.queue("tu").received_packets, 0);
}

#[test]
fn an_answer_takes_the_path_of_its_request_back() {
    let ping = "[[ping]]\nname = \"p\"\nfrom = \"s\"\nto = \"t\"\n";
    let output = over(&["su", "tu"], ping);
    let ping = output.ping("p");
    assert_eq!(total(&ping.totals, "sent"), total(&ping.totals, "received") + 1.0);
    close(ping.rtt_ms.expect("replies").p50, 20.0 + 4.0 * (84.0 + FRAME) * 8.0 / 8e3, 0.01);
}

/// Text of a run's summary, and the bits of its series.
fn all(output: &Output) -> (String, Vec<(String, Vec<u64>)>) {
    let columns = output.series.iter().map(|column| {
        let values = column.t.iter().chain(&column.v);
        (column.name.clone(), values.map(|value| value.to_bits()).collect())
    });
    (serde_json::to_string(&output.summary).expect("a summary"), columns.collect())
}

#[test]
fn a_chain_between_named_nodes_is_the_same_run() {
    let text = |first: &str, second: &str, path: &str| {
        format!(
            r#"
duration = "5s"
[[link]]
name = "access"
{first}
rate = "100Mbit"
delay = "2ms"
[[link]]
name = "bneck"
{second}
rate = "20Mbit"
shaper = "htb"
qdisc = "cake"
ingress = ["netem delay 5ms 1ms loss 0.1%"]
[[flow]]
name = "down"
cc = "cubic"
{path}
[[flow]]
name = "up"
cc = "prague"
direction = "up"
{path}
[[flow]]
name = "web"
cc = "reno"
app = "short load 1Mbit"
{path}
[[ping]]
name = "p"
{path}
[[tunnel]]
name = "vpn"
links = ["bneck"]
flows = ["up", "p"]
"#
        )
    };
    let chain = run(&text("", "", ""));
    let forward = "from = \"s\"\nto = \"t\"";
    let graph = run(&text("from = \"s\"\nto = \"m\"", "from = \"m\"\nto = \"t\"", forward));
    assert_eq!(all(&graph), all(&chain));
}

/// Links from `s` to `t` over one or two nodes each; some are written from their far end.
fn branches() -> impl Strategy<Value = Vec<Vec<bool>>> {
    prop::collection::vec(prop::collection::vec(any::<bool>(), 1..4), 1..5)
}

/// A link between two nodes, perhaps written backward.
fn link(name: &str, [from, to]: [&str; 2], is_backward: bool, rate_mbps: u32) -> String {
    let (from, to) = if is_backward { (to, from) } else { (from, to) };
    format!(
        "[[link]]\nname = \"{name}\"\nfrom = \"{from}\"\nto = \"{to}\"\nrate = \"{rate_mbps}Mbit\"\n\
         delay = \"1ms\"\nqdisc = \"pfifo limit 20\"\n"
    )
}

/// A connected graph: each node but the first has a link with one before it; some links are written
/// backward. Then further links, and the pairs of nodes between which flows run.
type Graph = (Vec<(usize, bool)>, Vec<(usize, usize)>, Vec<(usize, usize)>);

fn connected() -> impl Strategy<Value = Graph> {
    let pairs = |most| prop::collection::vec((0_usize..6, 0_usize..6), 1..most);
    (prop::collection::vec((0_usize..6, any::<bool>()), 5), pairs(5), pairs(6))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn every_node_of_a_connected_graph_is_reached((tree, more, flows) in connected()) {
        let trunk = tree.iter().zip(1..).map(|((to, is_backward), from)| (from, to % from, *is_backward));
        let more = more.iter().map(|(from, to)| (*from, *to, false));
        let links = trunk.chain(more).filter(|(from, to, _)| from != to).enumerate();
        let node = |n: usize| format!("n{n}");
        let mut text: String = links
            .map(|(n, (from, to, is_backward))| {
                link(&format!("l{n}"), [&node(from), &node(to)], is_backward, 10)
            })
            .collect();
        let flows: Vec<_> = flows.into_iter().filter(|(from, to)| from != to).collect();
        for (n, (from, to)) in flows.iter().enumerate() {
            text += &format!("[[flow]]\nname = \"f{n}\"\ncc = \"cubic\"\nbytes = \"10kb\"\n");
            text += &format!("from = \"n{from}\"\nto = \"n{to}\"\n");
        }
        let output = run(&format!("duration = \"5s\"\nqueue_age = \"0s\"\n{text}"));
        for flow in &output.summary.flows {
            prop_assert_eq!(total(&flow.sender, "acked_bytes"), 10_240.0, "{}", flow.name);
        }
    }

    /// The engine checks at every sample that no packet is lost or made; see `Engine::assert_balanced`.
    #[test]
    fn spread_packets_arrive_are_dropped_or_wait(
        branches in branches(),
        has_head in any::<bool>(),
        has_tail in any::<bool>(),
        by_packet in any::<bool>(),
        weights in prop::collection::vec(1_u32..5, 4),
        rates in prop::collection::vec(1_u32..20, 14),
        up in any::<bool>(),
    ) {
        let mut rates = rates.into_iter();
        let mut rate = || rates.next().expect("a rate for each link");
        let (mut text, mut paths) = (String::new(), Vec::new());
        for (n, branch) in branches.iter().enumerate() {
            let node = |place: usize| match place {
                0 => "s".to_owned(),
                place if place == branch.len() => "t".to_owned(),
                place => format!("n{n}-{place}"),
            };
            let mut path: Vec<_> = has_head.then(|| "head".to_owned()).into_iter().collect();
            for (place, is_backward) in branch.iter().enumerate() {
                let name = format!("b{n}-{place}");
                text += &link(&name, [&node(place), &node(place + 1)], *is_backward, rate());
                path.push(name);
            }
            path.extend(has_tail.then(|| "tail".to_owned()));
            paths.push(path);
        }
        text += &link("head", ["r", "s"], false, rate());
        text += &link("tail", ["u", "t"], false, rate());
        let (from, to) = (if has_head { "r" } else { "s" }, if has_tail { "u" } else { "t" });
        let spread = format!(
            "from = \"{from}\"\npath = {paths:?}\nmultipath = \"{}\"\nweights = {:?}\n",
            if by_packet { "packet" } else { "flow" },
            &weights[..paths.len()],
        );
        let way = if up { "up" } else { "down" };
        text += &format!("[[flow]]\nname = \"tcp\"\ncc = \"cubic\"\ndirection = \"{way}\"\n{spread}");
        text += &format!("[[flow]]\nname = \"cbr\"\napp = \"cbr rate 6Mbit size 500\"\n{spread}");
        text += &format!("[[flow]]\nname = \"cross\"\ncc = \"reno\"\nfrom = \"{from}\"\nto = \"{to}\"\n");
        text += &format!("[[ping]]\nname = \"p\"\n{spread}");
        let output = run(&format!("duration = \"2s\"\nqueue_age = \"0s\"\n{text}"));
        let cbr = output.flow("cbr");
        let [sent, received] =
            [(&cbr.sender, "packets_sent"), (&cbr.receiver, "packets_received")].map(|(t, n)| total(t, n));
        prop_assert!(received > 0.0 && received <= sent, "{received} of {sent}");
    }
}
