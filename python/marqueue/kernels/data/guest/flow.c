// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Senders. A flow connects at its start and writes what it has to send, at once or in pieces.

#include <arpa/inet.h>
#include <errno.h>
#include <linux/errqueue.h>
#include <linux/net_tstamp.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "guest.h"

// What one call writes at most.
#define PART (1 << 18)
// As long as the struct tcp_info of any kernel will be; the kernel says how much of it it has.
#define MOST_INFO 1024

enum state {
	WAITING,
	CONNECTING,
	OPEN,
	CLOSING, // everything is written, or the flow was stopped
	ENDED,
};

struct flow {
	struct watched watched;
	int fd;
	enum state state;
	uint32_t number;
	int mss; // 0: the kernel's
	int sndbuf;
	const char *congestion; // NULL: the kernel's
	struct sockaddr_in local;
	struct sockaddr_in remote;
	instant start;
	instant stop; // -1: never
	instant every;
	uint64_t piece; // 0: everything at once
	uint64_t bytes; // UINT64_MAX: without end
	uint64_t allowed; // that the application has had to send by now
	uint64_t written;
};

// Data that waits in a socket takes memory of the guest. Set by flows_arrange() if the plan does not.
int notsent_lowat;

static struct flow *flows;
static size_t flow_count, flow_capacity;
static instant sampling_period;
static instant next_sample;
static char zeros[PART];

static void record(struct flow *flow, enum kind kind, instant time)
{
	uint8_t info[MOST_INFO];
	socklen_t length = sizeof(info);

	if (getsockopt(flow->fd, IPPROTO_TCP, TCP_INFO, info, &length))
		length = 0;
	telemetry_record(kind, time, flow->number, info, length);
}

static void end(struct flow *flow)
{
	close(flow->fd);
	flow->fd = -1;
	flow->state = ENDED;
}

static void failed(struct flow *flow, const char *doing, int error)
{
	char text[128];
	int length = snprintf(text, sizeof(text), "%s: %s", doing, strerror(error));
	instant time = now();

	telemetry_text(KIND_REASON, time, flow->number, text, length);
	record(flow, KIND_FAILED, time);
	end(flow);
}

// Writes a part, and asks for a message in the error queue when the last byte of all is acknowledged.
static ssize_t write_last(struct flow *flow, size_t length)
{
	union {
		char room[CMSG_SPACE(sizeof(uint32_t))];
		struct cmsghdr align;
	} control = {0};
	struct iovec part = {zeros, length};
	struct msghdr message = {
		.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)};
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);
	uint32_t flags = SOF_TIMESTAMPING_TX_ACK;

	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SO_TIMESTAMPING;
	header->cmsg_len = CMSG_LEN(sizeof(flags));
	memcpy(CMSG_DATA(header), &flags, sizeof(flags));
	return sendmsg(flow->fd, &message, MSG_NOSIGNAL);
}

static void write_some(struct flow *flow)
{
	while (flow->state == OPEN && flow->written < flow->allowed) {
		uint64_t left = flow->allowed - flow->written;
		size_t part = left < PART ? left : PART;
		bool last = flow->written + part == flow->bytes;
		ssize_t done = last ? write_last(flow, part) : send(flow->fd, zeros, part, MSG_NOSIGNAL);

		if (done < 0) {
			if (errno != EAGAIN && errno != EINTR)
				failed(flow, "write", errno);
			return;
		}
		flow->written += done;
	}
	// As an application that closes after its last write: the FIN goes with the last segment.
	if (flow->state == OPEN && flow->written == flow->bytes) {
		flow->state = CLOSING;
		shutdown(flow->fd, SHUT_WR);
	}
}

// Whether the error queue says that the last byte has been acknowledged. An earlier write that was asked to be the
// last but was cut short is in the queue too; the number of its last byte tells them apart.
static bool last_byte_acknowledged(struct flow *flow)
{
	bool acknowledged = false;

	for (;;) {
		char room[256] __attribute__((aligned(16)));
		struct msghdr message = {.msg_control = room, .msg_controllen = sizeof(room)};

		if (recvmsg(flow->fd, &message, MSG_ERRQUEUE | MSG_DONTWAIT) < 0)
			return acknowledged;
		for (struct cmsghdr *each = CMSG_FIRSTHDR(&message); each; each = CMSG_NXTHDR(&message, each)) {
			struct sock_extended_err error;

			if (each->cmsg_level != SOL_IP || each->cmsg_type != IP_RECVERR)
				continue;
			memcpy(&error, CMSG_DATA(each), sizeof(error));
			if (error.ee_origin == SO_EE_ORIGIN_TIMESTAMPING &&
			    error.ee_data == (uint32_t)(flow->bytes - 1))
				acknowledged = true;
		}
	}
}

static void completed(struct flow *flow)
{
	record(flow, KIND_COMPLETED, now());
	end(flow);
}

static void connected(struct flow *flow)
{
	// Bytes are numbered from here on.
	if (flow->bytes != UINT64_MAX)
		option_set(flow->fd, SOL_SOCKET, SO_TIMESTAMPING,
			   SOF_TIMESTAMPING_SOFTWARE | SOF_TIMESTAMPING_OPT_ID | SOF_TIMESTAMPING_OPT_TSONLY,
			   "SO_TIMESTAMPING");
	flow->state = OPEN;
	record(flow, KIND_CONNECTED, now());
}

static void flow_ready(struct watched *self, uint32_t events)
{
	struct flow *flow = (struct flow *)self;
	int error = 0;
	socklen_t length = sizeof(error);

	// It ended in this round of events.
	if (flow->state == ENDED)
		return;
	if (events & EPOLLERR) {
		if (flow->state == CLOSING && last_byte_acknowledged(flow)) {
			completed(flow);
			return;
		}
		getsockopt(flow->fd, SOL_SOCKET, SO_ERROR, &error, &length);
		if (error) {
			failed(flow, flow->state == CONNECTING ? "connect" : "connection", error);
			return;
		}
	}
	if (flow->state == CONNECTING && events & EPOLLOUT)
		connected(flow);
	if (events & (EPOLLRDHUP | EPOLLHUP)) {
		// A receiver closes after it has seen the end of the data.
		if (flow->state == CLOSING)
			completed(flow);
		else
			failed(flow, "connection", ECONNRESET);
		return;
	}
	write_some(flow);
}

static void next_piece(void *about)
{
	struct flow *flow = about;
	uint64_t left;

	if (flow->state == CLOSING || flow->state == ENDED)
		return;
	left = flow->bytes - flow->allowed;
	flow->allowed += flow->piece < left ? flow->piece : left;
	if (flow->allowed < flow->bytes)
		call_at(flow->start += flow->every, next_piece, flow);
	write_some(flow);
}

static void stop(void *about)
{
	struct flow *flow = about;

	if (flow->state == CONNECTING) {
		failed(flow, "stopped before it was connected", ECANCELED);
	} else if (flow->state == OPEN) {
		flow->state = CLOSING;
		shutdown(flow->fd, SHUT_WR);
	}
}

static void start(void *about)
{
	struct flow *flow = about;

	flow->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (flow->fd < 0)
		fail("flow %u: socket: %s", flow->number, strerror(errno));
	flow->state = CONNECTING;
	option_set(flow->fd, SOL_SOCKET, SO_REUSEADDR, 1, "SO_REUSEADDR");
	option_set(flow->fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, notsent_lowat, "notsent-lowat");
	if (flow->congestion)
		congestion_set(flow->fd, flow->congestion);
	if (flow->mss)
		option_set(flow->fd, IPPROTO_TCP, TCP_MAXSEG, flow->mss, "mss");
	// The kernel doubles what it is told, for its own records.
	if (flow->sndbuf)
		option_set(flow->fd, SOL_SOCKET, SO_SNDBUFFORCE, flow->sndbuf, "sndbuf");
	if (bind(flow->fd, (struct sockaddr *)&flow->local, sizeof(flow->local))) {
		failed(flow, "bind", errno);
		return;
	}
	if (connect(flow->fd, (struct sockaddr *)&flow->remote, sizeof(flow->remote)) && errno != EINPROGRESS) {
		failed(flow, "connect", errno);
		return;
	}
	watch(flow->fd, EPOLLOUT | EPOLLRDHUP | EPOLLET, &flow->watched);
	if (flow->piece)
		next_piece(flow);
}

static void sample(void *about)
{
	(void)about;
	for (size_t i = 0; i < flow_count; i++)
		if (flows[i].state == OPEN || flows[i].state == CLOSING)
			record(&flows[i], KIND_SAMPLE, next_sample);
	next_sample += sampling_period;
	call_at(next_sample, sample, NULL);
}

void sample_every(instant period)
{
	sampling_period = period;
}

// ADDRESS:PORT
static struct sockaddr_in end_point(char *word)
{
	struct sockaddr_in point = {.sin_family = AF_INET};
	char *colon = strchr(word, ':');

	if (!colon)
		fail("got \"%s\", expected ADDRESS:PORT", word);
	*colon = 0;
	point.sin_addr = ip_address(word);
	point.sin_port = htons(number(colon + 1, 0, 65535));
	return point;
}

// The words after `write`: a size, the word `every`, and a period. Returns how many words were taken.
static void pieces(struct flow *flow, const char *size, struct options *options)
{
	const char *name;
	char *period;

	flow->piece = number(size, 1, INT64_MAX);
	if (!next_option(options, &name, &period) || strcmp(name, "every"))
		fail("write %s: expected every NANOSECONDS after it", size);
	flow->every = number(period, 1, INT64_MAX / 4);
}

void flow_add(char *words[], int count)
{
	struct options options = {words + 5, count - 5};
	struct flow *flow;
	const char *name;
	char *value;

	if (strcmp(words[1], "from") || strcmp(words[3], "to"))
		fail("expected flow NUMBER from ADDRESS:PORT to ADDRESS:PORT");
	if (flow_count == flow_capacity) {
		flow_capacity = flow_capacity ? 2 * flow_capacity : 64;
		flows = realloc(flows, flow_capacity * sizeof(*flows));
		if (!flows)
			fail("no memory for %zu flows", flow_capacity);
	}
	flow = &flows[flow_count++];
	*flow = (struct flow){
		.watched.ready = flow_ready,
		.fd = -1,
		.number = number(words[0], 0, NO_FLOW - 1),
		.local = end_point(words[2]),
		.remote = end_point(words[4]),
		.stop = -1,
		.bytes = UINT64_MAX,
	};
	while (next_option(&options, &name, &value)) {
		if (!strcmp(name, "start")) {
			flow->start = number(value, 0, INT64_MAX / 4);
		} else if (!strcmp(name, "stop")) {
			flow->stop = number(value, 0, INT64_MAX / 4);
		} else if (!strcmp(name, "bytes")) {
			flow->bytes = number(value, 0, INT64_MAX);
			if (!flow->bytes)
				flow->bytes = UINT64_MAX;
		} else if (!strcmp(name, "write")) {
			pieces(flow, value, &options);
		} else if (!strcmp(name, "congestion")) {
			flow->congestion = value;
		} else if (!strcmp(name, "mss")) {
			flow->mss = number(value, 88, 65535);
		} else if (!strcmp(name, "sndbuf")) {
			flow->sndbuf = number(value, 1, 1 << 30);
		} else {
			fail("%s: expected start, stop, bytes, write, congestion, mss or sndbuf", name);
		}
	}
	if (!flow->piece)
		flow->allowed = flow->bytes;
	if (flow->stop >= 0 && flow->stop < flow->start)
		fail("stop is before start");
}

void flows_arrange(void)
{
	const int most = 1 << 17, least = 1 << 14, all = 1 << 25;

	if (!notsent_lowat)
		notsent_lowat = flow_count * most <= (size_t)all   ? most
				: flow_count * least >= (size_t)all ? least
								     : (int)(all / flow_count);
	// Now that the flows have their places in memory.
	for (size_t i = 0; i < flow_count; i++) {
		call_at(flows[i].start, start, &flows[i]);
		if (flows[i].stop >= 0)
			call_at(flows[i].stop, stop, &flows[i]);
	}
	if (sampling_period && flow_count)
		call_at(0, sample, NULL);
}
