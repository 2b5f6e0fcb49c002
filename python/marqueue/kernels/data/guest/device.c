// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Devices, addresses, neighbours and routes, by rtnetlink (rtnetlink(7)) and the ioctls of netdevice(7).

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/ethtool.h>
#include <linux/neighbour.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "guest.h"

struct request {
	struct nlmsghdr header;
	char body[512];
};

static struct request request_of(int type, const void *body, size_t length)
{
	struct request request = {
		.header = {.nlmsg_len = NLMSG_LENGTH(length),
			   .nlmsg_type = type,
			   .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_REPLACE},
	};

	memcpy(NLMSG_DATA(&request.header), body, length);
	return request;
}

static void attribute(struct request *request, int type, const void *value, size_t length)
{
	struct rtattr *next = (void *)((char *)request + NLMSG_ALIGN(request->header.nlmsg_len));

	next->rta_type = type;
	next->rta_len = RTA_LENGTH(length);
	memcpy(RTA_DATA(next), value, length);
	request->header.nlmsg_len = NLMSG_ALIGN(request->header.nlmsg_len) + RTA_ALIGN(next->rta_len);
}

// The socket stays open, for plans can have thousands of neighbours.
static void ask(struct request *request, const char *about)
{
	static int netlink = -1;
	struct {
		struct nlmsghdr header;
		struct nlmsgerr error;
		char rest[1024];
	} answer;

	if (netlink < 0)
		netlink = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	if (send(netlink, request, request->header.nlmsg_len, 0) < 0 ||
	    recv(netlink, &answer, sizeof(answer), 0) < (ssize_t)NLMSG_LENGTH(sizeof(int)))
		fail("%s: %s", about, strerror(errno));
	if (answer.header.nlmsg_type != NLMSG_ERROR || answer.error.error)
		fail("%s: %s", about, strerror(-answer.error.error));
}

static int control_socket(void)
{
	static int control = -1;

	if (control < 0)
		control = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	return control;
}

static void name_device(struct ifreq *about, const char *device)
{
	if (strlen(device) >= sizeof(about->ifr_name))
		fail("%s: the name of a device is too long", device);
	strcpy(about->ifr_name, device);
}

int device_index(const char *device)
{
	unsigned index = if_nametoindex(device);

	if (!index)
		fail("%s: no such device", device);
	return index;
}

void link_address_of(const char *device, uint8_t address[6])
{
	struct ifreq about = {0};

	name_device(&about, device);
	if (ioctl(control_socket(), SIOCGIFHWADDR, &about))
		fail("%s: %s", device, strerror(errno));
	memcpy(address, about.ifr_hwaddr.sa_data, 6);
}

void queue_length_set(const char *device, int packets)
{
	struct ifreq about = {0};

	name_device(&about, device);
	about.ifr_qlen = packets;
	if (ioctl(control_socket(), SIOCSIFTXQLEN, &about))
		fail("%s txqueuelen %d: %s", device, packets, strerror(errno));
}

// Most bytes behind the first packet that a device takes from its qdisc (Documentation/ABI/testing/sysfs-class-net-queues).
void byte_queue_limit_set(const char *device, const char *bytes)
{
	char path[128];
	int file;

	snprintf(path, sizeof(path), "/sys/class/net/%s/queues/tx-0/byte_queue_limits/limit_max", device);
	file = open(path, O_WRONLY | O_CLOEXEC);
	if (file < 0 || write(file, bytes, strlen(bytes)) != (ssize_t)strlen(bytes))
		fail("byte-queue-limit %s %s: %s", device, bytes, strerror(errno));
	close(file);
}

struct in_addr ip_address(const char *word)
{
	struct in_addr address;

	if (inet_pton(AF_INET, word, &address) != 1)
		fail("got \"%s\", expected an IPv4 address", word);
	return address;
}

// A.B.C.D/N; without /N one address.
static struct in_addr network(const char *word, uint8_t *prefix)
{
	char text[64];
	char *slash;

	snprintf(text, sizeof(text), "%s", word);
	slash = strchr(text, '/');
	*prefix = 32;
	if (slash) {
		*slash = 0;
		*prefix = number(slash + 1, 0, 32);
	}
	return ip_address(text);
}

static void address_add(const char *device, const char *word)
{
	struct ifaddrmsg body = {.ifa_family = AF_INET, .ifa_index = device_index(device)};
	struct in_addr address = network(word, &body.ifa_prefixlen);
	struct request request = request_of(RTM_NEWADDR, &body, sizeof(body));

	attribute(&request, IFA_LOCAL, &address, sizeof(address));
	attribute(&request, IFA_ADDRESS, &address, sizeof(address));
	ask(&request, word);
}

void device_up(const char *device, struct options options)
{
	struct ifreq about = {0};
	const char *name;
	char *value;

	name_device(&about, device);
	while (next_option(&options, &name, &value)) {
		if (!strcmp(name, "address")) {
			address_add(device, value);
		} else if (!strcmp(name, "mtu")) {
			about.ifr_mtu = number(value, 68, 65535);
			if (ioctl(control_socket(), SIOCSIFMTU, &about))
				fail("%s mtu %s: %s", device, value, strerror(errno));
		} else if (!strcmp(name, "txqueuelen")) {
			queue_length_set(device, number(value, 0, 1 << 30));
		} else {
			fail("%s: expected address, mtu or txqueuelen", name);
		}
	}
	if (ioctl(control_socket(), SIOCGIFFLAGS, &about))
		fail("%s: %s", device, strerror(errno));
	about.ifr_flags |= IFF_UP;
	if (ioctl(control_socket(), SIOCSIFFLAGS, &about))
		fail("%s: %s", device, strerror(errno));
}

void neighbour_add(const char *device, const char *address, const char *link_address)
{
	struct ndmsg body = {
		.ndm_family = AF_INET, .ndm_ifindex = device_index(device), .ndm_state = NUD_PERMANENT};
	struct in_addr ip = ip_address(address);
	struct request request = request_of(RTM_NEWNEIGH, &body, sizeof(body));
	uint8_t link[6];
	char rest;

	if (sscanf(link_address, "%2hhx:%2hhx:%2hhx:%2hhx:%2hhx:%2hhx%c", link, link + 1, link + 2, link + 3,
		   link + 4, link + 5, &rest) != 6)
		fail("got \"%s\", expected a link address such as 02:00:00:00:00:01", link_address);
	attribute(&request, NDA_DST, &ip, sizeof(ip));
	attribute(&request, NDA_LLADDR, link, sizeof(link));
	ask(&request, address);
}

void route_add(const char *to, const char *device, struct options options)
{
	struct rtmsg body = {
		.rtm_family = AF_INET,
		.rtm_table = RT_TABLE_MAIN,
		.rtm_protocol = RTPROT_STATIC,
		.rtm_scope = options.count ? RT_SCOPE_UNIVERSE : RT_SCOPE_LINK,
		.rtm_type = RTN_UNICAST,
	};
	struct in_addr address = network(to, &body.rtm_dst_len);
	struct request request = request_of(RTM_NEWROUTE, &body, sizeof(body));
	int index = device_index(device);
	const char *name;
	char *value;

	attribute(&request, RTA_DST, &address, sizeof(address));
	attribute(&request, RTA_OIF, &index, sizeof(index));
	while (next_option(&options, &name, &value)) {
		struct in_addr gateway;

		if (strcmp(name, "via"))
			fail("%s: expected via", name);
		gateway = ip_address(value);
		attribute(&request, RTA_GATEWAY, &gateway, sizeof(gateway));
	}
	ask(&request, to);
}

void offload_set(const char *device, const char *feature, const char *value)
{
	static const struct {
		const char *name;
		uint32_t command;
	} features[] = {
		{"gro", ETHTOOL_SGRO}, {"gso", ETHTOOL_SGSO},    {"tso", ETHTOOL_STSO},
		{"sg", ETHTOOL_SSG},   {"rx", ETHTOOL_SRXCSUM}, {"tx", ETHTOOL_STXCSUM},
	};
	struct ethtool_value set = {.data = !strcmp(value, "on")};
	struct ifreq about = {0};

	if (strcmp(value, "on") && strcmp(value, "off"))
		fail("got \"%s\", expected on or off", value);
	for (size_t i = 0; i < sizeof(features) / sizeof(*features); i++)
		if (!strcmp(feature, features[i].name))
			set.cmd = features[i].command;
	if (!set.cmd)
		fail("%s: expected gro, gso, tso, sg, rx or tx", feature);
	name_device(&about, device);
	about.ifr_data = (void *)&set;
	if (ioctl(control_socket(), SIOCETHTOOL, &about))
		fail("offload %s %s %s: %s", device, feature, value, strerror(errno));
}
