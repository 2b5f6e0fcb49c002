// A dumbbell with long TCP flows in ns-3:
//
//   host of class c -- access link --> left -- bottleneck --> right -- access link --> host of class c
//
// Flow i belongs to class i modulo the number of classes. All flows of a class share its two hosts; each has a sink
// of its own. Acknowledgements find an endless buffer.

#pragma once

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

#include <algorithm>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

namespace dumbbell
{

/// Links and flows; rates in bit/s, times in seconds.
struct Network
{
    uint32_t seed = 1;
    double duration = 50;
    double rate = 10e6;
    double delay = 0.005;
    double access = 1e9;
    double far = 0.005;
    std::string rtts = "0.04,0.06,0.08,0.1,0.13";
    uint32_t flows = 10;
    double jitter = 1;

    void AddTo(ns3::CommandLine& cmd)
    {
        cmd.AddValue("seed", "of all random streams", seed);
        cmd.AddValue("duration", "s", duration);
        cmd.AddValue("rate", "of the bottleneck, bit/s", rate);
        cmd.AddValue("delay", "of the bottleneck, s", delay);
        cmd.AddValue("access", "rate of the other links, bit/s", access);
        cmd.AddValue("far", "delay behind the bottleneck, s", far);
        cmd.AddValue("rtts", "of the classes, s", rtts);
        cmd.AddValue("flows", "long TCP flows", flows);
        cmd.AddValue("jitter", "over how long they start, s", jitter);
    }
};

/// The words of a text, separated by commas: CommandLine would take the first of words with spaces.
template <typename T>
std::vector<T>
Words(std::string text)
{
    std::replace(text.begin(), text.end(), ',', ' ');
    std::vector<T> words;
    std::istringstream stream(text);
    for (T word; stream >> word;)
    {
        words.push_back(word);
    }
    return words;
}

inline ns3::DataRate
BitsPerSecond(double rate)
{
    return ns3::DataRate(static_cast<uint64_t>(rate));
}

/// The bottleneck, and who receives what passed it.
struct Built
{
    ns3::Ptr<ns3::PointToPointNetDevice> device;
    ns3::Ptr<ns3::QueueDisc> queue;
    std::vector<ns3::Ptr<ns3::PacketSink>> sinks;
};

/// Builds the network and starts the flows. `queue` installs the managed queue on the bottleneck's device.
inline Built
Build(const Network& o, const std::function<ns3::Ptr<ns3::QueueDisc>(ns3::Ptr<ns3::NetDevice>)>& queue)
{
    using namespace ns3;
    RngSeedManager::SetSeed(o.seed);
    const auto rtts = Words<double>(o.rtts);
    NodeContainer routers(2);
    NodeContainer near(rtts.size());
    NodeContainer far(rtts.size());
    InternetStackHelper internet;
    internet.InstallAll();
    Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.0");
    TrafficControlHelper none;
    PointToPointHelper link;
    auto connect = [&](Ptr<Node> a, Ptr<Node> b, double rate, double delay, const std::string& size) {
        link.SetDeviceAttribute("DataRate", DataRateValue(BitsPerSecond(rate)));
        link.SetChannelAttribute("Delay", TimeValue(Seconds(delay)));
        link.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", StringValue(size));
        return link.Install(a, b);
    };
    auto address = [&](NetDeviceContainer devices) {
        Ipv4InterfaceContainer interfaces = addresses.Assign(devices);
        addresses.NewNetwork();
        return interfaces;
    };

    // One packet in the device, so that the discipline has the queue.
    NetDeviceContainer middle = connect(routers.Get(0), routers.Get(1), o.rate, o.delay, "1p");
    DynamicCast<PointToPointNetDevice>(middle.Get(1))->GetQueue()->SetMaxSize(QueueSize("1000000p"));
    Built built;
    built.device = DynamicCast<PointToPointNetDevice>(middle.Get(0));
    built.queue = queue(middle.Get(0));
    address(middle);
    none.Uninstall(middle.Get(1));
    std::vector<Ipv4Address> hosts;
    for (size_t c = 0; c < rtts.size(); c++)
    {
        NetDeviceContainer in =
            connect(near.Get(c), routers.Get(0), o.access, rtts[c] / 2 - o.delay - o.far, "1000000p");
        NetDeviceContainer out = connect(routers.Get(1), far.Get(c), o.access, o.far, "1000000p");
        address(in);
        hosts.push_back(address(out).GetAddress(1));
        none.Uninstall(in);
        none.Uninstall(out);
    }
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();

    const uint16_t port = 5000;
    Ptr<UniformRandomVariable> unit = CreateObject<UniformRandomVariable>();
    for (uint32_t i = 0; i < o.flows; i++)
    {
        const size_t c = i % rtts.size();
        const auto own = static_cast<uint16_t>(port + i);
        PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), own));
        ApplicationContainer receiver = sink.Install(far.Get(c));
        receiver.Start(Seconds(0));
        built.sinks.push_back(DynamicCast<PacketSink>(receiver.Get(0)));
        BulkSendHelper source("ns3::TcpSocketFactory", InetSocketAddress(hosts[c], own));
        source.Install(near.Get(c)).Start(Seconds(unit->GetValue(0, o.jitter)));
    }
    return built;
}

} // namespace dumbbell
