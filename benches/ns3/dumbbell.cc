// A dumbbell for ns-3:  dumbbell --key=value ...
//
//   host of class c -- access link --> left -- bottleneck --> right -- access link --> host of class c
//
// All flows of a class share its two hosts. A data packet weighs `segment` bytes on the wire. Printed are
// the packets through the bottleneck, the user CPU time spent before the first event and altogether, and
// the peak memory, as one line of JSON.

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

#include <sys/resource.h>

#include <algorithm>
#include <iostream>
#include <sstream>
#include <vector>

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
    uint32_t seed = 1;
    double duration = 50;
    double rate = 10e6;
    double delay = 0.005;
    double access = 1e9;
    double far = 0.005;
    std::string rtts = "0.04 0.06 0.08 0.1 0.13";
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
    uint32_t flows = 10;
    double jitter = 1;
};

Options
Parse(int argc, char** argv)
{
    Options o;
    CommandLine cmd;
    cmd.AddValue("seed", "of all random streams", o.seed);
    cmd.AddValue("duration", "s", o.duration);
    cmd.AddValue("rate", "of the bottleneck, bit/s", o.rate);
    cmd.AddValue("delay", "of the bottleneck, s", o.delay);
    cmd.AddValue("access", "rate of the other links, bit/s", o.access);
    cmd.AddValue("far", "delay behind the bottleneck, s", o.far);
    cmd.AddValue("rtts", "of the classes, s", o.rtts);
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
    cmd.AddValue("flows", "long TCP flows", o.flows);
    cmd.AddValue("jitter", "over how long they start, s", o.jitter);
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

DataRate
BitsPerSecond(double rate)
{
    return DataRate(static_cast<uint64_t>(rate));
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
Bottleneck(const Options& o, NetDeviceContainer devices)
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
                                 "LinkBandwidth", DataRateValue(BitsPerSecond(o.rate)),
                                 "LinkDelay", TimeValue(Seconds(o.delay)));
    }
    else if (o.queue == "AVQ")
    {
        managed.SetRootQueueDisc("dumbbell::AvqQueueDisc",
                                 "MaxSize", limit,
                                 "Capacity", DoubleValue(o.rate / 8 / o.segment),
                                 "Buffer", DoubleValue(o.virtual_buffer),
                                 "Gamma", DoubleValue(o.gamma));
    }
    else
    {
        managed.SetRootQueueDisc("ns3::FifoQueueDisc", "MaxSize", limit);
    }
    return managed.Install(devices.Get(0)).Get(0);
}

} // namespace

int
main(int argc, char** argv)
{
    const Options o = Parse(argc, argv);
    AvqQueueDisc::GetTypeId();
    RngSeedManager::SetSeed(o.seed);
    SetTcp(o);

    std::vector<double> rtts;
    std::istringstream words(o.rtts);
    for (double rtt; words >> rtt;)
    {
        rtts.push_back(rtt);
    }

    // ---- the network ----

    NodeContainer routers(2);
    NodeContainer near(rtts.size());
    NodeContainer far(rtts.size());
    InternetStackHelper internet;
    internet.InstallAll();
    Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.0");
    TrafficControlHelper none;
    PointToPointHelper link;
    auto connect = [&](Ptr<Node> a, Ptr<Node> b, double rate, double delay, const std::string& queue) {
        link.SetDeviceAttribute("DataRate", DataRateValue(BitsPerSecond(rate)));
        link.SetChannelAttribute("Delay", TimeValue(Seconds(delay)));
        link.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", StringValue(queue));
        return link.Install(a, b);
    };
    auto address = [&](NetDeviceContainer devices) {
        Ipv4InterfaceContainer interfaces = addresses.Assign(devices);
        addresses.NewNetwork();
        return interfaces;
    };

    // One packet in the device, so that the discipline has the queue; the way back is an endless buffer.
    NetDeviceContainer middle = connect(routers.Get(0), routers.Get(1), o.rate, o.delay, "1p");
    DynamicCast<PointToPointNetDevice>(middle.Get(1))->GetQueue()->SetMaxSize(QueueSize("1000000p"));
    Ptr<QueueDisc> bottleneck = Bottleneck(o, middle);
    address(middle);
    none.Uninstall(middle.Get(1));
    std::vector<Ipv4Address> sinks;
    for (size_t c = 0; c < rtts.size(); c++)
    {
        NetDeviceContainer in =
            connect(near.Get(c), routers.Get(0), o.access, rtts[c] / 2 - o.delay - o.far, "1000000p");
        NetDeviceContainer out = connect(routers.Get(1), far.Get(c), o.access, o.far, "1000000p");
        address(in);
        sinks.push_back(address(out).GetAddress(1));
        none.Uninstall(in);
        none.Uninstall(out);
    }
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();

    // ---- traffic ----

    const uint16_t port = 5000;
    for (size_t c = 0; c < rtts.size(); c++)
    {
        PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), port));
        sink.Install(far.Get(c)).Start(Seconds(0));
    }
    Ptr<UniformRandomVariable> unit = CreateObject<UniformRandomVariable>();
    for (uint32_t i = 0; i < o.flows; i++)
    {
        const size_t c = i % rtts.size();
        BulkSendHelper source("ns3::TcpSocketFactory", InetSocketAddress(sinks[c], port));
        source.Install(near.Get(c)).Start(Seconds(unit->GetValue(0, o.jitter)));
    }

    // ---- measuring ----

    Simulator::Stop(Seconds(o.duration));
    const double setup = CpuSeconds();
    Simulator::Run();
    rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    std::cout << "{\"packets\": " << bottleneck->GetStats().nTotalDequeuedPackets << ", \"setup\": " << setup
              << ", \"cpu\": " << CpuSeconds() << ", \"peak_kb\": " << usage.ru_maxrss << "}" << std::endl;
    // Not Simulator::Destroy: ns-2 and the engine here do not take themselves apart either.
    std::_Exit(0);
}
