// SPDX-License-Identifier: Apache-2.0
// What the data path and the agent agree on: the shim on the wire, and the tables in the kernel.
//
// Plain C without includes: the includer has __u8 to __u64. src/layout.rs mirrors the structs; a test compares sizes and
// offsets.
#ifndef SPINEWISE_EDGE_H
#define SPINEWISE_EDGE_H

#define EDGE_MAGIC 0x5357u /* "SW" */
#define EDGE_VERSION 1
#define EDGE_WAYS 64   /* paths to one peer */
#define EDGE_SLOTS 256 /* decisions published at a time */
#define EDGE_PEERS 1024
#define EDGE_HEADERS 64 /* headers of the scheme that wait to be sent to one peer */
#define EDGE_IP 20
#define EDGE_UDP 8
#define EDGE_SHIM 48
#define EDGE_ROOM (EDGE_IP + EDGE_UDP + EDGE_SHIM)

enum edge_kind { EDGE_DATA = 0, EDGE_PROBE = 1, EDGE_REPLY = 2 };

/* Flags of a shim: the receiver keeps the mark of this packet from the transport. */
#define EDGE_HIDE 1

/* In a slot: this packet is of the burst. */
#define EDGE_BURST 0x8000u

/* The shim between the outer UDP header and the inner IPv4 header; numbers in network order on the wire.
 *
 *  0 magic | 2 version | 3 kind (low half), flags (high half) | 4 way | 6 instance | 8 stamp
 * 12 echo_way | 14 header_seq | 16 echo_packets | 20 echo_stamp | 24 echo_arrived | 28 burst | 30 spare
 * 32 header (16 bytes)
 *
 * Stamps count 256 ns: they wrap after 18 minutes. */
struct edge_shim {
    __u16 magic;
    __u8 version;
    __u8 kind;  /* low half of its byte */
    __u8 flags; /* high half */
    __u8 spare;
    __u16 way;      /* path, as the sender numbers it */
    __u16 instance; /* which life of the sending agent */
    __u16 echo_way; /* a path of the receiver, EDGE_WAYS if none ... */
    __u16 header_seq;   /* number of the scheme's header, 0: there is none */
    __u16 pad;
    __u32 stamp;        /* when this packet was sent, by the sender's clock */
    __u32 echo_packets; /* ... packets that have come by it ... */
    __u32 echo_stamp;   /* ... when the newest of them was sent, by the receiver's clock ... */
    __u32 echo_arrived; /* ... and when it came, by the sender's */
    __u16 burst;        /* packets with one number measure a path together, 0: none */
    __u16 spare2;
    __u8 header[16];    /* the scheme's own, or of a probe: number (4 bytes), mark (1), its port (2) */
};

enum edge_unit { EDGE_PACKET = 0, EDGE_CELL = 1, EDGE_FLOWLET = 2 };
enum edge_then { EDGE_TURN = 0, EDGE_AFTER = 1, EDGE_KEEP = 2 };

/* What the slow half publishes for one peer. */
struct edge_table {
    __u64 gap_ns;       /* a longer idle time opens a flowlet */
    __u64 open;         /* ways that are alive */
    __u64 keep;         /* ways on which a flow stays though a flowlet opens */
    __u32 cell_packets; /* a full flowcell */
    __u32 base;         /* cursor at publication */
    __u8 unit;
    __u8 then;
    __u8 picks_acks; /* are packets without payload units like others? */
    __u8 tunnel;     /* 0: traffic is left plain */
    __u8 hide;       /* the peer hides marks of this traffic */
    __u8 hide_here;  /* marks of traffic from this peer are hidden here */
    __u16 ways;
    __u16 burst; /* number of the burst that the slots with EDGE_BURST are of */
    __u16 spare[3];
    __u16 slots[EDGE_SLOTS]; /* ways of the next units */
    __u16 after[EDGE_WAYS];  /* way after a way, for flows that go round */
    __u16 fabric[EDGE_WAYS]; /* ways for what the scheme leaves to the fabric, by hash */
    __u16 ports[EDGE_WAYS];  /* source port of each way */
};

/* What the data path remembers of a flow and direction. */
struct edge_flow {
    __u64 last;
    __u32 sent; /* packets of this unit */
    __u16 way;
    __u16 seen;
};

struct edge_sent {
    __u64 packets;
    __u64 bytes;
};

struct edge_received {
    __u64 packets;
    __u64 bytes;
    __u64 marked;
    __u32 stamp;   /* when the newest was sent */
    __u32 arrived; /* when it came */
    __u16 port;
    __u16 instance;
    __u32 answered; /* probes */
};

/* What came back of own packets. */
struct edge_echo {
    __u64 rtt;     /* sum over samples, 256 ns */
    __s64 apart;   /* sum of (arrival - departure - origin), by two clocks */
    __u32 samples;
    __u32 packets; /* as last told by the peer */
    __u32 last;    /* stamp of the last sample */
    __u32 origin;  /* another origin: another sum */
    __u16 instance;
    __u16 spare[3];
};

/* The newest burst that has come. */
struct edge_burst {
    __u64 first; /* ns */
    __u64 last;
    __u32 bytes; /* of all packets but the first */
    __u16 id;
    __u16 packets;
    __u16 way;
    __u16 port;
    __u16 instance; /* which life of the agent has numbered it */
    __u16 spare;
};

/* What the data path counts for one peer. */
struct edge_state {
    __u32 cursor; /* units opened */
    __u32 packets; /* packets of units */
    __u32 tail;   /* headers of the scheme sent */
    __u32 echo_next;
    __u32 received_ways; /* one more than the highest way that has come */
    __u16 last_header;   /* number of the last header that has come ... */
    __u16 instance;      /* ... from this life of the sending agent */
    struct edge_burst burst;
    struct edge_sent sent[EDGE_WAYS];
    struct edge_received received[EDGE_WAYS];
    struct edge_echo echo[EDGE_WAYS];
};

/* Headers of the scheme to one peer, written by the agent. */
struct edge_headers {
    __u32 head;
    __u32 spare;
    __u8 header[EDGE_HEADERS][16];
};

struct edge_config {
    __u64 beat;     /* when the agent was last alive, ns */
    __u64 lease_ns; /* for how long its tables hold */
    __u32 address;  /* own, as on the wire */
    __u16 port;     /* of the tunnel, as on the wire */
    __u16 instance;
    __u32 mtu;
    __u32 spare;
};

/* What became of packets. */
enum edge_counter {
    EDGE_SENT_PLAIN = 0,
    EDGE_SENT_TUNNELLED,
    EDGE_RECEIVED,
    EDGE_TOO_BIG,
    EDGE_LEASE_OVER,
    EDGE_NO_ROOM,
    EDGE_PROBES_ANSWERED,
    EDGE_SHORT,
    EDGE_FOREIGN,
    EDGE_OTHER_VERSION,
    EDGE_MALFORMED,
    EDGE_STRANGER,
    EDGE_EVENTS_LOST,
    EDGE_COUNTERS
};

/* What the data path tells the agent at once. */
struct edge_event {
    __u64 at;
    __u32 peer;
    __u32 probe;    /* number of an answered probe */
    __u32 rtt;      /* of it, 256 ns */
    __u32 apart;    /* arrival there - departure here, by two clocks */
    __u16 way;
    __u16 port;
    __u16 header_seq;
    __u8 kind; /* EDGE_DATA: a header of the scheme; EDGE_REPLY */
    __u8 marked;
    __u8 header[16];
};

#endif
