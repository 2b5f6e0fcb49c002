/* The C interface from C: what goes in comes out once, and what is absurd is refused. Run under sanitizers and valgrind by
 * `make test-c`; exit code 1 names the line that failed. */
#include <marqueue.h>
#include <stdio.h>
#include <string.h>

#define CHECK(what)                                                     \
    do {                                                                \
        if (!(what)) {                                                  \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #what);  \
            return 1;                                                   \
        }                                                               \
    } while (0)
#define OK(call) CHECK((call) == MARQUEUE_STATUS_OK)
#define NULL_POINTER(call) CHECK((call) == MARQUEUE_STATUS_NULL)
#define INVALID(call, words) CHECK((call) == MARQUEUE_STATUS_INVALID && strstr(marqueue_error(), words))

static const uint64_t MS = 1000000;

static int null_pointers(marqueue_config *config, marqueue *queue)
{
    marqueue_config *none = config;
    marqueue *no_queue = queue;
    marqueue_packet packet = {.bytes = 1};
    NULL_POINTER(marqueue_config_new(NULL, 1, &none));
    NULL_POINTER(marqueue_config_new("codel", 1, NULL));
    NULL_POINTER(marqueue_config_set(NULL, "target", 1));
    NULL_POINTER(marqueue_config_set(config, NULL, 1));
    NULL_POINTER(marqueue_config_set_flag(NULL, "gentle", 1));
    NULL_POINTER(marqueue_config_set_choice(config, "mode", NULL));
    NULL_POINTER(marqueue_config_buffer_packets(NULL, 1));
    NULL_POINTER(marqueue_config_buffer_bytes(NULL, 1));
    NULL_POINTER(marqueue_config_mean_packet(NULL, 1));
    NULL_POINTER(marqueue_config_signal(NULL, MARQUEUE_SIGNAL_ECN));
    NULL_POINTER(marqueue_config_delay(NULL, 1));
    NULL_POINTER(marqueue_config_seed(NULL, 1));
    NULL_POINTER(marqueue_new_queue(NULL, &no_queue));
    NULL_POINTER(marqueue_new_link(config, NULL));
    NULL_POINTER(marqueue_enqueue(NULL, 0, &packet, NULL));
    NULL_POINTER(marqueue_enqueue(queue, 0, NULL, NULL));
    NULL_POINTER(marqueue_dequeue(NULL, 0, &packet));
    NULL_POINTER(marqueue_dequeue(queue, 0, NULL));
    NULL_POINTER(marqueue_take_dropped(NULL, &packet, NULL));
    NULL_POINTER(marqueue_take_dropped(queue, NULL, NULL));
    NULL_POINTER(marqueue_set_rate(NULL, 0, 1));
    NULL_POINTER(marqueue_count(NULL, NULL));
    NULL_POINTER(marqueue_count(queue, NULL));
    CHECK(marqueue_next_event(NULL) == MARQUEUE_NEVER);
    CHECK(strstr(marqueue_error(), "queue: got a null pointer"));
    marqueue_free(NULL);
    marqueue_config_free(NULL);
    return 0;
}

static int absurd_values(marqueue *queue)
{
    marqueue_config *config = NULL;
    marqueue *none = queue;
    INVALID(marqueue_config_new("codle", 1, &config), "got \"codle\", expected one of droptail");
    CHECK(config == NULL);
    INVALID(marqueue_config_new("\xff\xfe", 1, &config), "UTF-8");
    INVALID(marqueue_config_new("codel", 0, &config), "rate: got 0");
    INVALID(marqueue_config_new("codel", UINT64_MAX, &config), "rate: got 18446744073709551615");
    OK(marqueue_config_new("codel", 1000000, &config));
    INVALID(marqueue_config_signal(config, 3), "signal: got 3");
    OK(marqueue_config_set(config, "target", 0.0 / 0.0));
    INVALID(marqueue_new_link(config, &none), "target: got NaN");
    CHECK(none == NULL);
    OK(marqueue_config_set(config, "target", 0.005));
    OK(marqueue_config_set_flag(config, "sideways", 7));
    INVALID(marqueue_new_queue(config, &none), "sideways: unknown parameter");
    marqueue_config_free(config);
    OK(marqueue_config_new("codel", 1000000, &config));
    OK(marqueue_config_delay(config, UINT64_MAX));
    INVALID(marqueue_new_link(config, &none), "delay: got");
    OK(marqueue_config_delay(config, 0));
    OK(marqueue_config_mean_packet(config, 0));
    INVALID(marqueue_new_link(config, &none), "mean_packet: got 0");
    marqueue_config_free(config);

    marqueue_packet packet = {.bytes = 0};
    INVALID(marqueue_enqueue(queue, 0, &packet, NULL), "bytes: got 0");
    packet.bytes = UINT32_MAX;
    INVALID(marqueue_enqueue(queue, 0, &packet, NULL), "bytes: got 4294967295");
    packet.bytes = 1;
    packet.ecn = 4;
    INVALID(marqueue_enqueue(queue, 0, &packet, NULL), "ecn: got 4");
    packet.ecn = MARQUEUE_ECT1;
    packet.dscp = 64;
    INVALID(marqueue_enqueue(queue, 0, &packet, NULL), "dscp: got 64");
    INVALID(marqueue_set_rate(queue, 0, 0), "rate: got 0");
    return 0;
}

/* Times that go backwards and leap, every flow and size there is: each packet comes out once. */
static int every_packet_once(const char *algorithm)
{
    enum { PACKETS = 500 };
    static unsigned char seen[PACKETS];
    const uint32_t sizes[] = {1, 1500, 2097152}, flows[] = {0, 7, UINT32_MAX};
    marqueue_config *config = NULL;
    marqueue *queue = NULL;
    memset(seen, 0, sizeof seen);
    OK(marqueue_config_new(algorithm, 100000000, &config));
    OK(marqueue_config_buffer_bytes(config, 3000000));
    OK(marqueue_config_seed(config, UINT64_MAX));
    OK(marqueue_new_queue(config, &queue));
    marqueue_config_free(config);
    marqueue_packet packet;
    marqueue_verdict verdict;
    uint64_t now = 0, random = 1;
    for (uint64_t id = 0; id < PACKETS; id++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        now = id == PACKETS / 2 ? UINT64_MAX : now + (random >> 42);
        packet = (marqueue_packet){.id = id, .bytes = sizes[(random >> 33) % 3], .flow = flows[(random >> 35) % 3],
                                   .ecn = (random >> 37) % 4, .dscp = (random >> 39) % 64};
        OK(marqueue_enqueue(queue, now, &packet, &verdict));
        if ((random >> 45) % 2 && marqueue_dequeue(queue, now, &packet) == MARQUEUE_STATUS_OK)
            seen[packet.id]++;
    }
    marqueue_counts counts;
    do {
        uint64_t event = marqueue_next_event(queue);
        if (marqueue_dequeue(queue, event == MARQUEUE_NEVER ? now : event, &packet) == MARQUEUE_STATUS_OK)
            seen[packet.id]++;
        OK(marqueue_count(queue, &counts));
    } while (counts.packets > 0);
    uint64_t dropped = 0;
    const char *reason = NULL;
    while (marqueue_take_dropped(queue, &packet, &reason) == MARQUEUE_STATUS_OK) {
        CHECK(reason && strlen(reason) > 0);
        seen[packet.id]++;
        dropped++;
    }
    CHECK(counts.arrivals == PACKETS && counts.drops == dropped && counts.bytes == 0);
    CHECK(counts.departures + counts.drops == PACKETS);
    for (int id = 0; id < PACKETS; id++)
        CHECK(seen[id] == 1);
    marqueue_free(queue);
    return 0;
}

/* 1000 bytes at 8 Mbit/s: a packet each millisecond. */
static int a_link(void)
{
    marqueue_config *config = NULL;
    marqueue *link = NULL;
    marqueue_packet packet;
    marqueue_verdict verdict;
    OK(marqueue_config_new("droptail", 8000000, &config));
    OK(marqueue_config_buffer_packets(config, 2));
    OK(marqueue_config_delay(config, 5 * MS));
    OK(marqueue_new_link(config, &link));
    marqueue_config_free(config);
    for (uint64_t id = 0; id < 4; id++) {
        packet = (marqueue_packet){.id = id, .bytes = 1000};
        OK(marqueue_enqueue(link, 100 * MS, &packet, &verdict));
        CHECK(verdict == (id < 3 ? MARQUEUE_VERDICT_QUEUED : MARQUEUE_VERDICT_DROPPED));
    }
    CHECK(marqueue_next_event(link) == 106 * MS);
    CHECK(marqueue_dequeue(link, 106 * MS - 1, &packet) == MARQUEUE_STATUS_EMPTY);
    for (uint64_t id = 0; id < 3; id++) {
        OK(marqueue_dequeue(link, 500 * MS, &packet));
        CHECK(packet.id == id && packet.arrived == (106 + id) * MS && packet.sojourn == id * MS);
    }
    CHECK(marqueue_dequeue(link, 500 * MS, &packet) == MARQUEUE_STATUS_EMPTY);
    CHECK(marqueue_next_event(link) == MARQUEUE_NEVER);
    marqueue_free(link);
    return 0;
}

int main(void)
{
    const char *algorithms[] = {"droptail", "red", "codel", "pie", "fq_codel", "cake", "dualpi2", "choke"};
    marqueue_config *config = NULL;
    marqueue *queue = NULL;
    OK(marqueue_config_new("codel", 1000000, &config));
    OK(marqueue_new_queue(config, &queue));
    int failed = null_pointers(config, queue) || absurd_values(queue) || a_link();
    for (size_t i = 0; i < sizeof algorithms / sizeof *algorithms; i++)
        failed = failed || every_packet_once(algorithms[i]);
    marqueue_free(queue);
    marqueue_config_free(config);
    return failed;
}
