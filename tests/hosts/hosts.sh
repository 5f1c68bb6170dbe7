#!/bin/sh
# SPDX-License-Identifier: MIT
# hosts.sh HOSTS RATE COMMAND...: network namespaces h1 ... hHOSTS on a bridge in a namespace of its own, each sending
# at RATE (of tc tbf; "-" = unshaped); runs COMMAND in the first.  It finds HOSTS_LIST (addresses, joined by commas) and
# HOSTS_RSH (a launcher for mpiexec) in its environment.  Nothing outside the namespaces is touched; they and what runs
# in them are gone at the end.  77: it cannot be done here.
n=$1 rate=$2
shift 2
net=choir$$

skip() {
	echo "skipped: $1"
	exit 77
}
[ "$(id -u)" = 0 ] || skip "network namespaces need root"
command -v ip >/dev/null || skip "ip (iproute2) is not installed"
[ "$rate" = - ] || command -v tc >/dev/null || skip "tc (iproute2) is not installed"

names() {
	ip netns list | cut -d' ' -f1 | grep "^$net-"
}
clean() {
	for ns in $(names); do
		for pid in $(ip netns pids "$ns"); do
			kill -9 "$pid" 2>/dev/null
		done
	done
	for ns in $(names); do
		ip netns del "$ns"
	done
	rm -f "${TMPDIR:-/tmp}/$net-rsh"
}
for left in $(ip netns list | sed -n 's/^choir\([0-9]*\)-switch.*/\1/p'); do # of a run that was killed itself
	[ -e "/proc/$left" ] || (net=choir$left && clean)
done
trap clean EXIT
trap 'exit 1' INT TERM HUP

ip netns add "$net-switch" 2>/dev/null || skip "this machine allows no network namespaces"
(
	set -e
	ip -n "$net-switch" link add bridge type bridge
	ip -n "$net-switch" link set bridge up
	i=0
	while [ $((i += 1)) -le "$n" ]; do
		ip netns add "$net-h$i"
		ip -n "$net-h$i" link set lo up
		ip -n "$net-h$i" link add eth0 type veth peer name "port$i" netns "$net-switch"
		ip -n "$net-switch" link set "port$i" master bridge up
		ip -n "$net-h$i" address add "10.77.0.$i/24" dev eth0
		ip -n "$net-h$i" link set eth0 up
		[ "$rate" = - ] || ip netns exec "$net-h$i" tc qdisc add dev eth0 root tbf rate "$rate" burst 64kb \
			latency 200ms
	done
) || skip "this machine allows no veth pairs, bridges or shaping"
ip netns exec "$net-h1" true 2>/dev/null || skip "processes cannot enter network namespaces here (a chroot, say)"

# As rsh: the words after the host are a command for its shell.
HOSTS_RSH=${TMPDIR:-/tmp}/$net-rsh
cat >"$HOSTS_RSH" <<END
#!/bin/sh
host=\$1
shift
exec ip netns exec "$net-h\${host##*.}" sh -c "\$*"
END
chmod +x "$HOSTS_RSH"
HOSTS_LIST=$(seq -s, -f "10.77.0.%g" "$n")
export HOSTS_RSH HOSTS_LIST
# In the background, so that a signal is heard at once; ctest's own end of time would leave everything behind.
timeout -k 5 "${HOSTS_TIMEOUT_S:-100}" ip netns exec "$net-h1" "$@" &
wait $!
