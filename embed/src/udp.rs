//! A link in front of a UDP server: what arrives at one address is sent on to another through a queue under an AQM.
//!
//!     cargo run --bin udp 127.0.0.1:7000 127.0.0.1:7001 10e6 fq_codel
//!
//! listens on the first address, and sends to the second at 10 Mbit/s. Replies do not come back: a second one of these, the
//! other way around, is the link back.

use marqueue_aqm::{Bottleneck, Config, Dur, Ecn, Header, Rate, Signal, Time};
use std::error::Error;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::net::UdpSocket;
use tokio::time::{sleep_until, Instant};

/// IP and UDP headers.
const HEADERS: u32 = 28;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let [listen, to, rate, algorithm] = &arguments[..] else {
        return Err("expected: LISTEN TO RATE ALGORITHM".into());
    };
    let link = config(algorithm, rate.parse::<f64>()?).bottleneck()?;
    forward(UdpSocket::bind(listen).await?, to.parse()?, link).await?;
    Ok(())
}

/// The ECN field of datagrams is not read here, so that marks are drops.
fn config(algorithm: &str, rate: f64) -> Config {
    Config::new(algorithm, Rate(rate as u64)).delay(Dur::from_secs(0.005)).signal(Signal::Drop)
}

/// Sends on what arrives, when it has passed the link.
async fn forward(socket: UdpSocket, to: SocketAddr, mut link: Bottleneck<Vec<u8>>) -> std::io::Result<()> {
    let start = Instant::now();
    let now = || Time(start.elapsed().as_nanos() as u64);
    let mut datagram = vec![0; 65_535];
    loop {
        while let Some(delivery) = link.receive(now()) {
            socket.send_to(&delivery.packet.payload, to).await?;
        }
        let wake = link.next_event().map(|at| start + Duration::from_nanos(at.0));
        tokio::select! {
            received = socket.recv_from(&mut datagram) => {
                let (length, from) = received?;
                let header = Header::new(length as u32 + HEADERS, u32::from(from.port()), Ecn::NotEct);
                link.send(now(), header, datagram[..length].to_vec());
            }
            () = sleep_until(wake.unwrap_or(start)), if wake.is_some() => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Twenty packets of 1000 bytes at 2 Mbit/s take 80 ms, however fast the machine is.
    #[tokio::test(flavor = "current_thread")]
    async fn datagrams_arrive_in_order_and_not_before_the_link_has_sent_them() {
        let any = || UdpSocket::bind("127.0.0.1:0");
        let (client, server, link) = (any().await.unwrap(), any().await.unwrap(), any().await.unwrap());
        let (near, far) = (link.local_addr().unwrap(), server.local_addr().unwrap());
        tokio::spawn(forward(link, far, config("codel", 2e6).bottleneck().unwrap()));
        let start = Instant::now();
        for number in 0..20 {
            client.send_to(&[number; 1000 - HEADERS as usize], near).await.unwrap();
        }
        let mut datagram = [0; 2000];
        for number in 0..20 {
            server.recv_from(&mut datagram).await.unwrap();
            assert_eq!(datagram[0], number);
        }
        assert!(start.elapsed() >= Duration::from_millis(80), "{:?}", start.elapsed());
    }
}
