// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0
// The data path at a host: two programs for tc, one for packets that leave and one for packets that come.
//
// What leaves for a peer gets an outer IPv4 and UDP header, whose source port names the path, and a shim. What comes
// loses them. Everything else passes as it is. Nothing here waits, and nothing here decides but choose.h.
#include <linux/types.h>
#include <linux/bpf.h>
#include <linux/pkt_cls.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_endian.h>

#include "edge.h"
#include "choose.h"
#include "shim.h"

#define ETH 14
#define TCP 6
#define UDP 17

/* The packet goes on, to the filters behind ours if there are any: TC_ACT_OK would end them. */
#define PASS TC_ACT_UNSPEC

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, struct edge_config);
} config SEC(".maps");

/* Address of a peer, as on the wire: its number. */
struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, EDGE_PEERS);
    __type(key, __u32);
    __type(value, __u32);
} peers SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, EDGE_PEERS);
    __type(key, __u32);
    __type(value, struct edge_table);
} tables SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, EDGE_PEERS);
    __type(key, __u32);
    __type(value, struct edge_state);
} states SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, EDGE_PEERS);
    __type(key, __u32);
    __type(value, struct edge_headers);
} headers SEC(".maps");

struct flow_key {
    __u32 peer;
    __u32 ports;
    __u32 protocol;
};

struct {
    __uint(type, BPF_MAP_TYPE_LRU_HASH);
    __uint(max_entries, 65536);
    __type(key, struct flow_key);
    __type(value, struct edge_flow);
} flows SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, EDGE_COUNTERS);
    __type(key, __u32);
    __type(value, __u64);
} counters SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_RINGBUF);
    __uint(max_entries, 1 << 18);
} events SEC(".maps");

/* An index of a way that the verifier believes: the compiler, which knows it already, may not take the mask away. */
static __always_inline __u32 bounded(__u32 way)
{
    asm volatile("" : "+r"(way));
    return way & (EDGE_WAYS - 1);
}

static __always_inline void count(__u32 which, __u64 packets)
{
    __u64 *counter = bpf_map_lookup_elem(&counters, &which);

    if (counter)
        __sync_fetch_and_add(counter, packets);
}

static __always_inline struct edge_config *own(void)
{
    __u32 zero = 0;

    return bpf_map_lookup_elem(&config, &zero);
}

static __always_inline __u32 ticks(__u64 ns) { return (__u32)(ns >> 8); }

static __always_inline __u32 segments(const struct __sk_buff *skb) { return skb->gso_segs > 1 ? skb->gso_segs : 1; }

/* What is looked at of an inner packet that leaves. */
struct leaving {
    struct flow_key key;
    __u32 src;
    __u32 dst;
    __u32 length;  /* from its IPv4 header on */
    __u32 headers; /* of IPv4 and TCP */
    __u8 tos; /* DSCP and ECN */
    __u8 empty; /* nothing but an acknowledgement */
};

/* Reads it; false: not for us. */
static __always_inline int look(struct __sk_buff *skb, struct leaving *l)
{
    __u8 ip[EDGE_IP], l4[16];
    __u32 at;

    if (skb->protocol != bpf_htons(0x0800) || bpf_skb_load_bytes(skb, ETH, ip, sizeof(ip)) || (ip[0] >> 4) != 4)
        return 0;
    __builtin_memcpy(&l->src, ip + 12, 4);
    __builtin_memcpy(&l->dst, ip + 16, 4);
    l->tos = ip[1];
    l->key.peer = l->dst;
    l->key.protocol = ip[9];
    l->key.ports = 0;
    l->length = skb->len - ETH;
    l->headers = (ip[0] & 15) * 4;
    l->empty = 0;
    /* Fragments of one datagram are one flow without ports. */
    if (edge_get16(ip + 6) & 0x3fff || (ip[9] != TCP && ip[9] != UDP))
        return 1;
    at = ETH + l->headers;
    if (bpf_skb_load_bytes(skb, at, l4, ip[9] == TCP ? 14 : 8))
        return 1;
    __builtin_memcpy(&l->key.ports, l4, 4);
    if (ip[9] == TCP) {
        l->headers += (l4[12] >> 4) * 4;
        l->empty = l->length <= l->headers;
    }
    return 1;
}

/* What has come from the peer is told in turn with what goes there. */
static __always_inline void echo(struct edge_state *state, struct edge_shim *s)
{
    __u32 ways = state->received_ways, at;

    s->echo_way = EDGE_WAYS;
    if (!ways)
        return;
    at = bounded(state->echo_next++ % ways);
    /* What the peer's agent of before has sent says nothing to that of now. */
    if (!state->received[at].packets || state->received[at].instance != state->instance)
        return;
    s->echo_way = at;
    s->echo_packets = (__u32)state->received[at].packets;
    s->echo_stamp = state->received[at].stamp;
    s->echo_arrived = state->received[at].arrived;
}

/* The next header of the scheme that waits for this peer, if one does. */
static __always_inline void take_header(__u32 peer, struct edge_state *state, struct edge_shim *s)
{
    struct edge_headers *waiting = bpf_map_lookup_elem(&headers, &peer);
    __u32 tail = state->tail;

    s->header_seq = 0;
    __builtin_memset(s->header, 0, sizeof(s->header));
    if (!waiting || (__s32)(waiting->head - tail) <= 0)
        return;
    state->tail = tail + 1;
    s->header_seq = 1 + tail % 65535;
    __builtin_memcpy(s->header, waiting->header[tail & (EDGE_HEADERS - 1)], 16);
}

/* Makes room for the outer headers. What is in a tunnel already, such as VXLAN, cannot be put into another one. */
static __always_inline int make_room(struct __sk_buff *skb)
{
    return bpf_skb_adjust_room(skb, EDGE_ROOM, BPF_ADJ_ROOM_MAC,
                               BPF_F_ADJ_ROOM_ENCAP_L3_IPV4 | BPF_F_ADJ_ROOM_ENCAP_L4_UDP | BPF_F_ADJ_ROOM_FIXED_GSO);
}

static __always_inline int fill_room(struct __sk_buff *skb, const struct edge_config *me, const struct leaving *l,
                                     const struct edge_shim *s, __u16 from)
{
    __u8 room[EDGE_ROOM];

    edge_write_outer(room, l->length + EDGE_ROOM, l->tos, 64, 0, (const __u8 *)&l->src, (const __u8 *)&l->dst, from,
                     bpf_ntohs(me->port));
    edge_write_shim(room + EDGE_IP + EDGE_UDP, s);
    /* Switches that are Linux hash by the socket's hash, not by the port, unless it is taken away. */
    return bpf_skb_store_bytes(skb, ETH, room, sizeof(room), BPF_F_INVALIDATE_HASH);
}

/* A probe or an answer of the agent's own sets out: a probe's stamp says now. What any process of this host makes up and sends
 * to the tunnel's port would come out of it at the peer as a packet of another process, so nothing else of ours goes. */
static __always_inline int stamp_probe(struct __sk_buff *skb, const struct edge_config *me)
{
    __u8 p[EDGE_ROOM], stamp[4];
    __u8 kind;

    /* Only the first of several has been looked at. */
    if (segments(skb) > 1)
        goto stranger;
    if (bpf_skb_load_bytes(skb, ETH, p, sizeof(p)) || p[0] != 0x45 || edge_get16(p + 28) != EDGE_MAGIC)
        return PASS;
    kind = p[31] & 15;
    /* Answers are sent on from where their probes came. */
    if (kind == EDGE_REPLY && skb->ingress_ifindex)
        return PASS;
    if (kind != EDGE_PROBE)
        goto stranger;
    edge_put32(stamp, ticks(bpf_ktime_get_ns()));
    bpf_skb_store_bytes(skb, ETH + 36, stamp, 4, BPF_F_INVALIDATE_HASH);
    return PASS;
stranger:
    count(EDGE_STRANGER, segments(skb));
    return TC_ACT_SHOT;
}

SEC("tc")
int edge_out(struct __sk_buff *skb)
{
    struct edge_config *me = own();
    struct edge_table *table;
    struct edge_state *state;
    struct edge_flow *flow, fresh = {};
    struct edge_shim shim = {};
    struct leaving l;
    __u64 now = bpf_ktime_get_ns();
    __u32 *peer, packets, unit, at, on_wire;
    __u16 way;

    if (!me || !look(skb, &l) || l.src != me->address)
        return PASS;
    peer = bpf_map_lookup_elem(&peers, &l.dst);
    if (!peer)
        return PASS;
    /* The agents' own: probes to the tunnel's port, talk to the next. */
    if (l.key.protocol == UDP && (l.key.ports >> 16) == me->port)
        return stamp_probe(skb, me);
    if (l.key.protocol == UDP && bpf_ntohs((__u16)(l.key.ports >> 16)) == bpf_ntohs(me->port) + 1)
        return PASS;
    packets = segments(skb);
    table = bpf_map_lookup_elem(&tables, peer);
    state = bpf_map_lookup_elem(&states, peer);
    if (!table || !state || !table->tunnel || !table->ways) {
        count(EDGE_SENT_PLAIN, packets);
        return PASS;
    }
    if (now > me->beat && now - me->beat > me->lease_ns) {
        count(EDGE_LEASE_OVER, packets);
        return PASS;
    }
    /* What would not fit is left as it is: it would be dropped further on, without a word. */
    on_wire = packets > 1 ? skb->gso_size + l.headers : l.length;
    if (on_wire + EDGE_ROOM > me->mtu || l.length + EDGE_ROOM > 65535) {
        count(EDGE_TOO_BIG, packets);
        return PASS;
    }
    /* Of super-packets only those of TCP can be cut behind the outer headers everywhere. */
    if ((packets > 1 && l.key.protocol != TCP) || make_room(skb)) {
        count(EDGE_NO_ROOM, packets);
        return PASS;
    }
    unit = !l.empty || table->picks_acks;
    if (unit) {
        flow = bpf_map_lookup_elem(&flows, &l.key);
        if (!flow) {
            bpf_map_update_elem(&flows, &l.key, &fresh, BPF_ANY);
            flow = bpf_map_lookup_elem(&flows, &l.key);
        }
        way = edge_choose(table, flow ? flow : &fresh, &state->cursor, now, packets, &shim.burst);
        __sync_fetch_and_add(&state->packets, packets);
    } else {
        at = edge_mix(l.key.ports, l.src ^ l.dst) & (EDGE_WAYS - 1);
        way = table->fabric[at];
    }
    way = bounded(way);
    shim.kind = EDGE_DATA;
    shim.flags = table->hide ? EDGE_HIDE : 0;
    shim.way = way;
    shim.instance = me->instance;
    shim.stamp = ticks(now);
    echo(state, &shim);
    take_header(*peer, state, &shim);
    /* Half of a packet is no packet. */
    if (fill_room(skb, me, &l, &shim, table->ports[way])) {
        count(EDGE_NO_ROOM, packets);
        return TC_ACT_SHOT;
    }
    __sync_fetch_and_add(&state->sent[way].packets, packets);
    __sync_fetch_and_add(&state->sent[way].bytes, skb->len);
    count(EDGE_SENT_TUNNELLED, packets);
    return PASS;
}

/* Counts of own packets that the peer has got, and the delay of the newest. */
static __always_inline void hear_echo(struct edge_state *state, const struct edge_shim *s, __u32 now)
{
    struct edge_echo *e = &state->echo[bounded(s->echo_way)];
    __u32 held = s->stamp - s->echo_arrived, there_and_back = now - s->echo_stamp, apart;

    if (s->echo_way >= EDGE_WAYS)
        return;
    /* By another port the peer counts from zero: the newer of two counts is that of the packet that was sent later. */
    if (e->instance != s->instance || (__s32)(s->echo_packets - e->packets) > 0 ||
        (__s32)(s->echo_stamp - e->last) > 0) {
        e->packets = s->echo_packets;
        e->instance = s->instance;
    }
    /* Two clocks: what they differ by is unknown, and may be anything. */
    apart = s->echo_arrived - s->echo_stamp;
    /* One sample for each packet told of; what cannot be is no sample. */
    if (s->echo_stamp == e->last || there_and_back < held || there_and_back - held > 1u << 24)
        return;
    e->last = s->echo_stamp;
    e->rtt += there_and_back - held;
    if (!e->samples || (__s32)(apart - e->origin) > 1 << 24 || (__s32)(apart - e->origin) < -(1 << 24))
        e->origin = apart;
    e->apart += (__s32)(apart - e->origin);
    e->samples += 1;
}

static __always_inline void tell(__u32 peer, const struct edge_shim *s, __u16 port, __u64 now, __u8 marked)
{
    struct edge_event *event = bpf_ringbuf_reserve(&events, sizeof(*event), 0);

    if (!event) {
        count(EDGE_EVENTS_LOST, 1);
        return;
    }
    event->at = now;
    event->peer = peer;
    event->probe = edge_get32(s->header);
    event->rtt = ticks(now) - s->echo_stamp;
    event->apart = s->echo_arrived - s->echo_stamp;
    event->way = s->way;
    event->port = port;
    event->header_seq = s->header_seq;
    event->kind = s->kind;
    event->marked = marked;
    __builtin_memcpy(event->header, s->header, 16);
    bpf_ringbuf_submit(event, 0);
}

/* The port of the way an answer takes. Answers to the probes of one path go back by all paths in turn, as far as they
 * are known and open: by one alone, a path that is dead on the way back would pass for one that is dead on the way there. */
static __always_inline __u16 way_back(const struct edge_table *table, struct edge_state *state,
                                      const struct edge_shim *s, __u16 port)
{
    __u32 ways = table->ways, way;

    if (!table->tunnel || !ways)
        return port;
    way = bounded((s->way + state->received[bounded(s->way)].answered++) % ways);
    if (!edge_has(table->open, way))
        way = bounded(table->after[way]);
    return table->ports[way];
}

/* A probe is answered here and now. */
static __always_inline int answer(struct __sk_buff *skb, __u8 *p, struct edge_shim *s, const struct edge_table *table,
                                  struct edge_state *state, __u64 now)
{
    __u16 port = edge_get16(p + 20);
    __u8 mac[12], ends[8];

    if (bpf_skb_load_bytes(skb, 0, mac, sizeof(mac)) || skb->len < ETH + EDGE_ROOM)
        return TC_ACT_SHOT;
    bpf_skb_store_bytes(skb, 0, mac + 6, 6, 0);
    bpf_skb_store_bytes(skb, 6, mac, 6, 0);
    s->kind = EDGE_REPLY;
    s->flags = 0;
    s->echo_stamp = s->stamp;
    s->echo_arrived = ticks(now);
    s->echo_way = s->way;
    s->stamp = ticks(now);
    s->header[4] = (p[1] & 3) == 3;
    edge_put16(s->header + 5, port);
    __builtin_memcpy(ends, p + 12, 8);
    edge_write_outer(p, EDGE_ROOM, 2, 64, 0, ends + 4, ends, way_back(table, state, s, port), edge_get16(p + 22));
    edge_write_shim(p + EDGE_IP + EDGE_UDP, s);
    /* A probe may be as long as the longest packet; its answer never is. */
    if (skb->len > ETH + EDGE_ROOM && bpf_skb_change_tail(skb, ETH + EDGE_ROOM, 0))
        return TC_ACT_SHOT;
    bpf_skb_store_bytes(skb, ETH, p, EDGE_ROOM, BPF_F_INVALIDATE_HASH);
    count(EDGE_PROBES_ANSWERED, 1);
    return bpf_redirect(skb->ifindex, 0);
}

/* The packets of a burst are counted where they arrive, and timed. */
static __always_inline void record_burst(struct edge_state *state, const struct edge_shim *s, __u16 port, __u32 packets,
                                         __u32 bytes, __u64 now)
{
    struct edge_burst *b = &state->burst;

    if (b->id != s->burst || b->port != port || b->instance != s->instance) {
        /* One that comes after a newer one is over. Another life of the sender counts from 1. */
        if (b->id && b->instance == s->instance && (__u16)(s->burst - b->id) > 1024)
            return;
        b->first = now;
        b->bytes = 0;
        b->id = s->burst;
        b->packets = 0;
        b->way = s->way;
        b->port = port;
        b->instance = s->instance;
    } else {
        b->bytes += bytes;
    }
    b->packets += packets;
    b->last = now;
}

static __always_inline void receive(struct __sk_buff *skb, struct edge_state *state, const struct edge_shim *s,
                                    const __u8 *p, __u64 now)
{
    struct edge_received *from = &state->received[bounded(s->way)];
    __u32 packets = segments(skb);
    __u16 port = edge_get16(p + 20);

    if (state->instance != s->instance) {
        state->instance = s->instance;
        state->last_header = 0;
        state->received_ways = 0;
    }
    if (from->port != port || from->instance != s->instance) {
        __builtin_memset(from, 0, sizeof(*from));
        from->port = port;
        from->instance = s->instance;
    }
    __sync_fetch_and_add(&from->packets, packets);
    __sync_fetch_and_add(&from->bytes, skb->len);
    if ((p[1] & 3) == 3)
        __sync_fetch_and_add(&from->marked, packets);
    if (s->burst)
        record_burst(state, s, port, packets, skb->len, now);
    from->stamp = s->stamp;
    from->arrived = ticks(now);
    if (state->received_ways <= s->way)
        state->received_ways = s->way + 1;
    count(EDGE_RECEIVED, packets);
}

SEC("tc")
int edge_in(struct __sk_buff *skb)
{
    struct edge_config *me = own();
    struct edge_table *table;
    struct edge_state *state;
    struct edge_shim s = {};
    __u8 p[EDGE_ROOM + EDGE_IP] = {};
    __u64 now = bpf_ktime_get_ns();
    __u32 *peer, address, had = EDGE_IP + EDGE_UDP;
    int what, marked;
    __u16 port;

    if (!me || skb->protocol != bpf_htons(0x0800) || bpf_skb_load_bytes(skb, ETH, p, EDGE_IP + EDGE_UDP))
        return PASS;
    __builtin_memcpy(&address, p + 16, 4);
    if (p[9] != UDP || address != me->address)
        return PASS;
    /* Only what is there is asked for: in vain, it would blank what has been read. */
    if (skb->len >= ETH + EDGE_ROOM + EDGE_IP && !bpf_skb_load_bytes(skb, ETH, p, EDGE_ROOM + EDGE_IP))
        had = EDGE_ROOM + EDGE_IP;
    else if (skb->len >= ETH + EDGE_ROOM && !bpf_skb_load_bytes(skb, ETH, p, EDGE_ROOM))
        had = EDGE_ROOM;
    what = edge_read(p, had, skb->len - ETH, bpf_ntohs(me->port), &s);
    if (what == EDGE_NOT_OURS)
        return PASS;
    __builtin_memcpy(&address, p + 12, 4);
    peer = bpf_map_lookup_elem(&peers, &address);
    table = peer ? bpf_map_lookup_elem(&tables, peer) : 0;
    state = peer ? bpf_map_lookup_elem(&states, peer) : 0;
    /* None of ours comes from there: it is for whoever has the port, as without an agent. */
    if (!peer || !table || !state) {
        count(EDGE_STRANGER, segments(skb));
        return PASS;
    }
    if (what < 0) {
        count(-what, segments(skb));
        return TC_ACT_SHOT;
    }
    if (what == EDGE_IS_PROBE)
        return answer(skb, p, &s, table, state, now);
    marked = (p[1] & 3) == 3;
    if (what == EDGE_IS_REPLY) {
        /* An agent before this one has asked. */
        if (s.instance != me->instance)
            return TC_ACT_SHOT;
        /* The answer names the port of its probe, unless an older agent has given it. */
        port = edge_get16(s.header + 5);
        tell(*peer, &s, port ? port : edge_get16(p + 20), now, s.header[4]);
        return TC_ACT_SHOT;
    }
    receive(skb, state, &s, p, now);
    hear_echo(state, &s, ticks(now));
    if (s.header_seq && s.header_seq != state->last_header) {
        /* A packet cut into segments has its header in each of them. */
        state->last_header = s.header_seq;
        tell(*peer, &s, edge_get16(p + 20), now, marked);
    }
    if (bpf_skb_adjust_room(skb, -EDGE_ROOM, BPF_ADJ_ROOM_MAC, BPF_F_ADJ_ROOM_FIXED_GSO)) {
        count(EDGE_NO_ROOM, segments(skb));
        return TC_ACT_SHOT;
    }
    if (marked && !(s.flags & EDGE_HIDE) && !table->hide_here)
        bpf_skb_ecn_set_ce(skb);
    return PASS;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
