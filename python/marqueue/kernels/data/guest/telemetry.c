// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Telemetry: records in raw Ethernet frames on a device of their own, several in a frame.

#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "guest.h"

#define MAGIC 0x4954514d // "MQTI"
#define VERSION 1
#define ETHERTYPE 0x88b5 // IEEE 802, for local experiments
#define MOST_PAYLOAD 1500
#define MOST_QUEUED INT16_MAX // Linux 7.3 takes no more

struct record {
	uint32_t magic;
	uint16_t version;
	uint16_t kind;
	uint64_t time;
	uint32_t flow;
	uint32_t length;
} __attribute__((packed));

static int out = -1;
static struct {
	struct ethhdr header;
	uint8_t payload[MOST_PAYLOAD];
} __attribute__((packed)) frame;
static size_t used;

bool telemetry_is_open(void)
{
	return out >= 0;
}

void telemetry_open(const char *device)
{
	struct sockaddr_ll to = {.sll_family = AF_PACKET};
	int room = 1 << 28, opened;

	// All flows are sampled at once: no frame may be lost to a short queue or wait for a small buffer.
	queue_length_set(device, MOST_QUEUED);
	device_up(device, (struct options){NULL, 0});
	to.sll_ifindex = device_index(device);
	opened = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	if (opened < 0 || bind(opened, (struct sockaddr *)&to, sizeof(to)) ||
	    setsockopt(opened, SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof(room)))
		fail("control %s: %s", device, strerror(errno));
	memset(frame.header.h_dest, 0xff, ETH_ALEN);
	link_address_of(device, frame.header.h_source);
	frame.header.h_proto = htons(ETHERTYPE);
	out = opened;
}

void telemetry_flush(void)
{
	size_t length = sizeof(frame.header) + used;

	if (!used || out < 0)
		return;
	used = 0;
	if (send(out, &frame, length, 0) != (ssize_t)length) {
		// What fails here cannot be reported there.
		printf("guest: telemetry: %s\n", strerror(errno));
		out = -1;
		power_off();
	}
}

void telemetry_record(enum kind kind, instant time, uint32_t flow, const void *payload, size_t length)
{
	struct record record = {MAGIC, VERSION, kind, time, flow, length};

	if (used + sizeof(record) + length > MOST_PAYLOAD)
		telemetry_flush();
	memcpy(frame.payload + used, &record, sizeof(record));
	used += sizeof(record);
	if (length)
		memcpy(frame.payload + used, payload, length);
	used += length;
}

void telemetry_text(enum kind kind, instant time, uint32_t flow, const char *text, size_t length)
{
	const size_t most = MOST_PAYLOAD - sizeof(struct record);

	while (length) {
		size_t part = length < most ? length : most;

		telemetry_record(kind, time, flow, text, part);
		text += part;
		length -= part;
	}
}
