#!/bin/bash
# guest.sh UDP_TRAIN: runs every job of /run/out inside the guest, in a chain cli - mid - srv whose
# queue under test sits on mid's way to srv. A job is a folder: `train`, `qdisc`, and `shaper`, which
# is empty for a queue at the root. To start a process takes as long as some packets: so it runs in mid.
train=$1
if [ -z "${2-}" ]; then
  for n in cli mid srv; do ip netns add $n; done
  exec ip netns exec mid bash "$0" "$train" inside
fi
on() { local name=$1; shift; ip netns exec "$name" "$@"; }
for n in cli mid srv; do
  on $n sysctl -qw net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.default.disable_ipv6=1 2>/dev/null
  on $n ip link set lo up
done
ip -n cli link add c0 address 02:00:00:00:01:01 type veth peer name m0 netns mid address 02:00:00:00:01:02
ip -n mid link add m1 address 02:00:00:00:02:02 type veth peer name s0 netns srv address 02:00:00:00:02:01
for x in "cli c0" "mid m0" "mid m1" "srv s0"; do
  set -- $x
  on $1 ethtool -K $2 tso off gso off gro off >/dev/null 2>&1
  on $1 ip link set $2 txqueuelen 1000
done
# noqueue on the way to the test; what is not under test must neither wait nor drop.
on cli ip addr add 10.9.1.1/24 dev c0; on mid ip addr add 10.9.1.2/24 dev m0
on mid ip addr add 10.9.2.2/24 dev m1; on srv ip addr add 10.9.2.1/24 dev s0
for x in "cli c0" "mid m0" "mid m1" "srv s0"; do set -- $x; on $1 ip link set $2 up; done
on cli ip route add default via 10.9.1.2
on mid sysctl -qw net.ipv4.ip_forward=1
# No ARP through the queue.
on cli ip neigh replace 10.9.1.2 lladdr 02:00:00:00:01:02 dev c0 nud permanent
on mid ip neigh replace 10.9.2.1 lladdr 02:00:00:00:02:01 dev m1 nud permanent

for job in /run/out/job*; do
  read -r shaper <"$job/shaper"; read -r qdisc <"$job/qdisc"; read -r silence <"$job/silence"
  tc qdisc del dev m1 root 2>/dev/null
  if [ -n "$shaper" ]; then
    tc -batch - <<END || exit 3
qdisc add dev m1 root handle 1: htb default 1
class add dev m1 parent 1: classid 1:1 $shaper
qdisc add dev m1 parent 1:1 handle 2: $qdisc
END
  else
    tc qdisc add dev m1 root handle 2: $qdisc || exit 3
  fi
  "$train" clock >"$job/created"
  on srv "$train" receive "$job/got" "$silence" & receiver=$!
  sleep 0.01
  on cli "$train" send "$job/train" "$job/sent" 10.9.1.1 10.9.2.1 || exit 4
  wait $receiver || exit 5
  tc -s -j qdisc show dev m1 >"$job/stats.json"
done
