#!/bin/bash
# Runs inside a kernel in virtual time: one case of the corpus, whose settings are the file named by the first argument.
# cli - mid - far - srv; the bottleneck is mid's egress towards far, delay and random loss are far's egresses.
set -u
# shellcheck disable=SC1090
. "$1"
inside() { local name=$1; shift; ip netns exec "$name" "$@"; }
for name in cli mid far srv; do ip netns add $name; inside $name ip link set lo up; done
join() { # left device, right device: c0 of cli to m0 of mid
	ip link add "$2" netns "$1" type veth peer name "$4" netns "$3"
	inside "$1" ip link set "$2" txqueuelen 1000
	inside "$3" ip link set "$4" txqueuelen 1000
	[ "$offload" = 1 ] || for end in "$1 $2" "$3 $4"; do
		inside "${end% *}" ethtool -K "${end#* }" tso off gso off gro off >/dev/null 2>&1
	done
}
join cli c0 mid m0
join mid m1 far f0
join far f1 srv s0
address() { inside "$1" ip addr add "$3/24" dev "$2"; inside "$1" ip link set "$2" up; }
address cli c0 10.9.1.1; address mid m0 10.9.1.2
address mid m1 10.9.2.1; address far f0 10.9.2.2
address far f1 10.9.3.2; address srv s0 10.9.3.1
inside cli ip route add default via 10.9.1.2
inside mid ip route add default via 10.9.2.2
inside far ip route add 10.9.1.0/24 via 10.9.2.1
inside srv ip route add default via 10.9.3.2
for name in mid far; do inside $name sysctl -qw net.ipv4.ip_forward=1; done
for name in cli srv; do
	inside $name sysctl -qw net.ipv4.tcp_ecn="$ecn" net.ipv4.tcp_no_metrics_save=1 \
		net.ipv4.tcp_rmem="4096 131072 16777216" net.ipv4.tcp_wmem="4096 131072 16777216"
done
# shellcheck disable=SC2086
{
	inside mid tc qdisc add dev m1 root handle 1: htb default 1
	inside mid tc class add dev m1 parent 1: classid 1:1 htb rate ${rate}kbit ceil ${rate}kbit quantum 15140 burst 3000 cburst 3000
	inside mid tc qdisc add dev m1 parent 1:1 handle 2: $qdisc || exit 3
	inside far tc qdisc add dev f1 root handle 1: netem delay ${oneway}us $loss limit 1000000 || exit 3
	inside far tc qdisc add dev f0 root handle 1: netem delay ${oneway}us limit 1000000 || exit 3
}
case $point in
sender) place="cli c0" ;;
receiver) place="srv s0" ;;
behind) place="far f0" ;;
esac
# Without the function, whose subshell would get the signal at the end in its place.
ip netns exec "${place% *}" tcpdump -q -i "${place#* }" -s "$snap" -B 65536 --time-stamp-precision=nano \
	-w /run/tmp/case.pcap >/run/tmp/tcpdump.log 2>&1 &
dump=$!
for port in 5201 5202; do inside srv iperf3 -s -D -1 -p $port >/dev/null 2>&1; done
sleep 0.5
start() { # port, seconds, controller or "udp", of UDP kbit/s and ECN
	if [ "$3" = udp ]; then
		inside cli python3 "$(dirname "$0")/cbr.py" 10.9.3.1 "$1" "$4" "$2" "$5"
	else
		inside cli iperf3 -c 10.9.3.1 -p "$1" -t "$2" -C "$3" >/run/tmp/"$1".log 2>&1 || tail -n 3 /run/tmp/"$1".log
	fi
}
# shellcheck disable=SC2086
start 5201 "$duration" $first &
flows=$!
if [ -n "$second" ]; then
	sleep "$second_at"
	# shellcheck disable=SC2086
	start 5202 $((duration - second_at)) $second
fi
wait $flows
sleep 0.2
kill -INT $dump; wait $dump
grep -h dropped /run/tmp/tcpdump.log
cp /run/tmp/case.pcap /run/out/case.pcap
