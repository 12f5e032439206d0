// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0
// The marker of a lab's switch: CE on what leaves by a port whose queue is long, as the kernel's own queue says.
//
// It runs at tc egress, before the packet is queued, and reads the backlog of the device's root qdisc through a kernel
// function (bpf_cast_to_kern_ctx, Linux 6.2). The structs name only the fields that are read; the loader finds them by
// BTF.
#include <linux/types.h>
#include <linux/bpf.h>
#include <linux/pkt_cls.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct gnet_stats_queue {
    __u32 backlog;
};
struct Qdisc {
    struct gnet_stats_queue qstats;
};
struct net_device {
    struct Qdisc *qdisc;
};
struct sk_buff {
    struct net_device *dev;
};
#pragma clang attribute pop

extern void *bpf_cast_to_kern_ctx(void *obj) __ksym;

struct mark_state {
    __u64 seen;
    __u64 marked;
    __u32 above; /* bytes */
    __u32 most;  /* longest backlog seen */
};

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, struct mark_state);
} mark_state SEC(".maps");

SEC("tc")
int edge_mark(struct __sk_buff *ctx)
{
    struct sk_buff *skb = bpf_cast_to_kern_ctx(ctx);
    __u32 zero = 0, segments = ctx->gso_segs > 1 ? ctx->gso_segs : 1;
    struct mark_state *state = bpf_map_lookup_elem(&mark_state, &zero);
    __u32 backlog;

    if (!state)
        return TC_ACT_UNSPEC;
    backlog = BPF_CORE_READ(skb, dev, qdisc, qstats.backlog);
    __sync_fetch_and_add(&state->seen, segments);
    if (backlog > state->most)
        state->most = backlog;
    if (backlog >= state->above && bpf_skb_ecn_set_ce(ctx))
        __sync_fetch_and_add(&state->marked, segments);
    return TC_ACT_UNSPEC;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
