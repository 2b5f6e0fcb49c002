/* Active queue management as a library: see marqueue_new_link. Written by cbindgen from crates/capi/src; do not edit. */

#ifndef MARQUEUE_H
#define MARQUEUE_H

#include <stdbool.h>
#include <stdint.h>

// Marks reach the sender as drops (marqueue_config_signal).
#define MARQUEUE_SIGNAL_DROP 0

// Marks reach the sender as CE; packets that are not ECN-capable are dropped instead.
#define MARQUEUE_SIGNAL_ECN 1

// Marks reach the sender as CE; packets that are not ECN-capable pass.
#define MARQUEUE_SIGNAL_ECN_ONLY 2

// What marqueue_next_event returns if nothing is to come.
#define MARQUEUE_NEVER UINT64_MAX

// Not ECN-capable.
#define MARQUEUE_NOT_ECT 0

// ECT(1): ECN-capable, asks for the L4S service.
#define MARQUEUE_ECT1 1

// ECT(0): ECN-capable.
#define MARQUEUE_ECT0 2

// Congestion experienced.
#define MARQUEUE_CE 3

// What has come of a call.
typedef enum marqueue_status {
  // Done.
  MARQUEUE_STATUS_OK = 0,
  // There is no packet to take.
  MARQUEUE_STATUS_EMPTY = 1,
  // A pointer is null.
  MARQUEUE_STATUS_NULL = 2,
  // A name or a value is refused: marqueue_error() says which, and what was expected.
  MARQUEUE_STATUS_INVALID = 3,
  // A bug of the library. The queue refuses all further calls but marqueue_free.
  MARQUEUE_STATUS_PANICKED = 4,
} marqueue_status;

// What has become of an arriving packet. A queue may also drop packets later, or others to make room:
// marqueue_take_dropped.
typedef enum marqueue_verdict {
  // It was queued.
  MARQUEUE_VERDICT_QUEUED = 0,
  // It was queued and marked CE.
  MARQUEUE_VERDICT_MARKED = 1,
  // It was dropped.
  MARQUEUE_VERDICT_DROPPED = 2,
} marqueue_verdict;

// The description of a queue: an algorithm, its parameters, the buffer and the link.
typedef struct marqueue_config marqueue_config;

// A queue or a link. One thread at a time may use it.
typedef struct marqueue marqueue;

// A packet. A program fills in the first five for marqueue_enqueue.
typedef struct marqueue_packet {
  // The program's own number or pointer; comes back unchanged.
  uint64_t id;
  // Its size on the wire: 1 to 2097152.
  uint32_t bytes;
  // The flow that it belongs to: a number or a hash of addresses and ports.
  uint32_t flow;
  // Its ECN field: MARQUEUE_NOT_ECT, MARQUEUE_ECT1, MARQUEUE_ECT0 or MARQUEUE_CE, as in the IP header. May come back as
  // MARQUEUE_CE.
  uint8_t ecn;
  // The six bits of its code point.
  uint8_t dscp;
  // Comes back: nanoseconds that it waited in the queue. 0 if it was dropped.
  uint64_t sojourn;
  // Comes back from a link: when it arrived at the far end. 0 from a queue, and if it was dropped.
  uint64_t arrived;
} marqueue_packet;

// Counts since the start.
typedef struct marqueue_counts {
  // Packets that arrived.
  uint64_t arrivals;
  // Packets that left the queue.
  uint64_t departures;
  // Packets that were dropped.
  uint64_t drops;
  // Packets that were marked CE.
  uint64_t marks;
  // Packets in the queue now.
  uint64_t packets;
  // Bytes in the queue now.
  uint64_t bytes;
} marqueue_counts;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// The words for the last call of this thread that was refused: what was given and what was expected. Valid until the next
// one is.
const char *marqueue_error(void);

// The version of the library.
const char *marqueue_version(void);

// Describes a queue under an algorithm ("codel", "fq_codel", "pie", ...) in front of a link of `rate` bits a second. Until it
// is changed it has default parameters, a buffer of 1000 packets, packets of 1500 bytes, marks as CE, no propagation delay
// and seed 0. Free it with marqueue_config_free; the queues that were built from it do not need it.
enum marqueue_status marqueue_config_new(const char *algorithm,
                                         uint64_t rate,
                                         struct marqueue_config **config);

// Frees a description. Null is allowed.
void marqueue_config_free(struct marqueue_config *config);

// Sets a parameter of the algorithm, in its base unit: seconds, bits a second, bytes, packets. Names and values are checked
// when the queue is built.
enum marqueue_status marqueue_config_set(struct marqueue_config *config,
                                         const char *parameter,
                                         double value);

// Sets a parameter that is on or off.
enum marqueue_status marqueue_config_set_flag(struct marqueue_config *config,
                                              const char *parameter,
                                              uint32_t on);

// Sets a parameter that is one of several names.
enum marqueue_status marqueue_config_set_choice(struct marqueue_config *config,
                                                const char *parameter,
                                                const char *choice);

// The buffer in packets.
enum marqueue_status marqueue_config_buffer_packets(struct marqueue_config *config, uint32_t packets);

// The buffer in bytes.
enum marqueue_status marqueue_config_buffer_bytes(struct marqueue_config *config, uint64_t bytes);

// The usual size of a packet, by which algorithms convert between packets and bytes.
enum marqueue_status marqueue_config_mean_packet(struct marqueue_config *config, uint64_t bytes);

// How a mark reaches the sender: one of MARQUEUE_SIGNAL_...
enum marqueue_status marqueue_config_signal(struct marqueue_config *config, uint32_t signal);

// The propagation delay behind the queue, in nanoseconds; at most an hour.
enum marqueue_status marqueue_config_delay(struct marqueue_config *config, uint64_t nanoseconds);

// The seed of random decisions: the same seed and the same calls give the same packets.
enum marqueue_status marqueue_config_seed(struct marqueue_config *config, uint64_t seed);

// Builds an empty queue: the program takes a packet when it can send one. Free it with marqueue_free.
enum marqueue_status marqueue_new_queue(const struct marqueue_config *config, struct marqueue **queue);

// Builds a link: an empty queue, a transmitter of the rate and the propagation delay. Packets come out when they have
// arrived at the far end. Free it with marqueue_free.
enum marqueue_status marqueue_new_link(const struct marqueue_config *config,
                                       struct marqueue **link);

// Frees a queue or a link with its packets. Null is allowed.
void marqueue_free(struct marqueue *queue);

// A packet arrives at `now`, in nanoseconds of any clock: an earlier time counts as the last one, and a silence of more than
// an hour as an hour. `verdict` may be null.
enum marqueue_status marqueue_enqueue(struct marqueue *queue,
                                      uint64_t now,
                                      const struct marqueue_packet *packet,
                                      enum marqueue_verdict *verdict);

// Takes the packet to send at `now`; from a link, the next one that has arrived at the far end by `now`. EMPTY if there is
// none: marqueue_next_event says when to ask again.
enum marqueue_status marqueue_dequeue(struct marqueue *queue,
                                      uint64_t now,
                                      struct marqueue_packet *packet);

// When to call marqueue_dequeue next. A link: when its next packet arrives at the far end. A queue: if the last
// marqueue_dequeue got nothing although packets wait, when a shaper releases one; otherwise when the program can send.
// MARQUEUE_NEVER if nothing is to come, and for a null pointer.
uint64_t marqueue_next_event(const struct marqueue *queue);

// Takes one of the packets that were dropped, the first one first; EMPTY if there is none. They are kept until they are
// taken. `reason` may be null; else it gets a name such as "overflow", which is not to be freed.
enum marqueue_status marqueue_take_dropped(struct marqueue *queue,
                                           struct marqueue_packet *packet,
                                           const char **reason);

// The rate changes at `now`. A link's packet in transmission keeps the rate that it started with.
enum marqueue_status marqueue_set_rate(struct marqueue *queue, uint64_t now, uint64_t rate);

// Counts since the start.
enum marqueue_status marqueue_count(struct marqueue *queue, struct marqueue_counts *counts);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* MARQUEUE_H */
