// The cost of a dumbbell of ns-3:  dumbbell --key=value ...
//
// The network is that of marqueue/ns3/network.h. A data packet weighs `segment` bytes on the wire. Printed are the
// packets through the bottleneck, the user CPU time spent before the first event and altogether, and the peak memory,
// as one line of JSON.

#include "network.h"

#include <sys/resource.h>

#include <iostream>

using namespace ns3;

namespace
{

/// ns-3 has no AVQ: adaptive virtual queue (Kunniyur and Srikant, IEEE/ACM ToN 12(2), 2004, section II),
/// counted in packets.
class AvqQueueDisc : public QueueDisc
{
  public:
    static TypeId GetTypeId()
    {
        static TypeId tid = TypeId("dumbbell::AvqQueueDisc")
                                .SetParent<QueueDisc>()
                                .AddConstructor<AvqQueueDisc>()
                                .AddAttribute("MaxSize", "Buffer", QueueSizeValue(QueueSize("100p")),
                                              MakeQueueSizeAccessor(&QueueDisc::SetMaxSize, &QueueDisc::GetMaxSize),
                                              MakeQueueSizeChecker())
                                .AddAttribute("Capacity", "Packets a second", DoubleValue(1250),
                                              MakeDoubleAccessor(&AvqQueueDisc::m_capacity), MakeDoubleChecker<double>())
                                .AddAttribute("Buffer", "Virtual buffer, packets", DoubleValue(100),
                                              MakeDoubleAccessor(&AvqQueueDisc::m_buffer), MakeDoubleChecker<double>())
                                .AddAttribute("Gamma", "Desired utilization", DoubleValue(0.98),
                                              MakeDoubleAccessor(&AvqQueueDisc::m_gamma), MakeDoubleChecker<double>());
        return tid;
    }

  private:
    static constexpr double ALPHA = 0.15;
    static constexpr double INITIAL = 0.8;

    bool DoEnqueue(Ptr<QueueDiscItem> item) override
    {
        const double now = Simulator::Now().GetSeconds();
        const double gap = now - m_last;
        m_last = now;
        m_virtual = std::max(m_virtual - m_virtualCapacity * gap, 0.0);
        if (m_virtual + 1 > m_buffer)
        {
            Mark(item, "virtual queue overflows");
        }
        else
        {
            m_virtual += 1;
        }
        const double grown = std::min(m_virtualCapacity + ALPHA * m_gamma * m_capacity * gap, m_capacity);
        m_virtualCapacity = std::max(grown - ALPHA, 0.0);
        if (GetCurrentSize() + item > GetMaxSize())
        {
            DropBeforeEnqueue(item, "overflow");
            return false;
        }
        return GetInternalQueue(0)->Enqueue(item);
    }

    Ptr<QueueDiscItem> DoDequeue() override
    {
        return GetInternalQueue(0)->Dequeue();
    }

    bool CheckConfig() override
    {
        if (GetNInternalQueues() == 0)
        {
            AddInternalQueue(
                CreateObjectWithAttributes<DropTailQueue<QueueDiscItem>>("MaxSize", QueueSizeValue(GetMaxSize())));
        }
        return GetNInternalQueues() == 1 && GetNQueueDiscClasses() == 0 && GetNPacketFilters() == 0;
    }

    void InitializeParams() override
    {
        m_virtualCapacity = INITIAL * m_capacity;
    }

    double m_capacity;
    double m_buffer;
    double m_gamma;
    double m_virtualCapacity{0};
    double m_virtual{0};
    double m_last{0};
};

struct Options
{
    dumbbell::Network network;
    std::string queue = "DropTail";
    uint32_t limit = 100;
    double min_th = 0;
    double max_th = 0;
    double linterm = 10;
    bool signal_ecn = false;
    double virtual_buffer = 100;
    double gamma = 0.98;
    bool sack = false;
    bool ecn = true;
    uint32_t segment = 1000;
};

Options
Parse(int argc, char** argv)
{
    Options o;
    CommandLine cmd;
    o.network.AddTo(cmd);
    cmd.AddValue("queue", "DropTail, RED or AVQ", o.queue);
    cmd.AddValue("limit", "buffer, packets", o.limit);
    cmd.AddValue("min_th", "RED, packets", o.min_th);
    cmd.AddValue("max_th", "RED, packets", o.max_th);
    cmd.AddValue("linterm", "RED, 1 / max_p", o.linterm);
    cmd.AddValue("signal_ecn", "RED marks", o.signal_ecn);
    cmd.AddValue("virtual_buffer", "AVQ, packets", o.virtual_buffer);
    cmd.AddValue("gamma", "AVQ", o.gamma);
    cmd.AddValue("sack", "TCP with selective acknowledgements", o.sack);
    cmd.AddValue("ecn", "TCP with ECN", o.ecn);
    cmd.AddValue("segment", "data packet on the wire, bytes", o.segment);
    cmd.Parse(argc, argv);
    return o;
}

double
CpuSeconds()
{
    rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_utime.tv_sec + 1e-6 * usage.ru_utime.tv_usec;
}

void
SetTcp(const Options& o)
{
    // IP, TCP and PPP headers; timestamps off.
    const uint32_t headers = 20 + 20 + 2;
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TypeId::LookupByName("ns3::TcpLinuxReno")));
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(o.sack));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(false));
    Config::SetDefault("ns3::TcpSocketBase::UseEcn", StringValue(o.ecn ? "On" : "Off"));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(MilliSeconds(200)));
    Config::SetDefault("ns3::TcpSocketBase::ClockGranularity", TimeValue(MilliSeconds(10)));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(o.segment - headers));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(2));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(1));
}

/// The managed queue on the way from left to right.
Ptr<QueueDisc>
Bottleneck(const Options& o, Ptr<NetDevice> device)
{
    const QueueSizeValue limit(QueueSize(QueueSizeUnit::PACKETS, o.limit));
    TrafficControlHelper managed;
    if (o.queue == "RED")
    {
        managed.SetRootQueueDisc("ns3::RedQueueDisc",
                                 "MaxSize", limit,
                                 "MinTh", DoubleValue(o.min_th),
                                 "MaxTh", DoubleValue(o.max_th),
                                 "LInterm", DoubleValue(o.linterm),
                                 "QW", DoubleValue(0.002),
                                 "Gentle", BooleanValue(true),
                                 "Wait", BooleanValue(true),
                                 "UseEcn", BooleanValue(o.signal_ecn),
                                 "UseHardDrop", BooleanValue(false),
                                 "MeanPktSize", UintegerValue(o.segment),
                                 "LinkBandwidth", DataRateValue(dumbbell::BitsPerSecond(o.network.rate)),
                                 "LinkDelay", TimeValue(Seconds(o.network.delay)));
    }
    else if (o.queue == "AVQ")
    {
        managed.SetRootQueueDisc("dumbbell::AvqQueueDisc",
                                 "MaxSize", limit,
                                 "Capacity", DoubleValue(o.network.rate / 8 / o.segment),
                                 "Buffer", DoubleValue(o.virtual_buffer),
                                 "Gamma", DoubleValue(o.gamma));
    }
    else
    {
        managed.SetRootQueueDisc("ns3::FifoQueueDisc", "MaxSize", limit);
    }
    return managed.Install(device).Get(0);
}

} // namespace

int
main(int argc, char** argv)
{
    const Options o = Parse(argc, argv);
    AvqQueueDisc::GetTypeId();
    SetTcp(o);
    const dumbbell::Built built =
        dumbbell::Build(o.network, [&](Ptr<NetDevice> device) { return Bottleneck(o, device); });
    Simulator::Stop(Seconds(o.network.duration));
    const double setup = CpuSeconds();
    Simulator::Run();
    rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    std::cout << "{\"packets\": " << built.queue->GetStats().nTotalDequeuedPackets << ", \"setup\": " << setup
              << ", \"cpu\": " << CpuSeconds() << ", \"peak_kb\": " << usage.ru_maxrss << "}" << std::endl;
    // Not Simulator::Destroy: ns-2 and the engine here do not take themselves apart either.
    std::_Exit(0);
}
