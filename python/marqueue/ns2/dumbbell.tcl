# A dumbbell for ns-2.35:  ns dumbbell.tcl KEY VALUE ...
#
#   host of class c -- access link --> left -- bottleneck --> right -- access link --> host of class c
#
# All flows of a class share its two hosts, or with `own 1` each connection has two of its own. A data packet weighs `segment` bytes on the wire, a SYN and
# an acknowledgement 40. What is printed: at each of `edges` a line `window` of cumulative figures, and lines
# `tcp` and `udp` of the bytes that each long flow got, in order; and what CPU time and memory the run took.

array set opt {
    seed 1  duration 50  edges {}
    rate 10e6  delay 0.005  access 1e9  own 0  far 0.005  rtts {0.04 0.06 0.08 0.1 0.13}
    queue DropTail  limit 100  queue_set {}
    tcp Reno  sink TCPSink  ecn 1  segment 1000  tcp_set {}
    flows 10  inside 0  jitter 1.0
    short_rate 0  short_start 0  short_size 20
    cbr 0  cbr_rate 1e6  cbr_packet 1000
    trace {}  windows {}
}
array set opt $argv

proc cpu_seconds {} {
    set f [open /proc/self/stat]
    set fields [lrange [split [read $f]] 13 14]
    close $f
    return [expr {[lindex $fields 0] / 100.0}]
}

# Only the headers that are needed (UDP writes RTP's): a packet is allocated with all that are there.
remove-all-packet-headers
add-packet-header IP TCP Flags
if {$opt(cbr) > 0} { add-packet-header RTP }
ns-random $opt(seed)
set ns [new Simulator]
set unit [new RandomVariable/Uniform]
$unit set min_ 0
$unit set max_ 1

Agent/TCP set packetSize_ $opt(segment)
Agent/TCP set useHeaders_ false
Agent/TCP set window_ 10000
Agent/TCP set ecn_ $opt(ecn)
foreach {name value} $opt(tcp_set) { Agent/TCP set $name $value }
foreach {name value} $opt(queue_set) { Queue/$opt(queue) set $name $value }

# ---- the network ----

set left [$ns node]
set right [$ns node]
$ns simplex-link $left $right $opt(rate) $opt(delay) $opt(queue)
$ns simplex-link $right $left $opt(rate) $opt(delay) DropTail
$ns queue-limit $left $right $opt(limit)
$ns queue-limit $right $left 1000000
set monitor [$ns monitor-queue $left $right 0]
if {$opt(trace) ne ""} { $ns trace-queue $left $right [set trace [open $opt(trace) w]] }

proc new_hosts {rtt} {
    global opt ns left right
    set hosts [list [$ns node] [$ns node]]
    set delay [expr {$rtt / 2.0 - $opt(delay) - $opt(far)}]
    foreach {a b d} [list [lindex $hosts 0] $left $delay [lindex $hosts 1] $right $opt(far)] {
        $ns duplex-link $a $b $opt(access) $d DropTail
        $ns queue-limit $a $b 1000000
        $ns queue-limit $b $a 1000000
    }
    return $hosts
}
if {!$opt(own)} { foreach rtt $opt(rtts) { set shared($rtt) [new_hosts $rtt] } }

# The hosts of a connection: near and far.
proc hosts {rtt} {
    global opt shared
    if {$opt(own)} { return [new_hosts $rtt] }
    return $shared($rtt)
}

# ---- traffic ----

proc connection {rtt} {
    global opt ns
    set source [new Agent/TCP/$opt(tcp)]
    set sink [new Agent/$opt(sink)]
    foreach {near far} [hosts $rtt] break
    $ns attach-agent $near $source
    $ns attach-agent $far $sink
    $ns connect $source $sink
    return [list $source $sink]
}

array set received {tcp {} udp {}}
for {set i 0} {$i < $opt(flows)} {incr i} {
    foreach {source sink} [connection [lindex $opt(rtts) [expr {$i % [llength $opt(rtts)]}]]] break
    lappend received(tcp) $sink
    # To RIO (priority_method_ 1) a packet is `in` if its flow id is not 0.
    $source set fid_ [expr {$i >= $opt(flows) - $opt(inside)}]
    set ftp [new Application/FTP]
    $ftp attach-agent $source
    $ns at [expr {$opt(jitter) * [$unit value]}] "$ftp start"
    if {$i == 0 && $opt(windows) ne ""} {
        $source attach [set windows [open $opt(windows) w]]
        $source tracevar cwnd_
        $source tracevar ssthresh_
    }
}

for {set i 0} {$i < $opt(cbr)} {incr i} {
    set rtt [lindex $opt(rtts) [expr {$i % [llength $opt(rtts)]}]]
    set source [new Agent/UDP]
    set sink [new Agent/LossMonitor]
    lappend received(udp) $sink
    $source set packetSize_ $opt(cbr_packet)
    $source set fid_ [expr {$opt(inside) > 0}]
    foreach {near far} [hosts $rtt] break
    $ns attach-agent $near $source
    $ns attach-agent $far $sink
    $ns connect $source $sink
    set application [new Application/Traffic/CBR]
    $application set packetSize_ $opt(cbr_packet)
    $application set rate_ $opt(cbr_rate)
    $application attach-agent $source
    $ns at [expr {$opt(jitter) * [$unit value]}] "$application start"
}

# Finished connections are used again once their last duplicates have left the network.
foreach rtt $opt(rtts) { set idle($rtt) {} }
proc short_flow_done {rtt pair} {
    global ns
    $ns at [expr {[$ns now] + 5}] [list lappend idle($rtt) $pair]
}
proc short_flow {} {
    global opt ns unit idle gap
    set rtt [lindex $opt(rtts) [expr {int([$unit value] * [llength $opt(rtts)])}]]
    if {[llength $idle($rtt)] > 0} {
        set pair [lindex $idle($rtt) 0]
        set idle($rtt) [lrange $idle($rtt) 1 end]
        foreach agent $pair { $agent reset }
    } else {
        set pair [connection $rtt]
        set source [lindex $pair 0]
        $source proc done {} [list short_flow_done $rtt $pair]
    }
    [lindex $pair 0] advance $opt(short_size)
    $ns at [expr {[$ns now] + [$gap value]}] short_flow
}
if {$opt(short_rate) > 0} {
    set gap [new RandomVariable/Exponential]
    $gap set avg_ [expr {1.0 / $opt(short_rate)}]
    $ns at [expr {$opt(short_start) + [$gap value]}] short_flow
}

# ---- measuring ----

proc window {} {
    global ns monitor received
    set integral [$monitor get-pkts-integrator]
    $integral newpoint [$ns now] [$integral set lasty_]
    puts "window [$ns now] [$monitor set parrivals_] [$monitor set pdepartures_] [$monitor set pdrops_]\
        [$monitor set pmarks_] [$monitor set bdepartures_] [$integral set sum_]"
    foreach kind {tcp udp} {
        set bytes {}
        foreach sink $received($kind) { lappend bytes [$sink set bytes_] }
        puts [concat $kind $bytes]
    }
}
foreach t [concat $opt(edges) $opt(duration)] { $ns at $t window }

proc finish {} {
    global ns trace windows
    puts "cpu_end [cpu_seconds]"
    set f [open /proc/self/status]
    regexp {VmHWM:\s+(\d+)} [read $f] -> peak
    puts "peak_kb $peak"
    $ns flush-trace
    foreach channel {trace windows} { if {[info exists $channel]} { close [set $channel] } }
    exit 0
}
$ns at [expr {$opt(duration) + 1e-6}] finish
puts "cpu_setup [cpu_seconds]"
$ns run
