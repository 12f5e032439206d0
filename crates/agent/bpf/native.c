// SPDX-License-Identifier: Apache-2.0
// choose.h and shim.h as ordinary functions, for tests that need no kernel.
typedef unsigned char __u8;
typedef unsigned short __u16;
typedef unsigned int __u32;
typedef int __s32;
typedef unsigned long long __u64;
typedef long long __s64;

#include "edge.h"
#include "choose.h"
#include "shim.h"

__u16 spinewise_edge_choose(const struct edge_table *table, struct edge_flow *flow, __u32 *cursor, __u64 now,
                            __u32 packets, __u16 *burst)
{
    return edge_choose(table, flow, cursor, now, packets, burst);
}

int spinewise_edge_read(const __u8 *bytes, __u32 had, __u32 length, __u16 port, struct edge_shim *shim)
{
    return edge_read(bytes, had, length, port, shim);
}

void spinewise_edge_write(__u8 *bytes, __u16 length, __u8 tos, __u8 ttl, __u16 id, const __u8 *src, const __u8 *dst,
                          __u16 from, __u16 to, const struct edge_shim *shim)
{
    edge_write_outer(bytes, length, tos, ttl, id, src, dst, from, to);
    edge_write_shim(bytes + EDGE_IP + EDGE_UDP, shim);
}

/* Sizes of the structs that Rust mirrors. */
__u32 spinewise_edge_size(__u32 which)
{
    switch (which) {
    case 0: return sizeof(struct edge_shim);
    case 1: return sizeof(struct edge_table);
    case 2: return sizeof(struct edge_flow);
    case 3: return sizeof(struct edge_state);
    case 4: return sizeof(struct edge_headers);
    case 5: return sizeof(struct edge_config);
    case 6: return sizeof(struct edge_event);
    default: return 0;
    }
}
