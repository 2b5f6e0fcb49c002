# Runs in the machine. Two hosts, `a` and `b`, and a router between them, whose qdisc towards `b` is the one to be tried.
# What it prints behind a line `== NAME` is read by test_qdisc.py. It is printed at the end, because writing to the
# console takes a time that is not the machine's own.
exec 3>&1 >/tmp/printed 2>&1

# Seconds of each measurement.
SECONDS_EACH=@SECONDS@

in_a() { nsenter --net=/run/netns/a -- "$@"; }
in_b() { nsenter --net=/run/netns/b -- "$@"; }
router() { nsenter --net=/run/netns/r -- "$@"; }

link() {
	ip link add v netns r type veth peer name v netns b
	router ip addr add 10.0.0.1/24 dev v
	router ip link set v up
	in_b ip addr add 10.0.0.2/24 dev v
	in_b ip link set v up
	in_b ip route add default via 10.0.0.1
}

# What a flow has received, kbit/s: of the lines about the receiver, the last one, of all connections.
received() { sed -n 's/.* \([0-9.]*\) Kbits\/sec.*receiver.*/\1/p' "$1" | tail -n 1; }

# TCP and a flow of UDP that does not listen, together, for seconds.
tcp_and_udp() {
	in_a iperf3 -c 10.0.0.2 -p 5202 -u -b 20M -t "$1" -l 1400 -f k >/tmp/udp &
	in_a iperf3 -c 10.0.0.2 -p 5201 -C cubic -P 4 -t "$1" -f k >/tmp/tcp
	wait $!
	echo "tcp $(received /tmp/tcp)"
	echo "udp $(received /tmp/udp)"
}

# Two flows of UDP of the same rate, of which the second has code point EF.
two_classes() {
	in_a iperf3 -c 10.0.0.2 -p 5202 -u -b 8M -t "$1" -l 1400 -f k >/tmp/plain &
	in_a iperf3 -c 10.0.0.2 -p 5203 -u -b 8M -t "$1" -l 1400 -f k -S 184 >/tmp/ef
	wait $!
	echo "plain $(received /tmp/plain)"
	echo "ef $(received /tmp/ef)"
}

# A program in a cgroup, and what it opens.
in_cgroup() {
	sh -c 'echo 0 >/sys/fs/cgroup$1/cgroup.procs && shift && exec "$@"' - "$@"
}

# Two flows of UDP of the same rate out of two cgroups.
two_cgroups() {
	in_cgroup "$2" nsenter --net=/run/netns/a -- iperf3 -c 10.0.0.2 -p 5202 -u -b 8M -t "$1" -l 1400 -f k >/tmp/first &
	in_cgroup "$3" nsenter --net=/run/netns/a -- iperf3 -c 10.0.0.2 -p 5203 -u -b 8M -t "$1" -l 1400 -f k >/tmp/second
	wait $!
	echo "first $(received /tmp/first)"
	echo "second $(received /tmp/second)"
}

CHOKEW='{"name": "chokew", "params": {"l_th": 20, "l_minus": 25, "l_plus": 35, "weights": {"EF": 4}}}'

for each in a r b; do
	ip netns add $each
	nsenter --net=/run/netns/$each -- sysctl -q -w net.ipv6.conf.all.disable_ipv6=1
done
router sysctl -q -w net.ipv4.ip_forward=1
ip link add v netns a type veth peer name u netns r
# One packet a buffer.
in_a ip link set v up gso_max_segs 1
in_a ip addr add 10.0.1.2/24 dev v
in_a ip route add default via 10.0.1.1
router ip addr add 10.0.1.1/24 dev u
router ip link set u up
link
for port in 5201 5202 5203; do
	in_b iperf3 -s -D -p $port
done
sleep 1

echo "== kernel"
uname -r

echo "== fifo"
router tc qdisc add dev v root tbf rate 10mbit burst 5kb limit 150kb
tcp_and_udp "$SECONDS_EACH"

echo "== in the way"
router attach v "$CHOKEW" 10000000 100 2>&1

echo "== hooks"
for each in avq red pi scaled mkc drq; do
	router attach v "{\"name\": \"$each\"}" 10000000 100 2>&1
	router attach v detach
done
router tc qdisc del dev v root

echo "== attach"
router attach v "$CHOKEW" 10000000 100 2>&1
router tc qdisc show dev v

echo "== chokew"
tcp_and_udp "$SECONDS_EACH"

echo "== stats"
router attach v stats

echo "== tc"
router tc -s qdisc show dev v

echo "== again"
router attach v "$CHOKEW" 10000000 50 2>&1
router attach v stats

echo "== weights"
two_classes "$SECONDS_EACH"

echo "== overload"
in_a iperf3 -c 10.0.0.2 -p 5202 -u -b 60M -t 1 -l 1400 -P 8 >/dev/null
router attach v stats

echo "== detach"
router attach v detach
router tc qdisc show dev v
ls /sys/fs/bpf/marqueue

echo "== gone with its device"
router attach v "$CHOKEW" 10000000 100 2>&1
in_a iperf3 -c 10.0.0.2 -p 5202 -u -b 20M -t 5 -l 1400 >/dev/null 2>&1 &
sleep 1
router ip link del v
kill -9 $!
link
router attach v stats 2>&1
router attach v "$CHOKEW" 10000000 100 2>&1
in_a ping -c 2 -q 10.0.0.2 | grep received
ls /sys/fs/bpf/marqueue | wc -l

echo "== removed by somebody"
router tc qdisc del dev v root
router attach v stats 2>&1
router attach v "$CHOKEW" 10000000 100 2>&1
router attach v detach
ls /sys/fs/bpf/marqueue

echo "== cgroups"
mkdir -p /sys/fs/cgroup/light /sys/fs/cgroup/heavy/inner
in_a attach v "$CHOKEW" 10000000 100 /light=1 /sys/fs/cgroup/heavy=4
in_a attach v parameters
two_cgroups "$SECONDS_EACH" /light /heavy/inner

echo "== cgroups in the other order"
in_a attach v "$CHOKEW" 10000000 100 /heavy/inner=1 /light=4 /heavy=16
two_cgroups "$SECONDS_EACH" /light /heavy/inner

echo "== cgroups that have no weight"
in_a attach v "$CHOKEW" 10000000 100
two_cgroups "$SECONDS_EACH" /light /heavy/inner

echo "== no cgroup"
in_a attach v "$CHOKEW" 10000000 100 /nowhere=4 2>&1
in_a attach v "$CHOKEW" 10000000 100 /light/cgroup.procs=4 2>&1
in_a attach v "$CHOKEW" 10000000 100 /../../../proc=4 2>&1
in_a attach v "$CHOKEW" 10000000 100 /light=0.5 2>&1
in_a attach v "$CHOKEW" 10000000 100 /light=1 /sys/fs/cgroup/light=2 2>&1

echo "== answers without a socket of their own"
in_a attach v "$CHOKEW" 10000000 100 /light=4
in_a iperf3 -s -D -p 5204
sleep 1
in_b iperf3 -c 10.0.1.2 -p 5204 -n 1M >/dev/null && echo received
in_a attach v detach

echo "== log"
dmesg | grep -E "BUG|WARNING|Oops|Call Trace|leak"
echo "== random"
od -An -tx1 -N16 /dev/urandom
echo "== end"
cat /tmp/printed >&3
