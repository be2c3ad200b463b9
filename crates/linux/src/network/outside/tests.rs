use sojourn_scenario::load;

use super::*;

const GRAPH: &str = r#"
name = "graph"
duration = "4s"
tcp = { ecn = "rfc3168" }
link = [
  { name = "l", from = "a", to = "m", rate = "20Mbit", delay = "2ms" },
  { name = "r", from = "m", to = "b", rate = "20Mbit", delay = "2ms" },
]
flow = [
  { name = "whole", cc = "cubic", path = ["l", "r"] },
  { name = "half", cc = "prague", tcp = { ecn = "accecn" }, path = ["r"], direction = "up" },
]
ping = [{ name = "p", path = ["l"] }]
"#;

fn outside(stacks: &[Stack]) -> Outside {
    let scenario = load(GRAPH, "graph.toml", &[]).expect("a scenario").scenario;
    Network::of_hosts(&scenario, stacks, false).expect("hosts")
}

#[test]
fn each_end_of_a_path_is_a_host_behind_a_device() {
    let Outside { network, uplinks, seats } = outside(&[Stack::Kernel, Stack::Kernel]);
    let names: Vec<_> = network.hosts.iter().map(|host| host.namespace.as_str()).collect();
    assert_eq!(names, ["host-a", "host-b", "host-m"]);
    let [whole, half] = network.flows[..] else { panic!("two flows") };
    assert_eq!((whole, network.pings[0]), ([0, 1], [0, 2]));
    // Its data go upward, but its sender opens it: it is the far end.
    assert_eq!(half, [1, 2]);
    assert_eq!(uplinks.len(), 3);
    assert!(uplinks.iter().zip(names).all(|(end, host)| end.namespace == host));
    assert!(seats.is_empty());
    let text: Vec<String> = network.commands.iter().map(Command::to_string).collect();
    let of_a: Vec<_> = text.iter().filter(|line| line.contains("host-a ")).collect();
    assert!(of_a.contains(&&"ip netns exec host-a ip tuntap add dev uplink mode tun".to_owned()));
    assert!(of_a.contains(&&"ip netns exec host-a ip addr add 10.9.0.1/32 dev uplink".to_owned()));
    assert!(text.iter().all(|line| !line.contains("tc ")), "the queues are elsewhere");
    // AccECN of one flow is that of the hosts, which accept whatever a flow asks for.
    assert!(text.contains(&"ip netns exec host-b sysctl -qw net.ipv4.tcp_ecn=3".to_owned()));
}

#[test]
fn flows_of_ours_have_a_device_of_their_own_and_ask_nothing_of_the_kernel() {
    let Outside { network, seats, .. } = outside(&[Stack::Kernel, Stack::Sojourn]);
    let addresses: Vec<_> = seats.iter().map(|seat| seat.address.to_string()).collect();
    assert_eq!(addresses, ["10.9.1.1", "10.9.1.2", "10.9.1.3"]);
    let text: Vec<String> = network.commands.iter().map(Command::to_string).collect();
    assert!(text.contains(&"ip netns exec host-m ip route add 10.9.1.3/32 dev stack".to_owned()));
    assert!(text.contains(&"ip netns exec host-m sysctl -qw net.ipv4.ip_forward=1".to_owned()));
    assert!(text.contains(&"ip netns exec host-b sysctl -qw net.ipv4.tcp_ecn=1".to_owned()));
}
