#!/usr/bin/env bash
# A Slurm cluster of one node, this machine, with its own munged, controller and node daemon: no other's are touched.
#   node.sh start DIR    configures and starts it in DIR, and prints what the environment needs
#   node.sh stop DIR     ends the daemons that it started
# Debian: slurm-wlm, munge. As root, because the node daemon starts jobs as their users.
set -euo pipefail
action=$1
dir=$(realpath -m "$2")

stop() {
    for pid in slurmd slurmctld munged; do
        [[ -s $dir/$pid.pid ]] && kill "$(cat "$dir/$pid.pid")" 2>/dev/null && rm -f "$dir/$pid.pid" || true
    done
}

start() {
    mkdir -p "$dir"/{state,spool}
    chmod 755 "$dir"
    local host cpus memory
    host=$(hostname -s)
    cpus=$(nproc)
    memory=$(($(awk '/^MemTotal/ { print $2 }' /proc/meminfo) / 1024 * 9 / 10))
    (umask 077 && head -c 128 /dev/urandom >"$dir/munge.key")
    # Ports of its own: a machine that is a node of a cluster has others there.
    cat >"$dir/slurm.conf" <<CONF
ClusterName=one
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=26817
SlurmdPort=26818
SlurmUser=root
AuthInfo=socket=$dir/munge.socket
StateSaveLocation=$dir/state
SlurmdSpoolDir=$dir/spool
SlurmctldPidFile=$dir/slurmctld.pid
SlurmdPidFile=$dir/slurmd.pid
SlurmctldLogFile=$dir/slurmctld.log
SlurmdLogFile=$dir/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
MpiDefault=none
ReturnToService=2
KillWait=2
MinJobAge=600
SchedulerParameters=sched_interval=1,batch_sched_delay=0
NodeName=$host NodeAddr=127.0.0.1 CPUs=$cpus RealMemory=$memory State=UNKNOWN
PartitionName=all Nodes=$host Default=YES MaxTime=INFINITE State=UP
CONF
    export SLURM_CONF=$dir/slurm.conf
    munged --force --key-file="$dir/munge.key" --socket="$dir/munge.socket" --pid-file="$dir/munged.pid" \
        --log-file="$dir/munged.log" --seed-file="$dir/munge.seed" >/dev/null 2>&1
    slurmctld -c -f "$SLURM_CONF" >/dev/null 2>&1
    slurmd -c -f "$SLURM_CONF" >/dev/null 2>&1
    for _ in $(seq 100); do
        if [[ $(sinfo --noheader --format %t 2>/dev/null) == idle* ]]; then
            echo "export SLURM_CONF=$SLURM_CONF"
            return
        fi
        sleep 0.2
    done
    tail -n 5 "$dir"/*.log >&2
    stop
    exit 1
}

"$action"
