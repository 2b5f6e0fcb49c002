/* A link of 10 Mbit/s with 20 ms of delay under FQ-CoDel: three packets in, three packets out.
 *
 *     cc link.c $(pkg-config --cflags --libs marqueue) && ./a.out
 */
#include <inttypes.h>
#include <marqueue.h>
#include <stdio.h>

int main(void)
{
    marqueue_config *config = NULL;
    marqueue *link = NULL;
    if (marqueue_config_new("fq_codel", 10000000, &config) != MARQUEUE_STATUS_OK
        || marqueue_config_set(config, "target", 0.005) != MARQUEUE_STATUS_OK
        || marqueue_config_delay(config, 20000000) != MARQUEUE_STATUS_OK
        || marqueue_new_link(config, &link) != MARQUEUE_STATUS_OK) {
        fprintf(stderr, "%s\n", marqueue_error());
        return 2;
    }
    for (uint64_t id = 0; id < 3; id++) {
        marqueue_packet packet = {.id = id, .bytes = 1500, .flow = 7, .ecn = MARQUEUE_ECT0};
        marqueue_enqueue(link, 0, &packet, NULL);
    }
    uint64_t now;
    while ((now = marqueue_next_event(link)) != MARQUEUE_NEVER) {
        marqueue_packet packet;
        if (marqueue_dequeue(link, now, &packet) == MARQUEUE_STATUS_OK)
            printf("packet %" PRIu64 " at %" PRIu64 " ns, ECN %d\n", packet.id, packet.arrived, packet.ecn);
    }
    marqueue_free(link);
    marqueue_config_free(config);
    return 0;
}
