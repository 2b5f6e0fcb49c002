// Six figures of a queue at a bottleneck:  dumbbell --key=value ...
//
// Printed are the measurements between `begin` and the end, as one line of JSON.

#include "network.h"

#include <algorithm>
#include <iostream>

using namespace ns3;

namespace
{

/// DCTCP that halves its window at a loss (RFC 8257, section 3.5). ns-3.44 takes the share of marks then, too.
class HalvingDctcp : public TcpDctcp
{
  public:
    static TypeId GetTypeId()
    {
        static TypeId tid =
            TypeId("dumbbell::HalvingDctcp").SetParent<TcpDctcp>().AddConstructor<HalvingDctcp>();
        return tid;
    }

    Ptr<TcpCongestionOps> Fork() override
    {
        return CopyObject<HalvingDctcp>(this);
    }

    uint32_t GetSsThresh(Ptr<const TcpSocketState> state, uint32_t inFlight) override
    {
        const bool echo = state->m_congState != TcpSocketState::CA_RECOVERY &&
                          state->m_ecnState == TcpSocketState::ECN_ECE_RCVD;
        return echo ? TcpDctcp::GetSsThresh(state, inFlight) : std::max(inFlight / 2, 2 * state->m_segmentSize);
    }
};

struct Options
{
    dumbbell::Network network;
    double begin = 10;
    std::string control = "ns3::TcpNewReno";
    bool ecn = false;
    std::string defaults;
    std::string queue = "ns3::FifoQueueDisc";
    std::string set;
};

Options
Parse(int argc, char** argv)
{
    Options o;
    CommandLine cmd;
    o.network.AddTo(cmd);
    cmd.AddValue("begin", "of measuring, s", o.begin);
    cmd.AddValue("control", "TypeId of the congestion control", o.control);
    cmd.AddValue("ecn", "TCP with ECN", o.ecn);
    cmd.AddValue("defaults", "of all objects, as ns3::Class::Attribute=value", o.defaults);
    cmd.AddValue("queue", "TypeId of the queue discipline", o.queue);
    cmd.AddValue("set", "its attributes, as Attribute=value", o.set);
    cmd.Parse(argc, argv);
    return o;
}

/// Attribute and value of Attribute=value.
std::pair<std::string, std::string>
Split(const std::string& setting)
{
    const size_t equals = setting.find('=');
    NS_ABORT_MSG_IF(equals == std::string::npos, setting << ", expected Attribute=value");
    return {setting.substr(0, equals), setting.substr(equals + 1)};
}

/// A full packet is 1500 bytes on the wire, with the headers of IP, TCP and PPP.
void
SetTcp(const Options& o)
{
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TypeId::LookupByName(o.control)));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(false));
    Config::SetDefault("ns3::TcpSocketBase::UseEcn", StringValue(o.ecn ? "On" : "Off"));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(1500 - 20 - 20 - 2));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(1));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(4'000'000));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(4'000'000));
    for (const auto& setting : dumbbell::Words<std::string>(o.defaults))
    {
        const auto [name, value] = Split(setting);
        Config::SetDefault(name, StringValue(value));
    }
}

Ptr<QueueDisc>
Install(const Options& o, Ptr<NetDevice> device)
{
    ObjectFactory factory(o.queue);
    for (const auto& setting : dumbbell::Words<std::string>(o.set))
    {
        const auto [name, value] = Split(setting);
        factory.Set(name, StringValue(value));
    }
    auto queue = factory.Create<QueueDisc>();
    if (auto fq = DynamicCast<FqCoDelQueueDisc>(queue))
    {
        fq->SetQuantum(1500);
    }
    device->GetNode()->GetObject<TrafficControlLayer>()->SetRootQueueDiscOnDevice(device, queue);
    return queue;
}

/// Keeps packets in the discipline while the device transmits: it would else have one more behind that in transmission,
/// which left the discipline a transmission time before its turn. A device with byte queue limits asks this.
class OnlyOneInTransmission : public QueueLimits
{
  public:
    void Free()
    {
        m_busy = false;
    }

    void Reset() override
    {
        Free();
    }

    void Queued(uint32_t) override
    {
        m_busy = true;
    }

    void Completed(uint32_t) override
    {
    }

    int32_t Available() const override
    {
        return m_busy ? -1 : 0;
    }

  private:
    bool m_busy{false};
};

/// Counts and delays from `begin` on.
class Meter
{
  public:
    explicit Meter(dumbbell::Built built)
        : m_built(std::move(built)),
          m_limits(Create<OnlyOneInTransmission>()),
          m_transmitter(m_built.device->GetObject<NetDeviceQueueInterface>()->GetTxQueue(0))
    {
        m_transmitter->SetQueueLimits(m_limits);
        m_built.device->TraceConnectWithoutContext("PhyTxBegin", MakeCallback(&Meter::Begins, this));
        m_built.device->TraceConnectWithoutContext("PhyTxEnd", MakeCallback(&Meter::Ends, this));
        m_built.queue->TraceConnectWithoutContext("Dequeue", MakeCallback(&Meter::Leaves, this));
    }

    void Start()
    {
        m_bytes = 0;
        m_delays.clear();
        m_before = m_built.queue->GetStats();
        for (const auto& sink : m_built.sinks)
        {
            m_received.push_back(sink->GetTotalRx());
        }
    }

    void Print(std::ostream& out)
    {
        const auto after = m_built.queue->GetStats();
        std::sort(m_delays.begin(), m_delays.end());
        double sum = 0;
        for (const double delay : m_delays)
        {
            sum += delay;
        }
        const size_t n = m_delays.size();
        out << "{\"arrivals\": " << after.nTotalReceivedPackets - m_before.nTotalReceivedPackets
            << ", \"drops\": " << after.nTotalDroppedPackets - m_before.nTotalDroppedPackets
            << ", \"marks\": " << after.nTotalMarkedPackets - m_before.nTotalMarkedPackets
            << ", \"bytes\": " << m_bytes << ", \"delay_mean\": " << (n ? sum / n : 0)
            << ", \"delay_p99\": " << (n ? m_delays[(99 * n + 99) / 100 - 1] : 0) << ", \"received\": [";
        for (size_t i = 0; i < m_built.sinks.size(); i++)
        {
            out << (i ? ", " : "") << m_built.sinks[i]->GetTotalRx() - m_received[i];
        }
        out << "]}" << std::endl;
    }

  private:
    void Begins(Ptr<const Packet> packet)
    {
        m_bytes += packet->GetSize();
        m_delays.push_back((Simulator::Now() - m_arrival).GetSeconds());
    }

    void Ends(Ptr<const Packet> packet)
    {
        Simulator::ScheduleNow(&Meter::Next, this, packet->GetSize());
    }

    void Next(uint32_t bytes)
    {
        m_limits->Free();
        m_transmitter->NotifyTransmittedBytes(bytes);
    }

    // The last packet that leaves the discipline before a transmission is the one transmitted: others were dropped.
    void Leaves(Ptr<const QueueDiscItem> item)
    {
        m_arrival = item->GetTimeStamp();
    }

    dumbbell::Built m_built;
    Ptr<OnlyOneInTransmission> m_limits;
    Ptr<NetDeviceQueue> m_transmitter;
    QueueDisc::Stats m_before;
    Time m_arrival;
    uint64_t m_bytes{0};
    std::vector<double> m_delays;
    std::vector<uint64_t> m_received;
};

} // namespace

int
main(int argc, char** argv)
{
    const Options o = Parse(argc, argv);
    HalvingDctcp::GetTypeId();
    SetTcp(o);
    Meter meter(dumbbell::Build(o.network, [&](Ptr<NetDevice> device) { return Install(o, device); }));
    Simulator::Schedule(Seconds(o.begin), &Meter::Start, &meter);
    Simulator::Stop(Seconds(o.network.duration));
    Simulator::Run();
    meter.Print(std::cout);
    Simulator::Destroy();
    return 0;
}
