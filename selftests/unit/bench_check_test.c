// SPDX-License-Identifier: GPL-2.0
/* vm: nodes=0 timeout=60 */
/* What rds-bench says of a message that is not as it should be. */
#include "unit.h"
#include "../../tools/bench/check.h"

#define RUN	0x1122334455667788ULL

static unsigned char message[MAX_SIZE] __attribute__((aligned(8)));

static struct msg_head *make(unsigned int flow, uint64_t seq, uint32_t len)
{
	struct msg_head fields = { .len = len, .kind = MSG_DATA, .flow = flow, .seq = seq,
				   .run = RUN };
	struct msg_head *h = (struct msg_head *)message;

	check_head(h, &fields);
	memcpy(h + 1, check_payload(flow, seq), len - sizeof(*h));
	return h;
}

static struct checker fresh(void)
{
	struct checker c = { .run = RUN, .nflows = 4 };

	return c;
}

static void good_messages(void)
{
	static const uint32_t sizes[] = { MIN_SIZE, 40, 64, 1024, 1064, 8192, 65536, MAX_SIZE };
	struct checker c = fresh();
	unsigned int i, flow, seq = 0;

	for (i = 0; i < 8; i++) {
		for (flow = 0; flow < 4; flow++) {
			make(flow, seq, sizes[i]);
			EXPECT_EQ(check_message(&c, message, sizes[i]), CHECK_OK);
		}
		seq++;
	}
}

static void order(void)
{
	struct checker c = fresh();

	make(1, 0, 64);
	EXPECT_EQ(check_message(&c, message, 64), CHECK_OK);
	EXPECT_EQ(check_message(&c, message, 64), CHECK_AGAIN);
	make(1, 3, 64);
	EXPECT_EQ(check_message(&c, message, 64), CHECK_GAP);
	EXPECT_EQ(c.gap, 2);
	make(1, 2, 64);
	EXPECT_EQ(check_message(&c, message, 64), CHECK_AGAIN);
	make(1, 4, 64);
	EXPECT_EQ(check_message(&c, message, 64), CHECK_OK);
	make(2, 0, 64);
	EXPECT_EQ(check_message(&c, message, 64), CHECK_OK);
}

/* No bit can be wrong. */
static void every_bit(uint32_t len, uint32_t step)
{
	struct checker c = fresh();
	uint32_t bit;

	make(0, 5, len);
	c.next[0] = 5;
	for (bit = 0; bit < 8 * len; bit += step) {
		message[bit / 8] ^= 1 << bit % 8;
		c.next[0] = 5;
		EXPECT(check_message(&c, message, len) != CHECK_OK);
		message[bit / 8] ^= 1 << bit % 8;
	}
	c.next[0] = 5;
	EXPECT_EQ(check_message(&c, message, len), CHECK_OK);
}

static void each_bit_flipped(void)
{
	every_bit(MIN_SIZE, 1);
	every_bit(64, 1);
	every_bit(1024, 1);
	every_bit(65536, 61);
}

/* Return: whether a wrong byte at @at of the payload of message 5 is seen. */
static bool seen(struct checker *c, size_t at, uint32_t len)
{
	unsigned char *byte = message + sizeof(struct msg_head) + at;
	enum verdict v;

	*byte ^= 1 << at % 8;
	c->next[0] = 5;
	v = check_message(c, message, len);
	*byte ^= 1 << at % 8;
	return v == CHECK_CONTENT;
}

/* Every byte of a payload is compared, whatever its length: begin, middle and tail. */
static void each_byte_counts(void)
{
	static const uint32_t sizes[] = {
		1, 2, 7, 8, 63, 64, 65, 127, 128, 129, 1023, 1024, 1025, 1087, 1088, 4095, 4096,
		4097, 8191, 8265, 65503, 65504, 65536, 262145, MAX_SIZE - sizeof(struct msg_head),
	};
	struct checker c = fresh();
	uint32_t size, len, edge = 200;
	unsigned int i;
	size_t at;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		size = sizes[i];
		len = size + sizeof(struct msg_head);
		make(0, 5, len);
		for (at = 0; at < size; at += at < edge || at + edge >= size ? 1 : size / 400 + 1)
			EXPECT(seen(&c, at, len));
		EXPECT(seen(&c, size - 1, len));
		c.next[0] = 5;
		EXPECT_EQ(check_message(&c, message, len), CHECK_OK);
	}
}

/* A page that belongs elsewhere never passes. */
static void page_misplaced(void)
{
	const uint32_t len = 65536;
	struct checker c = fresh();
	unsigned int page;

	for (page = 1; page < 16; page++) {
		make(0, 9, len);
		memcpy(message + page * 4096, message + (page - 1) * 4096, 4096);
		c.next[0] = 9;
		EXPECT_EQ(check_message(&c, message, len), CHECK_CONTENT);
		make(0, 9, len);
		memcpy(message + page * 4096, check_payload(0, 8), 4096);
		EXPECT_EQ(check_message(&c, message, len), CHECK_CONTENT);
	}
}

static void wrong_length_and_origin(void)
{
	struct checker c = fresh();

	make(0, 0, 128);
	EXPECT_EQ(check_message(&c, message, 120), CHECK_LENGTH);
	EXPECT_EQ(check_message(&c, message, 136), CHECK_LENGTH);
	EXPECT_EQ(check_message(&c, message, 31), CHECK_SHORT);
	EXPECT_EQ(check_message(&c, message, 0), CHECK_SHORT);
	c.run++;
	EXPECT_EQ(check_message(&c, message, 128), CHECK_FOREIGN);
	c.run--;
	make(4, 0, 128);
	EXPECT_EQ(check_message(&c, message, 128), CHECK_FOREIGN);
	make(0, 0, 128);
	EXPECT_EQ(check_message(&c, message, 128), CHECK_OK);
}

/* What an RDMA write leaves: as the message behind it says, in each byte. */
static void memory_written(void)
{
	static const uint32_t sizes[] = { MIN_SIZE, 64, 65536 };
	struct checker c = fresh();
	struct msg_head h = { .flow = 0, .seq = 7 };
	unsigned int i, at;

	for (i = 0; i < 3; i++) {
		make(0, 7, sizes[i]);
		EXPECT_EQ(check_memory(&c, &h, message, sizes[i]), CHECK_OK);
		for (at = 0; at < sizes[i]; at += at < 64 ? 1 : 997) {
			message[at] ^= 4;
			EXPECT(check_memory(&c, &h, message, sizes[i]) != CHECK_OK);
			message[at] ^= 4;
		}
		EXPECT_EQ(check_memory(&c, &h, message, sizes[i]), CHECK_OK);
	}
	/* what an earlier one has left, another run, nothing at all, less than was asked for */
	make(0, 6, 64);
	EXPECT_EQ(check_memory(&c, &h, message, 64), CHECK_STALE);
	make(1, 7, 64);
	EXPECT_EQ(check_memory(&c, &h, message, 64), CHECK_STALE);
	make(0, 7, 64);
	EXPECT_EQ(check_memory(&c, &h, message, 72), CHECK_LENGTH);
	c.run++;
	EXPECT_EQ(check_memory(&c, &h, message, 64), CHECK_FOREIGN);
	memset(message, 0, 64);
	EXPECT_EQ(check_memory(&c, &h, message, 64), CHECK_FOREIGN);
}

/* Noise from any place on is that of the whole, and no two places are alike. */
static void noise(void)
{
	EXPECT(!memcmp(check_noise(0) + 8 * 300, check_noise(300), 65536));
	EXPECT(memcmp(check_noise(300), check_noise(301), 8));
	EXPECT(check_payload(0, 1) == check_noise(2053));
}

static const struct unit_test tests[] = {
	CASE(good_messages),
	CASE(order),
	CASE(each_bit_flipped),
	CASE(each_byte_counts),
	CASE(page_misplaced),
	CASE(wrong_length_and_origin),
	CASE(memory_written),
	CASE(noise),
};

int main(void)
{
	check_init();
	return unit_main(tests, ARRAY_SIZE(tests));
}
