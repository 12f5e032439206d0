// SPDX-License-Identifier: Apache-2.0
// The choice of a way for a packet: the fast half of a scheme, as the kernel runs it.
//
// The slow half has asked the scheme's own `pick` what it would answer for the next units (slots), and published that.
// Here units are told apart, and each new one takes the next slot. A test holds this to `Policy::pick` on the same
// packets (tests/it/choice.rs). Integers only; nothing here fails.
#ifndef SPINEWISE_CHOOSE_H
#define SPINEWISE_CHOOSE_H

#include "edge.h"

static inline __attribute__((always_inline)) int edge_has(__u64 set, __u16 way) { return (set >> (way & 63)) & 1; }

/* Does a packet at `now` open a unit of its flow? */
static inline __attribute__((always_inline)) int edge_opens(const struct edge_table *t, const struct edge_flow *f,
                                                            __u64 now)
{
    if (!f->seen || !edge_has(t->open, f->way))
        return 1;
    if (t->unit == EDGE_CELL)
        return f->sent >= t->cell_packets;
    if (t->unit == EDGE_FLOWLET)
        return now > f->last && now - f->last > t->gap_ns;
    return 1;
}

/* The way of `packets` packets of one flow that leave together; `burst` is the number of the burst they are of, or 0. */
static inline __attribute__((always_inline)) __u16 edge_choose(const struct edge_table *t, struct edge_flow *f,
                                                               __u32 *cursor, __u64 now, __u32 packets,
                                                               __u16 *burst)
{
    __u16 way = f->way & (EDGE_WAYS - 1);

    *burst = 0;
    if (edge_opens(t, f, now)) {
        int alive = f->seen && edge_has(t->open, way);

        if (f->seen && t->then == EDGE_AFTER)
            way = t->after[way];
        else if (!(alive && t->then == EDGE_KEEP && edge_has(t->keep, way)))
            way = t->slots[(__sync_fetch_and_add(cursor, 1) - t->base) & (EDGE_SLOTS - 1)];
        *burst = way & EDGE_BURST ? t->burst : 0;
        f->sent = 0;
        f->way = way & (EDGE_WAYS - 1);
        f->seen = 1;
    }
    f->sent += packets;
    f->last = now;
    return f->way;
}

/* A number that spreads flows evenly, for what is left to the fabric (the finaliser of MurmurHash3). */
static inline __attribute__((always_inline)) __u32 edge_mix(__u32 a, __u32 b)
{
    __u32 h = a ^ (b * 0x9e3779b1u);

    h ^= h >> 16;
    h *= 0x85ebca6bu;
    h ^= h >> 13;
    h *= 0xc2b2ae35u;
    h ^= h >> 16;
    return h;
}

#endif
