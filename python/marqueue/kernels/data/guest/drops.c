// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Reports each packet that this kernel drops, by its source link address: drop monitor
// (net/core/drop_monitor.c), asked by generic netlink. Its reason for all drops of qdiscs is the same, QDISC_DROP.

#include <errno.h>
#include <linux/genetlink.h>
#include <linux/if_ether.h>
#include <linux/net_dropmon.h>
#include <linux/netlink.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "guest.h"

#define FAMILY "NET_DM"

// Packets that wait to be reported: a whole buffer can be dropped at once.
#define MOST_WAITING 100000

struct message {
	struct nlmsghdr header;
	struct genlmsghdr generic;
	char body[8192];
};

static int netlink = -1;

static struct message message_of(uint16_t family, uint8_t command)
{
	return (struct message){
		.header = {.nlmsg_len = NLMSG_LENGTH(GENL_HDRLEN),
			   .nlmsg_type = family,
			   .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK},
		.generic = {.cmd = command, .version = 1},
	};
}

static void attribute(struct message *message, uint16_t type, const void *value, size_t length)
{
	struct nlattr *next = (void *)((char *)message + NLMSG_ALIGN(message->header.nlmsg_len));

	next->nla_type = type;
	next->nla_len = NLA_HDRLEN + length;
	if (length)
		memcpy((char *)next + NLA_HDRLEN, value, length);
	message->header.nlmsg_len = NLMSG_ALIGN(message->header.nlmsg_len) + NLA_ALIGN(next->nla_len);
}

// An attribute of this type among those from `first` on; NULL without one.
static const struct nlattr *find(const char *first, size_t length, int type)
{
	while (length >= NLA_HDRLEN) {
		const struct nlattr *each = (const void *)first;
		size_t whole = NLA_ALIGN(each->nla_len);

		if ((each->nla_type & NLA_TYPE_MASK) == type)
			return each;
		if (each->nla_len < NLA_HDRLEN || whole >= length)
			return NULL;
		first += whole;
		length -= whole;
	}
	return NULL;
}

static const struct nlattr *attribute_of(const struct message *message, int type)
{
	return find(message->body, message->header.nlmsg_len - NLMSG_LENGTH(GENL_HDRLEN), type);
}

static const char *value_of(const struct nlattr *attribute)
{
	return (const char *)attribute + NLA_HDRLEN;
}

static size_t length_of(const struct nlattr *attribute)
{
	return attribute->nla_len - NLA_HDRLEN;
}

// Sends a message; the first one that comes back, which is an error, an acknowledgement or the answer.
static struct message ask(struct message *message)
{
	struct message answer;

	if (send(netlink, message, message->header.nlmsg_len, 0) < 0 ||
	    recv(netlink, &answer, sizeof(answer), 0) < (ssize_t)NLMSG_LENGTH(sizeof(int)))
		fail("report-drops: %s", strerror(errno));
	if (answer.header.nlmsg_type == NLMSG_ERROR) {
		int error = -*(int *)NLMSG_DATA(&answer.header);

		if (error)
			fail("report-drops: %s; expected a kernel with CONFIG_NET_DROP_MONITOR", strerror(error));
	}
	return answer;
}

static void report(const struct message *message)
{
	const struct nlattr *packet = attribute_of(message, NET_DM_ATTR_PAYLOAD);

	if (message->generic.cmd == NET_DM_CMD_PACKET_ALERT && packet && length_of(packet) >= ETH_HLEN)
		telemetry_record(KIND_DROPPED, now(), NO_FLOW, value_of(packet) + ETH_ALEN, ETH_ALEN);
}

static void ready(struct watched *self, uint32_t events)
{
	(void)self;
	(void)events;
	for (;;) {
		struct message message;
		ssize_t length = recv(netlink, &message, sizeof(message), MSG_DONTWAIT);

		if (length < 0 && errno == EINTR)
			continue;
		if (length < 0 && errno == EAGAIN)
			return;
		if (length < (ssize_t)NLMSG_LENGTH(GENL_HDRLEN))
			fail("drop monitor: %s", strerror(errno));
		report(&message);
	}
}

void drops_report(void)
{
	static struct watched watched = {ready};
	const uint8_t mode = NET_DM_ALERT_MODE_PACKET;
	const uint32_t length = ETH_HLEN, waiting = MOST_WAITING;
	const struct nlattr *family, *groups, *group, *number;
	struct message message, acknowledgement, answer;
	int room = 1 << 24;
	uint32_t group_number;
	uint16_t type;

	netlink = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC);
	if (netlink < 0 || setsockopt(netlink, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room)))
		fail("report-drops: %s", strerror(errno));
	message = message_of(GENL_ID_CTRL, CTRL_CMD_GETFAMILY);
	attribute(&message, CTRL_ATTR_FAMILY_NAME, FAMILY, sizeof(FAMILY));
	answer = ask(&message);
	family = attribute_of(&answer, CTRL_ATTR_FAMILY_ID);
	groups = attribute_of(&answer, CTRL_ATTR_MCAST_GROUPS);
	group = groups ? find(value_of(groups), length_of(groups), 1) : NULL;
	number = group ? find(value_of(group), length_of(group), CTRL_ATTR_MCAST_GRP_ID) : NULL;
	if (!family || !number)
		fail("report-drops: the kernel describes its drop monitor otherwise than expected");
	memcpy(&type, value_of(family), sizeof(type));
	memcpy(&group_number, value_of(number), sizeof(group_number));
	if (recv(netlink, &acknowledgement, sizeof(acknowledgement), 0) < 0)
		fail("report-drops: %s", strerror(errno));
	message = message_of(type, NET_DM_CMD_CONFIG);
	attribute(&message, NET_DM_ATTR_ALERT_MODE, &mode, sizeof(mode));
	attribute(&message, NET_DM_ATTR_TRUNC_LEN, &length, sizeof(length));
	attribute(&message, NET_DM_ATTR_QUEUE_LEN, &waiting, sizeof(waiting));
	ask(&message);
	message = message_of(type, NET_DM_CMD_START);
	attribute(&message, NET_DM_ATTR_SW_DROPS, NULL, 0);
	ask(&message);
	if (setsockopt(netlink, SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, &group_number, sizeof(group_number)))
		fail("report-drops: %s", strerror(errno));
	watch(netlink, EPOLLIN, &watched);
}
