// SPDX-License-Identifier: GPL-2.0
/* vm: nodes=0 */
/*
 * The ABI in <linux/rds.h>, byte for byte. The figures were measured with
 * the header of Linux 6.12 on x86-64; a difference does not compile.
 */
#include <assert.h>
#include <stdalign.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <netinet/in.h>
#include <linux/rds.h>

static int nr;

#define VALUE(name, want)	static_assert((name) == (want), #name)

#define SIZE(type, want)	static_assert(sizeof(type) == (want), #type)

/*
 * Fields follow each other without gaps, so the offsets of all and the size of
 * the whole give their sizes; LENGTH() is for those that have padding behind.
 */
#define FIELD(type, field, off)						\
	static_assert(offsetof(type, field) == (off), #type "." #field)

#define LENGTH(what, want)	static_assert(sizeof(what) == (want), #what)

static void passed(const char *name)
{
	printf("ok %d %s\n", ++nr, name);
}

static void test_levels_and_options(void)
{
	VALUE(AF_RDS, 21);
	VALUE(PF_RDS, 21);
	VALUE(SOL_RDS, 276);
	VALUE(RDS_IB_ABI_VERSION, 0x301);
	VALUE(SIOCRDSSETTOS, 0x89E0);
	VALUE(SIOCRDSGETTOS, 0x89E1);
	SIZE(rds_tos_t, 1);
	VALUE(RDS_CANCEL_SENT_TO, 1);
	VALUE(RDS_GET_MR, 2);
	VALUE(RDS_FREE_MR, 3);
	VALUE(RDS_RECVERR, 5);
	VALUE(RDS_CONG_MONITOR, 6);
	VALUE(RDS_GET_MR_FOR_DEST, 7);
	VALUE(SO_RDS_TRANSPORT, 8);
	VALUE(SO_RDS_MSG_RXPATH_LATENCY, 10);
	VALUE(RDS_TRANS_IB, 0);
	VALUE(RDS_TRANS_GAP, 1);
	VALUE(RDS_TRANS_IWARP, 1);
	VALUE(RDS_TRANS_TCP, 2);
	VALUE(RDS_TRANS_COUNT, 3);
	VALUE(RDS_TRANS_NONE, -1);
	passed("levels, ioctls and socket options");
}

static void test_cmsg_types(void)
{
	VALUE(RDS_CMSG_RDMA_ARGS, 1);
	VALUE(RDS_CMSG_RDMA_DEST, 2);
	VALUE(RDS_CMSG_RDMA_MAP, 3);
	VALUE(RDS_CMSG_RDMA_STATUS, 4);
	VALUE(RDS_CMSG_CONG_UPDATE, 5);
	VALUE(RDS_CMSG_ATOMIC_FADD, 6);
	VALUE(RDS_CMSG_ATOMIC_CSWP, 7);
	VALUE(RDS_CMSG_MASKED_ATOMIC_FADD, 8);
	VALUE(RDS_CMSG_MASKED_ATOMIC_CSWP, 9);
	VALUE(RDS_CMSG_RXPATH_LATENCY, 11);
	VALUE(RDS_CMSG_ZCOPY_COOKIE, 12);
	VALUE(RDS_CMSG_ZCOPY_COMPLETION, 13);
	passed("control message types");
}

static void test_flags(void)
{
	VALUE(RDS_RDMA_READWRITE, 0x0001);
	VALUE(RDS_RDMA_FENCE, 0x0002);
	VALUE(RDS_RDMA_INVALIDATE, 0x0004);
	VALUE(RDS_RDMA_USE_ONCE, 0x0008);
	VALUE(RDS_RDMA_DONTWAIT, 0x0010);
	VALUE(RDS_RDMA_NOTIFY_ME, 0x0020);
	VALUE(RDS_RDMA_SILENT, 0x0040);
	VALUE(RDS_RDMA_SUCCESS, 0);
	VALUE(RDS_RDMA_REMOTE_ERROR, 1);
	VALUE(RDS_RDMA_CANCELED, 2);
	VALUE(RDS_RDMA_DROPPED, 3);
	VALUE(RDS_RDMA_OTHER_ERROR, 4);
	VALUE(RDS_INFO_CONNECTION_FLAG_SENDING, 0x01);
	VALUE(RDS_INFO_CONNECTION_FLAG_CONNECTING, 0x02);
	VALUE(RDS_INFO_CONNECTION_FLAG_CONNECTED, 0x04);
	VALUE(RDS_INFO_MESSAGE_FLAG_ACK, 0x01);
	VALUE(RDS_INFO_MESSAGE_FLAG_FAST_ACK, 0x02);
	passed("flags and status values");
}

static void test_info_options(void)
{
	VALUE(RDS_INFO_FIRST, 10000);
	VALUE(RDS_INFO_COUNTERS, 10000);
	VALUE(RDS_INFO_CONNECTIONS, 10001);
	VALUE(RDS_INFO_SEND_MESSAGES, 10003);
	VALUE(RDS_INFO_RETRANS_MESSAGES, 10004);
	VALUE(RDS_INFO_RECV_MESSAGES, 10005);
	VALUE(RDS_INFO_SOCKETS, 10006);
	VALUE(RDS_INFO_TCP_SOCKETS, 10007);
	VALUE(RDS_INFO_IB_CONNECTIONS, 10008);
	VALUE(RDS_INFO_CONNECTION_STATS, 10009);
	VALUE(RDS_INFO_IWARP_CONNECTIONS, 10010);
	VALUE(RDS6_INFO_CONNECTIONS, 10011);
	VALUE(RDS6_INFO_SEND_MESSAGES, 10012);
	VALUE(RDS6_INFO_RETRANS_MESSAGES, 10013);
	VALUE(RDS6_INFO_RECV_MESSAGES, 10014);
	VALUE(RDS6_INFO_SOCKETS, 10015);
	VALUE(RDS6_INFO_TCP_SOCKETS, 10016);
	VALUE(RDS6_INFO_IB_CONNECTIONS, 10017);
	VALUE(RDS_INFO_LAST, 10017);
	passed("info options");
}

static void test_limits(void)
{
	VALUE(TRANSNAMSIZ, 16);
	VALUE(RDS_IB_GID_LEN, 16);
	VALUE(RDS_CONG_MONITOR_SIZE, 64);
	VALUE(RDS_CONG_MONITOR_BIT(63), 63);
	VALUE(RDS_CONG_MONITOR_BIT(65535), 63);
	VALUE(RDS_CONG_MONITOR_BIT(4000), 32);
	VALUE(RDS_CONG_MONITOR_MASK(4000), 1ULL << 32);
	VALUE(RDS_MAX_ZCOOKIES, 8);
	VALUE(RDS_MSG_RX_HDR_TO_DGRAM_START, 0);
	VALUE(RDS_MSG_RX_DGRAM_REASSEMBLE, 1);
	VALUE(RDS_MSG_RX_DGRAM_DELIVERED, 2);
	VALUE(RDS_MSG_RX_DGRAM_TRACE_MAX, 3);
	passed("limits");
}

static void test_counter(void)
{
	SIZE(struct rds_info_counter, 40);
	FIELD(struct rds_info_counter, name, 0);
	FIELD(struct rds_info_counter, value, 32);
	passed("rds_info_counter");
}

static void test_connection(void)
{
	SIZE(struct rds_info_connection, 42);
	FIELD(struct rds_info_connection, next_tx_seq, 0);
	FIELD(struct rds_info_connection, next_rx_seq, 8);
	FIELD(struct rds_info_connection, laddr, 16);
	FIELD(struct rds_info_connection, faddr, 20);
	FIELD(struct rds_info_connection, transport, 24);
	FIELD(struct rds_info_connection, flags, 40);
	FIELD(struct rds_info_connection, tos, 41);

	SIZE(struct rds6_info_connection, 65);
	FIELD(struct rds6_info_connection, next_tx_seq, 0);
	FIELD(struct rds6_info_connection, next_rx_seq, 8);
	FIELD(struct rds6_info_connection, laddr, 16);
	FIELD(struct rds6_info_connection, faddr, 32);
	FIELD(struct rds6_info_connection, transport, 48);
	FIELD(struct rds6_info_connection, flags, 64);
	passed("rds_info_connection, rds6_info_connection");
}

/* Only in this header, so there is no figure of the reference. */
static void test_path(void)
{
#ifdef RDS_INFO_PATHS
	VALUE(RDS_INFO_PATHS, 10100);
	SIZE(struct rds_info_path, 112);
	FIELD(struct rds_info_path, laddr, 0);
	FIELD(struct rds_info_path, faddr, 16);
	FIELD(struct rds_info_path, transport, 32);
	FIELD(struct rds_info_path, state, 48);
	FIELD(struct rds_info_path, next_tx_seq, 64);
	FIELD(struct rds_info_path, next_rx_seq, 72);
	FIELD(struct rds_info_path, nr_queued, 80);
	FIELD(struct rds_info_path, nr_sent, 84);
	FIELD(struct rds_info_path, epoch, 88);
	FIELD(struct rds_info_path, backoff_ms, 92);
	FIELD(struct rds_info_path, scope, 96);
	FIELD(struct rds_info_path, index, 100);
	FIELD(struct rds_info_path, npaths, 101);
	FIELD(struct rds_info_path, flags, 102);
	FIELD(struct rds_info_path, tos, 103);
	FIELD(struct rds_info_path, ended_why, 104);
	FIELD(struct rds_info_path, ended_s, 108);
#endif
	passed("rds_info_path");
}

static void test_message(void)
{
	SIZE(struct rds_info_message, 26);
	FIELD(struct rds_info_message, seq, 0);
	FIELD(struct rds_info_message, len, 8);
	FIELD(struct rds_info_message, laddr, 12);
	FIELD(struct rds_info_message, faddr, 16);
	FIELD(struct rds_info_message, lport, 20);
	FIELD(struct rds_info_message, fport, 22);
	FIELD(struct rds_info_message, flags, 24);
	FIELD(struct rds_info_message, tos, 25);

	SIZE(struct rds6_info_message, 50);
	FIELD(struct rds6_info_message, seq, 0);
	FIELD(struct rds6_info_message, len, 8);
	FIELD(struct rds6_info_message, laddr, 12);
	FIELD(struct rds6_info_message, faddr, 28);
	FIELD(struct rds6_info_message, lport, 44);
	FIELD(struct rds6_info_message, fport, 46);
	FIELD(struct rds6_info_message, flags, 48);
	FIELD(struct rds6_info_message, tos, 49);
	passed("rds_info_message, rds6_info_message");
}

static void test_socket(void)
{
	SIZE(struct rds_info_socket, 28);
	FIELD(struct rds_info_socket, sndbuf, 0);
	FIELD(struct rds_info_socket, bound_addr, 4);
	FIELD(struct rds_info_socket, connected_addr, 8);
	FIELD(struct rds_info_socket, bound_port, 12);
	FIELD(struct rds_info_socket, connected_port, 14);
	FIELD(struct rds_info_socket, rcvbuf, 16);
	FIELD(struct rds_info_socket, inum, 20);

	SIZE(struct rds6_info_socket, 52);
	FIELD(struct rds6_info_socket, sndbuf, 0);
	FIELD(struct rds6_info_socket, bound_addr, 4);
	FIELD(struct rds6_info_socket, connected_addr, 20);
	FIELD(struct rds6_info_socket, bound_port, 36);
	FIELD(struct rds6_info_socket, connected_port, 38);
	FIELD(struct rds6_info_socket, rcvbuf, 40);
	FIELD(struct rds6_info_socket, inum, 44);
	passed("rds_info_socket, rds6_info_socket");
}

static void test_tcp_socket(void)
{
	SIZE(struct rds_info_tcp_socket, 41);
	FIELD(struct rds_info_tcp_socket, local_addr, 0);
	FIELD(struct rds_info_tcp_socket, local_port, 4);
	FIELD(struct rds_info_tcp_socket, peer_addr, 6);
	FIELD(struct rds_info_tcp_socket, peer_port, 10);
	FIELD(struct rds_info_tcp_socket, hdr_rem, 12);
	FIELD(struct rds_info_tcp_socket, data_rem, 20);
	FIELD(struct rds_info_tcp_socket, last_sent_nxt, 28);
	FIELD(struct rds_info_tcp_socket, last_expected_una, 32);
	FIELD(struct rds_info_tcp_socket, last_seen_una, 36);
	FIELD(struct rds_info_tcp_socket, tos, 40);

	SIZE(struct rds6_info_tcp_socket, 64);
	FIELD(struct rds6_info_tcp_socket, local_addr, 0);
	FIELD(struct rds6_info_tcp_socket, local_port, 16);
	FIELD(struct rds6_info_tcp_socket, peer_addr, 18);
	FIELD(struct rds6_info_tcp_socket, peer_port, 34);
	FIELD(struct rds6_info_tcp_socket, hdr_rem, 36);
	FIELD(struct rds6_info_tcp_socket, data_rem, 44);
	FIELD(struct rds6_info_tcp_socket, last_sent_nxt, 52);
	FIELD(struct rds6_info_tcp_socket, last_expected_una, 56);
	FIELD(struct rds6_info_tcp_socket, last_seen_una, 60);
	passed("rds_info_tcp_socket, rds6_info_tcp_socket");
}

static void test_rdma_connection(void)
{
	SIZE(struct rds_info_rdma_connection, 68);
	FIELD(struct rds_info_rdma_connection, src_addr, 0);
	FIELD(struct rds_info_rdma_connection, dst_addr, 4);
	FIELD(struct rds_info_rdma_connection, src_gid, 8);
	FIELD(struct rds_info_rdma_connection, dst_gid, 24);
	FIELD(struct rds_info_rdma_connection, max_send_wr, 40);
	FIELD(struct rds_info_rdma_connection, max_recv_wr, 44);
	FIELD(struct rds_info_rdma_connection, max_send_sge, 48);
	FIELD(struct rds_info_rdma_connection, rdma_mr_max, 52);
	FIELD(struct rds_info_rdma_connection, rdma_mr_size, 56);
	FIELD(struct rds_info_rdma_connection, tos, 60);
	FIELD(struct rds_info_rdma_connection, sl, 61);
	LENGTH(((struct rds_info_rdma_connection *)0)->sl, 1);
	FIELD(struct rds_info_rdma_connection, cache_allocs, 64);
	VALUE(alignof(struct rds_info_rdma_connection), 4);

	SIZE(struct rds6_info_rdma_connection, 92);
	FIELD(struct rds6_info_rdma_connection, src_addr, 0);
	FIELD(struct rds6_info_rdma_connection, dst_addr, 16);
	FIELD(struct rds6_info_rdma_connection, src_gid, 32);
	FIELD(struct rds6_info_rdma_connection, dst_gid, 48);
	FIELD(struct rds6_info_rdma_connection, max_send_wr, 64);
	FIELD(struct rds6_info_rdma_connection, max_recv_wr, 68);
	FIELD(struct rds6_info_rdma_connection, max_send_sge, 72);
	FIELD(struct rds6_info_rdma_connection, rdma_mr_max, 76);
	FIELD(struct rds6_info_rdma_connection, rdma_mr_size, 80);
	FIELD(struct rds6_info_rdma_connection, tos, 84);
	FIELD(struct rds6_info_rdma_connection, sl, 85);
	LENGTH(((struct rds6_info_rdma_connection *)0)->sl, 1);
	FIELD(struct rds6_info_rdma_connection, cache_allocs, 88);
	VALUE(alignof(struct rds6_info_rdma_connection), 4);
	passed("rds_info_rdma_connection, rds6_info_rdma_connection");
}

static void test_mr_args(void)
{
	SIZE(rds_rdma_cookie_t, 8);
	SIZE(struct rds_iovec, 16);
	FIELD(struct rds_iovec, addr, 0);
	FIELD(struct rds_iovec, bytes, 8);

	SIZE(struct rds_get_mr_args, 32);
	FIELD(struct rds_get_mr_args, vec, 0);
	FIELD(struct rds_get_mr_args, cookie_addr, 16);
	FIELD(struct rds_get_mr_args, flags, 24);

	SIZE(struct rds_get_mr_for_dest_args, 160);
	FIELD(struct rds_get_mr_for_dest_args, dest_addr, 0);
	FIELD(struct rds_get_mr_for_dest_args, vec, 128);
	FIELD(struct rds_get_mr_for_dest_args, cookie_addr, 144);
	FIELD(struct rds_get_mr_for_dest_args, flags, 152);

	SIZE(struct rds_free_mr_args, 16);
	FIELD(struct rds_free_mr_args, cookie, 0);
	FIELD(struct rds_free_mr_args, flags, 8);
	passed("memory region arguments");
}

static void test_rdma_args(void)
{
	SIZE(struct rds_rdma_args, 56);
	FIELD(struct rds_rdma_args, cookie, 0);
	FIELD(struct rds_rdma_args, remote_vec, 8);
	FIELD(struct rds_rdma_args, local_vec_addr, 24);
	FIELD(struct rds_rdma_args, nr_local, 32);
	FIELD(struct rds_rdma_args, flags, 40);
	FIELD(struct rds_rdma_args, user_token, 48);

	SIZE(struct rds_atomic_args, 72);
	FIELD(struct rds_atomic_args, cookie, 0);
	FIELD(struct rds_atomic_args, local_addr, 8);
	FIELD(struct rds_atomic_args, remote_addr, 16);
	FIELD(struct rds_atomic_args, cswp.compare, 24);
	LENGTH(((struct rds_atomic_args *)0)->cswp.compare, 8);
	FIELD(struct rds_atomic_args, cswp.swap, 32);
	LENGTH(((struct rds_atomic_args *)0)->cswp.swap, 8);
	FIELD(struct rds_atomic_args, fadd.add, 24);
	LENGTH(((struct rds_atomic_args *)0)->fadd.add, 8);
	FIELD(struct rds_atomic_args, m_cswp.compare, 24);
	LENGTH(((struct rds_atomic_args *)0)->m_cswp.compare, 8);
	FIELD(struct rds_atomic_args, m_cswp.swap, 32);
	LENGTH(((struct rds_atomic_args *)0)->m_cswp.swap, 8);
	FIELD(struct rds_atomic_args, m_cswp.compare_mask, 40);
	LENGTH(((struct rds_atomic_args *)0)->m_cswp.compare_mask, 8);
	FIELD(struct rds_atomic_args, m_cswp.swap_mask, 48);
	LENGTH(((struct rds_atomic_args *)0)->m_cswp.swap_mask, 8);
	FIELD(struct rds_atomic_args, m_fadd.add, 24);
	LENGTH(((struct rds_atomic_args *)0)->m_fadd.add, 8);
	FIELD(struct rds_atomic_args, m_fadd.nocarry_mask, 32);
	LENGTH(((struct rds_atomic_args *)0)->m_fadd.nocarry_mask, 8);
	FIELD(struct rds_atomic_args, flags, 56);
	FIELD(struct rds_atomic_args, user_token, 64);
	passed("RDMA and atomic arguments");
}

static void test_cmsg_payloads(void)
{
	SIZE(struct rds_rdma_notify, 16);
	FIELD(struct rds_rdma_notify, user_token, 0);
	FIELD(struct rds_rdma_notify, status, 8);
	LENGTH(((struct rds_rdma_notify *)0)->status, 4);

	SIZE(struct rds_zcopy_cookies, 36);
	FIELD(struct rds_zcopy_cookies, num, 0);
	FIELD(struct rds_zcopy_cookies, cookies, 4);

	SIZE(struct rds_rx_trace_so, 4);
	FIELD(struct rds_rx_trace_so, rx_traces, 0);
	FIELD(struct rds_rx_trace_so, rx_trace_pos, 1);

	SIZE(struct rds_cmsg_rx_trace, 32);
	FIELD(struct rds_cmsg_rx_trace, rx_traces, 0);
	FIELD(struct rds_cmsg_rx_trace, rx_trace_pos, 1);
	LENGTH(((struct rds_cmsg_rx_trace *)0)->rx_trace_pos, 3);
	FIELD(struct rds_cmsg_rx_trace, rx_trace, 8);
	passed("received control message payloads");
}

static void test_cmsg_space(void)
{
	VALUE(CMSG_LEN(sizeof(struct rds_rdma_notify)), 32);
	VALUE(CMSG_SPACE(sizeof(struct rds_rdma_notify)), 32);
	VALUE(CMSG_LEN(sizeof(rds_rdma_cookie_t)), 24);
	VALUE(CMSG_SPACE(sizeof(rds_rdma_cookie_t)), 24);
	VALUE(CMSG_LEN(sizeof(struct rds_zcopy_cookies)), 52);
	VALUE(CMSG_SPACE(sizeof(struct rds_zcopy_cookies)), 56);
	VALUE(CMSG_LEN(sizeof(struct rds_cmsg_rx_trace)), 48);
	VALUE(CMSG_SPACE(sizeof(struct rds_cmsg_rx_trace)), 48);
	VALUE(CMSG_LEN(sizeof(struct rds_rdma_args)), 72);
	VALUE(CMSG_SPACE(sizeof(struct rds_rdma_args)), 72);
	VALUE(CMSG_LEN(sizeof(struct rds_atomic_args)), 88);
	VALUE(CMSG_SPACE(sizeof(struct rds_atomic_args)), 88);
	VALUE(CMSG_LEN(sizeof(struct rds_get_mr_args)), 48);
	VALUE(CMSG_SPACE(sizeof(struct rds_get_mr_args)), 48);
	passed("control message lengths");
}

int main(void)
{
	printf("TAP version 13\n1..16\n");
	test_levels_and_options();
	test_cmsg_types();
	test_flags();
	test_info_options();
	test_limits();
	test_counter();
	test_connection();
	test_path();
	test_message();
	test_socket();
	test_tcp_socket();
	test_rdma_connection();
	test_mr_args();
	test_rdma_args();
	test_cmsg_payloads();
	test_cmsg_space();
	return 0;
}
