// SPDX-License-Identifier: Apache-2.0
// The shim as bytes: written, and read by one who believes nothing.
//
// src/shim.rs has the same in Rust; a test compares the two on a million packets (tests/it/codec.rs).
#ifndef SPINEWISE_SHIM_H
#define SPINEWISE_SHIM_H

#include "edge.h"

static inline __attribute__((always_inline)) __u16 edge_get16(const __u8 *p) { return (__u16)(p[0] << 8 | p[1]); }

static inline __attribute__((always_inline)) __u32 edge_get32(const __u8 *p)
{
    return (__u32)p[0] << 24 | (__u32)p[1] << 16 | (__u32)p[2] << 8 | p[3];
}

static inline __attribute__((always_inline)) void edge_put16(__u8 *p, __u16 v)
{
    p[0] = v >> 8;
    p[1] = v & 255;
}

static inline __attribute__((always_inline)) void edge_put32(__u8 *p, __u32 v)
{
    edge_put16(p, v >> 16);
    edge_put16(p + 2, v & 0xffff);
}

static inline __attribute__((always_inline)) void edge_write_shim(__u8 *p, const struct edge_shim *s)
{
    edge_put16(p, EDGE_MAGIC);
    p[2] = EDGE_VERSION;
    p[3] = (__u8)(s->flags << 4 | (s->kind & 15));
    edge_put16(p + 4, s->way);
    edge_put16(p + 6, s->instance);
    edge_put32(p + 8, s->stamp);
    edge_put16(p + 12, s->echo_way);
    edge_put16(p + 14, s->header_seq);
    edge_put32(p + 16, s->echo_packets);
    edge_put32(p + 20, s->echo_stamp);
    edge_put32(p + 24, s->echo_arrived);
    edge_put16(p + 28, s->burst);
    edge_put16(p + 30, 0);
    for (int i = 0; i < 16; i++)
        p[32 + i] = s->header[i];
}

/* The outer IPv4 and UDP headers of `length` bytes in all, ports and addresses as numbers. No UDP checksum: the inner
 * packet has its own (RFC 768). */
static inline __attribute__((always_inline)) void edge_write_outer(__u8 *p, __u16 length, __u8 tos, __u8 ttl, __u16 id,
                                                                   const __u8 *src, const __u8 *dst, __u16 from,
                                                                   __u16 to)
{
    __u32 sum = 0;

    p[0] = 0x45;
    p[1] = tos;
    edge_put16(p + 2, length);
    edge_put16(p + 4, id);
    edge_put16(p + 6, 0x4000);
    p[8] = ttl;
    p[9] = 17;
    edge_put16(p + 10, 0);
    for (int i = 0; i < 4; i++) {
        p[12 + i] = src[i];
        p[16 + i] = dst[i];
    }
    for (int i = 0; i < EDGE_IP; i += 2)
        sum += edge_get16(p + i);
    sum = (sum & 0xffff) + (sum >> 16);
    sum = (sum & 0xffff) + (sum >> 16);
    edge_put16(p + 10, (__u16)~sum);
    edge_put16(p + 20, from);
    edge_put16(p + 22, to);
    edge_put16(p + 24, length - EDGE_IP);
    edge_put16(p + 26, 0);
}

/* What bytes are. Below zero: one of ours that must be dropped, as the counter says. */
enum edge_what { EDGE_IS_DATA = 0, EDGE_IS_PROBE = 1, EDGE_IS_REPLY = 2, EDGE_NOT_OURS = 3 };

/* Reads a packet from its outer IPv4 header on: `had` bytes are at `p`, of `length` in all. The first EDGE_ROOM + EDGE_IP
 * are looked at, which a packet with data has at least. `port` is that of the tunnel. */
static inline __attribute__((always_inline)) int edge_read(const __u8 *p, __u32 had, __u32 length, __u16 port,
                                                           struct edge_shim *s)
{
    __u32 total, inner;

    if (had < EDGE_IP + EDGE_UDP || p[0] != 0x45 || p[9] != 17)
        return EDGE_NOT_OURS;
    /* Of fragments only the first has ports. */
    if (edge_get16(p + 6) & 0x1fff)
        return EDGE_NOT_OURS;
    if (edge_get16(p + 22) != port)
        return EDGE_NOT_OURS;
    if (edge_get16(p + 6) & 0x2000)
        return -EDGE_MALFORMED;
    total = edge_get16(p + 2);
    if (had < EDGE_ROOM || length < EDGE_ROOM || total < EDGE_ROOM)
        return -EDGE_SHORT;
    if (edge_get16(p + 28) != EDGE_MAGIC)
        return -EDGE_FOREIGN;
    if (p[30] != EDGE_VERSION)
        return -EDGE_OTHER_VERSION;
    if (total > length || (__u32)edge_get16(p + 24) + EDGE_IP != total)
        return -EDGE_MALFORMED;
    s->magic = EDGE_MAGIC;
    s->version = EDGE_VERSION;
    s->kind = p[31] & 15;
    s->flags = p[31] >> 4;
    s->spare = 0;
    s->pad = 0;
    s->way = edge_get16(p + 32);
    s->instance = edge_get16(p + 34);
    s->stamp = edge_get32(p + 36);
    s->echo_way = edge_get16(p + 40);
    s->header_seq = edge_get16(p + 42);
    s->echo_packets = edge_get32(p + 44);
    s->echo_stamp = edge_get32(p + 48);
    s->echo_arrived = edge_get32(p + 52);
    s->burst = edge_get16(p + 56);
    s->spare2 = 0;
    for (int i = 0; i < 16; i++)
        s->header[i] = p[60 + i];
    if (s->way >= EDGE_WAYS || s->echo_way > EDGE_WAYS || s->flags > EDGE_HIDE || s->kind > EDGE_REPLY)
        return -EDGE_MALFORMED;
    if (s->kind != EDGE_DATA)
        return s->kind;
    /* Inside is a packet between the same two hosts, whole, and nothing else: whatever it says, it goes nowhere else. */
    if (had < EDGE_ROOM + EDGE_IP || (p[76] >> 4) != 4 || (p[76] & 15) < 5)
        return -EDGE_MALFORMED;
    inner = edge_get16(p + 78);
    if (inner + EDGE_ROOM != total || inner < (__u32)(p[76] & 15) * 4)
        return -EDGE_MALFORMED;
    for (int i = 0; i < 8; i++)
        if (p[12 + i] != p[88 + i])
            return -EDGE_MALFORMED;
    return EDGE_IS_DATA;
}

#endif
