/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * User-space ABI of AF_RDS: reliable, ordered datagrams to many peers
 * over one socket.
 *
 * Constants, argument structures and info records keep the names and the
 * layout that programs have been compiled against since Linux 2.6.30.
 * Unless typed __be16/__be32 or in6_addr, every field is in host order.
 */
#ifndef _LINUX_RDS_H
#define _LINUX_RDS_H

#include <linux/types.h>
#include <linux/socket.h>		/* struct __kernel_sockaddr_storage */
#include <linux/sockios.h>		/* SIOCPROTOPRIVATE */
#include <linux/in6.h>			/* struct in6_addr */

#define RDS_IB_ABI_VERSION		0x301

#define SOL_RDS				276

/* Socket options, level SOL_RDS. 4 was RDS_BARRIER, 9 was never used. */
#define RDS_CANCEL_SENT_TO		1
#define RDS_GET_MR			2
#define RDS_FREE_MR			3
#define RDS_RECVERR			5
#define RDS_CONG_MONITOR		6
#define RDS_GET_MR_FOR_DEST		7
#define SO_RDS_TRANSPORT		8
#define SO_RDS_MSG_RXPATH_LATENCY	10

/* Values of SO_RDS_TRANSPORT */
#define RDS_TRANS_IB			0
#define RDS_TRANS_GAP			1
#define RDS_TRANS_IWARP			RDS_TRANS_GAP	/* deprecated name */
#define RDS_TRANS_TCP			2
#define RDS_TRANS_COUNT			3
#define RDS_TRANS_NONE			(~0)

/* Type-of-service ioctls; the argument points to a rds_tos_t. */
#define SIOCRDSSETTOS			(SIOCPROTOPRIVATE)
#define SIOCRDSGETTOS			(SIOCPROTOPRIVATE + 1)

typedef __u8	rds_tos_t;

/*
 * Control messages, level SOL_RDS. On send: RDMA_ARGS, RDMA_DEST, RDMA_MAP,
 * the atomics and ZCOPY_COOKIE. On receive: RDMA_DEST, RDMA_STATUS,
 * CONG_UPDATE, RXPATH_LATENCY and ZCOPY_COMPLETION.
 */
#define RDS_CMSG_RDMA_ARGS		1
#define RDS_CMSG_RDMA_DEST		2
#define RDS_CMSG_RDMA_MAP		3
#define RDS_CMSG_RDMA_STATUS		4
#define RDS_CMSG_CONG_UPDATE		5
#define RDS_CMSG_ATOMIC_FADD		6
#define RDS_CMSG_ATOMIC_CSWP		7
#define RDS_CMSG_MASKED_ATOMIC_FADD	8
#define RDS_CMSG_MASKED_ATOMIC_CSWP	9
#define RDS_CMSG_RXPATH_LATENCY		11
#define RDS_CMSG_ZCOPY_COOKIE		12
#define RDS_CMSG_ZCOPY_COMPLETION	13

/*
 * Info sources: getsockopt(fd, SOL_RDS, RDS_INFO_*, buf, &len).
 *
 * The call returns the size of one record (not 0), or a negative error;
 * len comes back as the size of the whole snapshot, also with ENOSPC.
 * Step through the buffer by the returned size: records may grow.
 *
 * The v4 sources list IPv4 objects only; the RDS6 ones list all objects,
 * with IPv4 addresses in their v4-mapped form. 10002 was RDS_INFO_FLOWS.
 */
#define RDS_INFO_FIRST			10000
#define RDS_INFO_COUNTERS		10000
#define RDS_INFO_CONNECTIONS		10001
#define RDS_INFO_SEND_MESSAGES		10003
#define RDS_INFO_RETRANS_MESSAGES	10004
#define RDS_INFO_RECV_MESSAGES		10005
#define RDS_INFO_SOCKETS		10006
#define RDS_INFO_TCP_SOCKETS		10007
#define RDS_INFO_IB_CONNECTIONS		10008
#define RDS_INFO_CONNECTION_STATS	10009
#define RDS_INFO_IWARP_CONNECTIONS	10010
#define RDS6_INFO_CONNECTIONS		10011
#define RDS6_INFO_SEND_MESSAGES		10012
#define RDS6_INFO_RETRANS_MESSAGES	10013
#define RDS6_INFO_RECV_MESSAGES		10014
#define RDS6_INFO_SOCKETS		10015
#define RDS6_INFO_TCP_SOCKETS		10016
#define RDS6_INFO_IB_CONNECTIONS	10017
#define RDS_INFO_LAST			10017
#define RDS_INFO_PATHS			10100	/* not in other implementations */

/**
 * struct rds_info_counter - record of RDS_INFO_COUNTERS
 * @name: ASCII name, NUL padded
 * @value: sum over all CPUs
 */
struct rds_info_counter {
	__u8	name[32];
	__u64	value;
} __attribute__((packed));

#define RDS_INFO_CONNECTION_FLAG_SENDING	0x01
#define RDS_INFO_CONNECTION_FLAG_CONNECTING	0x02
#define RDS_INFO_CONNECTION_FLAG_CONNECTED	0x04

#define TRANSNAMSIZ			16

/**
 * struct rds_info_connection - record of RDS_INFO_CONNECTIONS
 * @next_tx_seq: sequence number the next message queued will get
 * @next_rx_seq: sequence number expected next from the peer
 * @laddr: local address
 * @faddr: foreign address
 * @transport: name of the transport, NUL padded
 * @flags: RDS_INFO_CONNECTION_FLAG_*
 * @tos: type of service of the connection
 *
 * Sequence numbers and flags are those of path 0.
 */
struct rds_info_connection {
	__u64	next_tx_seq;
	__u64	next_rx_seq;
	__be32	laddr;
	__be32	faddr;
	__u8	transport[TRANSNAMSIZ];
	__u8	flags;
	__u8	tos;
} __attribute__((packed));

/**
 * struct rds6_info_connection - record of RDS6_INFO_CONNECTIONS
 * @next_tx_seq: sequence number the next message queued will get
 * @next_rx_seq: sequence number expected next from the peer
 * @laddr: local address
 * @faddr: foreign address
 * @transport: name of the transport, NUL padded
 * @flags: RDS_INFO_CONNECTION_FLAG_*
 */
struct rds6_info_connection {
	__u64		next_tx_seq;
	__u64		next_rx_seq;
	struct in6_addr	laddr;
	struct in6_addr	faddr;
	__u8		transport[TRANSNAMSIZ];
	__u8		flags;
} __attribute__((packed));

#define RDS_INFO_MESSAGE_FLAG_ACK	0x01
#define RDS_INFO_MESSAGE_FLAG_FAST_ACK	0x02

/**
 * struct rds_info_path - record of RDS_INFO_PATHS: every path of every connection
 * @laddr: local address, IPv4 in its v4-mapped form
 * @faddr: foreign address
 * @transport: name of the transport, NUL padded
 * @state: name of the state, NUL padded
 * @next_tx_seq: sequence number the next message queued will get
 * @next_rx_seq: sequence number expected next from the peer
 * @nr_queued: messages not sent yet
 * @nr_sent: messages sent and not acknowledged yet
 * @epoch: number of links made or tried so far
 * @backoff_ms: bound of the next reconnect delay, 0 = at once
 * @scope: interface of link-local addresses, else 0
 * @index: number of the path, from 0
 * @npaths: paths in use by the connection, 0 = not agreed on (yet): one path, always so on
 *	loopback and verbs
 * @flags: RDS_INFO_CONNECTION_FLAG_*
 * @tos: type of service of the connection
 * @ended_why: errno with which the last link ended, or could not be made; 0 = none has.
 *	ECONNRESET: by the peer, ECANCELED: by this host
 * @ended_s: seconds since then
 *
 * Records of earlier modules end before @ended_why.
 */
struct rds_info_path {
	struct in6_addr	laddr;
	struct in6_addr	faddr;
	__u8		transport[TRANSNAMSIZ];
	__u8		state[TRANSNAMSIZ];
	__u64		next_tx_seq;
	__u64		next_rx_seq;
	__u32		nr_queued;
	__u32		nr_sent;
	__u32		epoch;
	__u32		backoff_ms;
	__u32		scope;
	__u8		index;
	__u8		npaths;
	__u8		flags;
	__u8		tos;
	__u32		ended_why;
	__u32		ended_s;
} __attribute__((packed));

/**
 * struct rds_info_message - record of RDS_INFO_{SEND,RETRANS,RECV}_MESSAGES
 * @seq: sequence number on its path
 * @len: bytes of payload
 * @laddr: local address
 * @faddr: foreign address
 * @lport: local port
 * @fport: foreign port
 * @flags: always 0
 * @tos: type of service of the connection
 */
struct rds_info_message {
	__u64	seq;
	__u32	len;
	__be32	laddr;
	__be32	faddr;
	__be16	lport;
	__be16	fport;
	__u8	flags;
	__u8	tos;
} __attribute__((packed));

/**
 * struct rds6_info_message - record of RDS6_INFO_{SEND,RETRANS,RECV}_MESSAGES
 * @seq: sequence number on its path
 * @len: bytes of payload
 * @laddr: local address
 * @faddr: foreign address
 * @lport: local port
 * @fport: foreign port
 * @flags: always 0
 * @tos: type of service of the connection
 */
struct rds6_info_message {
	__u64		seq;
	__u32		len;
	struct in6_addr	laddr;
	struct in6_addr	faddr;
	__be16		lport;
	__be16		fport;
	__u8		flags;
	__u8		tos;
} __attribute__((packed));

/**
 * struct rds_info_socket - record of RDS_INFO_SOCKETS
 * @sndbuf: effective send buffer, as the application set it
 * @bound_addr: bound address
 * @connected_addr: default destination, 0 if none
 * @bound_port: bound port
 * @connected_port: port of the default destination
 * @rcvbuf: effective receive buffer, as the application set it
 * @inum: inode number of the socket
 */
struct rds_info_socket {
	__u32	sndbuf;
	__be32	bound_addr;
	__be32	connected_addr;
	__be16	bound_port;
	__be16	connected_port;
	__u32	rcvbuf;
	__u64	inum;
} __attribute__((packed));

/**
 * struct rds6_info_socket - record of RDS6_INFO_SOCKETS
 * @sndbuf: effective send buffer, as the application set it
 * @bound_addr: bound address
 * @connected_addr: default destination, :: if none
 * @bound_port: bound port
 * @connected_port: port of the default destination
 * @rcvbuf: effective receive buffer, as the application set it
 * @inum: inode number of the socket
 */
struct rds6_info_socket {
	__u32		sndbuf;
	struct in6_addr	bound_addr;
	struct in6_addr	connected_addr;
	__be16		bound_port;
	__be16		connected_port;
	__u32		rcvbuf;
	__u64		inum;
} __attribute__((packed));

/**
 * struct rds_info_tcp_socket - record of RDS_INFO_TCP_SOCKETS
 * @local_addr: local address of the TCP connection
 * @local_port: local TCP port
 * @peer_addr: remote address of the TCP connection
 * @peer_port: remote TCP port
 * @hdr_rem: header bytes missing of the frame being received
 * @data_rem: payload bytes missing of the frame being received
 * @last_sent_nxt: TCP write sequence when the newest message was started
 * @last_expected_una: TCP acknowledgment that will complete that message
 * @last_seen_una: TCP acknowledgment seen last
 * @tos: type of service, always 0
 */
struct rds_info_tcp_socket {
	__be32	local_addr;
	__be16	local_port;
	__be32	peer_addr;
	__be16	peer_port;
	__u64	hdr_rem;
	__u64	data_rem;
	__u32	last_sent_nxt;
	__u32	last_expected_una;
	__u32	last_seen_una;
	__u8	tos;
} __attribute__((packed));

/**
 * struct rds6_info_tcp_socket - record of RDS6_INFO_TCP_SOCKETS
 * @local_addr: local address of the TCP connection
 * @local_port: local TCP port
 * @peer_addr: remote address of the TCP connection
 * @peer_port: remote TCP port
 * @hdr_rem: header bytes missing of the frame being received
 * @data_rem: payload bytes missing of the frame being received
 * @last_sent_nxt: TCP write sequence when the newest message was started
 * @last_expected_una: TCP acknowledgment that will complete that message
 * @last_seen_una: TCP acknowledgment seen last
 */
struct rds6_info_tcp_socket {
	struct in6_addr	local_addr;
	__be16		local_port;
	struct in6_addr	peer_addr;
	__be16		peer_port;
	__u64		hdr_rem;
	__u64		data_rem;
	__u32		last_sent_nxt;
	__u32		last_expected_una;
	__u32		last_seen_una;
} __attribute__((packed));

#define RDS_IB_GID_LEN			16

/**
 * struct rds_info_rdma_connection - record of RDS_INFO_IB_CONNECTIONS
 * @src_addr: local address
 * @dst_addr: foreign address
 * @src_gid: local GID
 * @dst_gid: foreign GID
 * @max_send_wr: size of the send queue
 * @max_recv_wr: size of the receive queue
 * @max_send_sge: scatter elements of one send
 * @rdma_mr_max: large memory regions that may exist on the device
 * @rdma_mr_size: pages of one memory region
 * @tos: type of service of the connection
 * @sl: service level of the path
 * @cache_allocs: 0; receive fragments kept for reuse, of which this module has none
 *
 * Not packed: the two bytes after @sl are padding, written as zero.
 */
struct rds_info_rdma_connection {
	__be32	src_addr;
	__be32	dst_addr;
	__u8	src_gid[RDS_IB_GID_LEN];
	__u8	dst_gid[RDS_IB_GID_LEN];

	__u32	max_send_wr;
	__u32	max_recv_wr;
	__u32	max_send_sge;
	__u32	rdma_mr_max;
	__u32	rdma_mr_size;
	__u8	tos;
	__u8	sl;
	__u32	cache_allocs;
};

/**
 * struct rds6_info_rdma_connection - record of RDS6_INFO_IB_CONNECTIONS
 * @src_addr: local address
 * @dst_addr: foreign address
 * @src_gid: local GID
 * @dst_gid: foreign GID
 * @max_send_wr: size of the send queue
 * @max_recv_wr: size of the receive queue
 * @max_send_sge: scatter elements of one send
 * @rdma_mr_max: large memory regions that may exist on the device
 * @rdma_mr_size: pages of one memory region
 * @tos: type of service of the connection
 * @sl: service level of the path
 * @cache_allocs: 0; receive fragments kept for reuse, of which this module has none
 *
 * Not packed: the two bytes after @sl are padding, written as zero.
 */
struct rds6_info_rdma_connection {
	struct in6_addr	src_addr;
	struct in6_addr	dst_addr;
	__u8		src_gid[RDS_IB_GID_LEN];
	__u8		dst_gid[RDS_IB_GID_LEN];

	__u32		max_send_wr;
	__u32		max_recv_wr;
	__u32		max_send_sge;
	__u32		rdma_mr_max;
	__u32		rdma_mr_size;
	__u8		tos;
	__u8		sl;
	__u32		cache_allocs;
};

/**
 * enum rds_message_rxpath_latency - trace points of the receive path
 * @RDS_MSG_RX_HDR_TO_DGRAM_START: first byte seen to header complete
 * @RDS_MSG_RX_DGRAM_REASSEMBLE: header complete to queued on the socket
 * @RDS_MSG_RX_DGRAM_DELIVERED: queued to given to recvmsg()
 * @RDS_MSG_RX_DGRAM_TRACE_MAX: number of trace points
 */
enum rds_message_rxpath_latency {
	RDS_MSG_RX_HDR_TO_DGRAM_START = 0,
	RDS_MSG_RX_DGRAM_REASSEMBLE,
	RDS_MSG_RX_DGRAM_DELIVERED,
	RDS_MSG_RX_DGRAM_TRACE_MAX
};

/**
 * struct rds_rx_trace_so - argument of SO_RDS_MSG_RXPATH_LATENCY
 * @rx_traces: number of trace points asked for, 0 turns tracing off
 * @rx_trace_pos: which ones, enum rds_message_rxpath_latency
 */
struct rds_rx_trace_so {
	__u8	rx_traces;
	__u8	rx_trace_pos[RDS_MSG_RX_DGRAM_TRACE_MAX];
};

/**
 * struct rds_cmsg_rx_trace - payload of RDS_CMSG_RXPATH_LATENCY
 * @rx_traces: number of trace points that follow
 * @rx_trace_pos: which ones, enum rds_message_rxpath_latency
 * @rx_trace: nanoseconds spent
 */
struct rds_cmsg_rx_trace {
	__u8	rx_traces;
	__u8	rx_trace_pos[RDS_MSG_RX_DGRAM_TRACE_MAX];
	__u64	rx_trace[RDS_MSG_RX_DGRAM_TRACE_MAX];
};

/*
 * Congestion monitoring. RDS_CMSG_CONG_UPDATE carries a __u64 in host
 * order: bit n set means that a port with port % 64 == n, to which a send
 * failed with ENOBUFS or was given up waiting, may accept messages again.
 */
#define RDS_CONG_MONITOR_SIZE		64
#define RDS_CONG_MONITOR_BIT(port)	(((unsigned int)(port)) % RDS_CONG_MONITOR_SIZE)
#define RDS_CONG_MONITOR_MASK(port)	(1ULL << RDS_CONG_MONITOR_BIT(port))

/*
 * Names a memory region to the peer: the low 32 bits are the R_Key, the
 * high 32 bits the offset of the buffer in its first page. Opaque to
 * applications, who pass it on as it is.
 */
typedef __u64	rds_rdma_cookie_t;

/**
 * struct rds_iovec - a piece of memory
 * @addr: address
 * @bytes: length
 */
struct rds_iovec {
	__u64	addr;
	__u64	bytes;
};

/**
 * struct rds_get_mr_args - argument of RDS_GET_MR and RDS_CMSG_RDMA_MAP
 * @vec: memory to register
 * @cookie_addr: where to store the rds_rdma_cookie_t, or 0
 * @flags: RDS_RDMA_*
 */
struct rds_get_mr_args {
	struct rds_iovec	vec;
	__u64			cookie_addr;
	__u64			flags;
};

/**
 * struct rds_get_mr_for_dest_args - argument of RDS_GET_MR_FOR_DEST
 * @dest_addr: peer the region is meant for
 * @vec: memory to register
 * @cookie_addr: where to store the rds_rdma_cookie_t, or 0
 * @flags: RDS_RDMA_*
 */
struct rds_get_mr_for_dest_args {
	struct __kernel_sockaddr_storage	dest_addr;
	struct rds_iovec			vec;
	__u64					cookie_addr;
	__u64					flags;
};

/**
 * struct rds_free_mr_args - argument of RDS_FREE_MR
 * @cookie: region to release, 0 flushes all unused ones
 * @flags: RDS_RDMA_INVALIDATE or 0
 */
struct rds_free_mr_args {
	rds_rdma_cookie_t	cookie;
	__u64			flags;
};

/**
 * struct rds_rdma_args - payload of RDS_CMSG_RDMA_ARGS
 * @cookie: cookie of the peer's memory region
 * @remote_vec: offset and length inside that region
 * @local_vec_addr: address of an array of struct rds_iovec
 * @nr_local: number of its elements
 * @flags: RDS_RDMA_*
 * @user_token: comes back in struct rds_rdma_notify
 */
struct rds_rdma_args {
	rds_rdma_cookie_t	cookie;
	struct rds_iovec	remote_vec;
	__u64			local_vec_addr;
	__u64			nr_local;
	__u64			flags;
	__u64			user_token;
};

/**
 * struct rds_atomic_args - payload of RDS_CMSG_[MASKED_]ATOMIC_*
 * @cookie: cookie of the peer's memory region
 * @local_addr: where to store the old value of the remote word
 * @remote_addr: offset of the word inside the region
 * @cswp: operands of RDS_CMSG_ATOMIC_CSWP
 * @cswp.compare: value to compare with
 * @cswp.swap: value to store if equal
 * @fadd: operand of RDS_CMSG_ATOMIC_FADD
 * @fadd.add: value to add
 * @m_cswp: operands of RDS_CMSG_MASKED_ATOMIC_CSWP
 * @m_cswp.compare: value to compare with
 * @m_cswp.swap: value to store if equal
 * @m_cswp.compare_mask: bits to compare
 * @m_cswp.swap_mask: bits to store
 * @m_fadd: operands of RDS_CMSG_MASKED_ATOMIC_FADD
 * @m_fadd.add: value to add
 * @m_fadd.nocarry_mask: bits that pass on no carry
 * @flags: RDS_RDMA_*
 * @user_token: comes back in struct rds_rdma_notify
 */
struct rds_atomic_args {
	rds_rdma_cookie_t	cookie;
	__u64			local_addr;
	__u64			remote_addr;
	union {
		struct {
			__u64	compare;
			__u64	swap;
		} cswp;
		struct {
			__u64	add;
		} fadd;
		struct {
			__u64	compare;
			__u64	swap;
			__u64	compare_mask;
			__u64	swap_mask;
		} m_cswp;
		struct {
			__u64	add;
			__u64	nocarry_mask;
		} m_fadd;
	};
	__u64			flags;
	__u64			user_token;
};

/**
 * struct rds_rdma_notify - payload of RDS_CMSG_RDMA_STATUS
 * @user_token: token of the operation
 * @status: RDS_RDMA_SUCCESS or what went wrong
 */
struct rds_rdma_notify {
	__u64	user_token;
	__s32	status;
};

#define RDS_RDMA_SUCCESS		0
#define RDS_RDMA_REMOTE_ERROR		1
#define RDS_RDMA_CANCELED		2
#define RDS_RDMA_DROPPED		3
#define RDS_RDMA_OTHER_ERROR		4

#define RDS_MAX_ZCOOKIES		8

/**
 * struct rds_zcopy_cookies - payload of RDS_CMSG_ZCOPY_COMPLETION
 * @num: number of cookies
 * @cookies: values of RDS_CMSG_ZCOPY_COOKIE whose memory is free again
 */
struct rds_zcopy_cookies {
	__u32	num;
	__u32	cookies[RDS_MAX_ZCOOKIES];
};

/* Flags of the RDMA calls; unknown bits are ignored. */
#define RDS_RDMA_READWRITE		0x0001	/* set: write to the peer */
#define RDS_RDMA_FENCE			0x0002	/* message after the read only */
#define RDS_RDMA_INVALIDATE		0x0004	/* unmap at once when freed */
#define RDS_RDMA_USE_ONCE		0x0008	/* free the region after use */
#define RDS_RDMA_DONTWAIT		0x0010	/* historic, ignored */
#define RDS_RDMA_NOTIFY_ME		0x0020	/* report the completion */
#define RDS_RDMA_SILENT			0x0040	/* no message to the peer */

#endif /* _LINUX_RDS_H */
