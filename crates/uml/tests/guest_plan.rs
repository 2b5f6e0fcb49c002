//! The plan of a guest as text.

use marqueue_core::{Dur, Time};
use marqueue_uml::guest_plan::{GuestPlan, Listener, Sender};
use std::net::{Ipv4Addr, SocketAddrV4};

const HERE: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const THERE: Ipv4Addr = Ipv4Addr::new(10, 1, 0, 1);

fn plan() -> GuestPlan {
    GuestPlan::new("eth1", 2_000_000_000)
}

fn sender() -> Sender {
    Sender {
        number: 17,
        local: SocketAddrV4::new(HERE, 10_017),
        remote: SocketAddrV4::new(THERE, 5_000),
        start: Time(1_000_000),
        stop: None,
        bytes: None,
        pieces: None,
        congestion: None,
        mss: None,
        send_buffer: None,
    }
}

#[test]
fn a_host_is_a_line_for_each_thing() {
    let mut plan = plan();
    plan.sysctl("net.ipv4.tcp_rmem", "4096 131072 6291456").unwrap();
    plan.device("eth0", HERE, 16).neighbour("eth0", THERE, [2, 0, 0, 0, 0, 0xab]).route(THERE, 32, "eth0");
    plan.sample_every(Dur(100_000_000));
    let whole = Sender {
        stop: Some(Time(9)),
        bytes: Some(144_800),
        pieces: Some((14_480, Dur(10_000_000))),
        congestion: Some("cubic".into()),
        mss: Some(1460),
        send_buffer: Some(65_536),
        ..sender()
    };
    plan.flow(&sender()).unwrap().flow(&whole).unwrap();
    let listener = Listener {
        local: SocketAddrV4::new(HERE, 5_000),
        congestion: Some("bbr".into()),
        mss: None,
        receive_buffer: Some(9),
    };
    plan.listen(&listener).unwrap();
    let expected = "\
control eth1
clock-origin 2000000000
sysctl net.ipv4.tcp_rmem=4096 131072 6291456
device eth0 address 10.0.0.1/16
neighbour eth0 10.1.0.1 02:00:00:00:00:ab
route 10.1.0.1/32 eth0
sample-every 100000000
flow 17 from 10.0.0.1:10017 to 10.1.0.1:5000 start 1000000 bytes 0
flow 17 from 10.0.0.1:10017 to 10.1.0.1:5000 start 1000000 bytes 144800 congestion cubic mss 1460 sndbuf 65536 write 14480 every 10000000 stop 9
listen 10.0.0.1 5000 congestion bbr rcvbuf 9
";
    assert_eq!(plan.text(), expected);
}

#[test]
fn a_router_forwards_and_reports() {
    let mut plan = plan();
    plan.forward("eth0", "eth1").tc("qdisc replace dev eth1 root fq_codel").unwrap();
    plan.report_tc(Time(5), "-s -j qdisc show dev eth1").unwrap().report_file(Time(5), "/proc/net/dev").unwrap();
    assert!(plan.text().ends_with(
        "forward eth0 eth1\ntc qdisc replace dev eth1 root fq_codel\n\
         report-at 5 tc -s -j qdisc show dev eth1\nreport-at 5 file /proc/net/dev\n"
    ));
}

#[test]
fn no_value_adds_a_line_or_a_word() {
    let mut plan = plan();
    let before = plan.text().to_string();
    for value in ["1\npower-off 0", "", "1 # 2", "1\0"] {
        assert!(plan.sysctl("net.ipv4.tcp_ecn", value).is_err(), "{value:?}");
        assert!(plan.tc(value).is_err(), "{value:?}");
        assert!(plan.report_tc(Time(0), value).is_err(), "{value:?}");
        assert!(plan.report_file(Time(0), value).is_err(), "{value:?}");
    }
    // Blanks between words are one each, as the guest's program puts them.
    for value in [" ", " 1", "1 ", "1  2", "1\t2", "1\r", "1\u{a0}2"] {
        let refused = plan.sysctl("net.ipv4.tcp_rmem", value).unwrap_err();
        assert_eq!(refused.path, "sysctl.net.ipv4.tcp_rmem");
        assert!(refused.message.starts_with(&format!("got {value:?}, expected")), "{}", refused.message);
    }
    for name in ["", "a b", "a=b", "a\nb"] {
        assert!(plan.sysctl(name, "1").is_err(), "{name:?}");
        assert!(plan.flow(&Sender { congestion: Some(name.into()), ..sender() }).is_err(), "{name:?}");
        let local = sender().local;
        let listener = Listener { local, congestion: Some(name.into()), mss: None, receive_buffer: None };
        assert!(plan.listen(&listener).is_err(), "{name:?}");
    }
    assert_eq!(plan.text(), before);
}
