# Runs in the machine. CHOKeW's qdisc is attached and detached by a program that is killed (SIGKILL) before one of the
# system calls by which it changes something; strace, which counts the calls of a name by thread, holds it there. Each
# line is of a kill: the call, its number, what is done next, the exit code of what was killed, the root qdisc after an
# attach, the one after a detach, and how many devices have pins then.
exec 3>&1 >/tmp/printed 2>&1

CALLS=bpf,mkdir,mkdirat,rename,renameat,renameat2,rmdir,sendmsg,sendto,unlink,unlinkat
# strace has names for some of the messages to the kernel: the numbers are those of RTM_NEWQDISC and RTM_DELQDISC.
CHANGES='BPF_OBJ_PIN|BPF_LINK_| (mkdir|rename|rmdir|unlink)|RTM_(NEW|DEL)|nlmsg_type=0x2[45]'

attach_it() { "$@" attach v '{"name": "chokew", "params": {"weights": {"EF": 4}}}' 10000000 500; }

# What is there before a step: with `back`, what is left when somebody has removed the qdisc.
begin() {
	case $1 in
	detach) attach_it ;;
	back) attach_it && tc qdisc del dev v root ;;
	esac >/dev/null
}

# The step, by a command that runs others.
step() {
	kind=$1
	shift
	case $kind in
	detach) "$@" attach v detach ;;
	*) attach_it "$@" ;;
	esac
}

root() { tc qdisc show dev v | sed 's/qdisc \([a-z]*\).*/\1/'; }

ip link add v type veth peer name w
ip link set w up
ip link set v up
# The folder of all pins stays.
attach_it
attach v detach

for each in attach detach back; do
	echo "== $each"
	begin $each
	step $each strace -f -qq -o /tmp/trace -e trace=$CALLS
	attach v detach >/dev/null
	awk -v changes="$CHANGES" -v each=$each '{
		call = $2; sub(/\(.*/, "", call); number = ++count[$1 " " call]
		# What comes then is as without anything left.
		if (call == "mkdir" && each == "back") exit
		if ($0 ~ changes && $0 !~ / = -1 /) print call, number
	}' /tmp/trace >/tmp/points
	while read -r call number; do
		for next in detach attach; do
			begin $each
			step $each strace -f -qq -o /dev/null -e trace=$call -e inject=$call:signal=KILL:when=$number \
				</dev/null >/dev/null 2>&1
			killed=$?
			attached=-
			if [ $next = attach ]; then
				attach_it >/tmp/said 2>&1 || cat /tmp/said
				attached=$(root)
			fi
			attach v detach >/tmp/said 2>&1 || cat /tmp/said
			echo "$call $number $next $killed $attached $(root) $(ls /sys/fs/bpf/marqueue | wc -l)"
		done
	done </tmp/points
done

echo "== log"
dmesg | grep -E "BUG|WARNING|Oops|Call Trace|leak"
echo "== end"
cat /tmp/printed >&3
