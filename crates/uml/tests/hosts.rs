//! What plans ask of kernels, before one is started.

use marqueue_core::Time;
use marqueue_sim::external::ExternalFlow;
use marqueue_sim::plan::Plan;
use marqueue_uml::check;
use marqueue_uml::hosts::Hosts;
use serde_json::{json, Value};

/// A plan with one group of flows that end in a kernel; without links, which nobody asks for here.
fn plan(stack: &Value, segment: u32, gaps: &str) -> Plan {
    let write = json!({"packets": 10, "every": 1_000_000_000, "gaps": gaps});
    let flows = json!({"tcp": {
        "transport": 0, "route": 0, "count": 3, "start": 0, "jitter": 0, "stop": null, "size": null, "trace": false,
        "write": write
    }});
    let plan = json!({
        "duration": 1_000_000_000, "boundaries": [], "sample": 0, "links": [], "routes": [],
        "transports": [{"preset": "linux", "params": {"segment": segment}, "stack": stack}],
        "traffic": [{"name": "flows", "kind": flows}]
    });
    serde_json::from_value(plan).expect("a plan")
}

fn stack(sysctl: &Value) -> Value {
    json!({"kernel": "k", "congestion_control": "cubic", "sysctl": sysctl})
}

#[test]
fn flows_of_a_kernel_share_two_guests_and_a_receiver() {
    let plan = plan(&stack(&json!({"net.ipv4.tcp_ecn": "1"})), 1000, "constant");
    let flow = |row: u32| ExternalFlow {
        slot: row,
        row,
        group: 0,
        transport: 0,
        start: Time(u64::from(row)),
        stop: (row == 1).then_some(Time(9)),
        size: (row == 1).then_some(20),
        write: None,
        trace: false,
        sample_cwnd: false,
    };
    let hosts = Hosts::new(&plan, &[flow(0), flow(1)]).expect("hosts");
    let plans: Vec<&str> = hosts.guests.iter().map(|guest| guest.plan.text()).collect();
    let begin = "control eth1\nclock-origin 2000000000\nsysctl net.ipv4.tcp_ecn=1\n";
    let senders = "\
device eth0 address 10.0.0.1/16
neighbour eth0 10.1.0.1 02:00:00:00:01:00
route 10.1.0.0/16 eth0
sample-every 100000000
flow 0 from 10.0.0.1:10000 to 10.1.0.1:5000 start 0 bytes 0 congestion cubic mss 1012
flow 1 from 10.0.0.1:10001 to 10.1.0.1:5000 start 1 bytes 20000 congestion cubic mss 1012 stop 9
";
    let receivers = "\
device eth0 address 10.1.0.1/16
neighbour eth0 10.0.0.1 02:00:00:00:00:00
route 10.0.0.0/16 eth0
listen 10.1.0.1 5000 congestion cubic mss 1012
";
    assert_eq!(plans, [format!("{begin}{senders}"), format!("{begin}{receivers}")]);
}

#[test]
fn what_no_kernel_can_do_is_refused_with_its_place() {
    let good = stack(&json!({"net.ipv4.tcp_rmem": "4096 131072 6291456"}));
    check(&plan(&good, 1448, "constant")).expect("a plan for a kernel");
    let place = |stack: &Value, segment, gaps| check(&plan(stack, segment, gaps)).expect_err("refused").path;
    assert_eq!(place(&good, 1449, "constant"), "transports[0].segment");
    assert_eq!(place(&good, 75, "constant"), "transports[0].segment");
    assert_eq!(place(&good, 1448, "exponential"), "traffic[0].gaps");
    let value = stack(&json!({"net.core.x": "1\npower-off 0"}));
    assert_eq!(place(&value, 1448, "constant"), "transports[0].sysctl.net.core.x");
    let name = stack(&json!({"net.core.x=1\npower-off 0 #": "1"}));
    assert_eq!(place(&name, 1448, "constant"), "transports[0].sysctl");
    let control = json!({"kernel": "k", "congestion_control": "bbr mss 9", "sysctl": {}});
    assert_eq!(place(&control, 1448, "constant"), "transports[0].congestion_control");
}
