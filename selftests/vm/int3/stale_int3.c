// SPDX-License-Identifier: GPL-2.0
/*
 * For guests under emulation only: goes on behind a breakpoint that is no
 * longer in memory.
 *
 * The kernel patches its code (static keys, static calls) with a breakpoint
 * in place while the rest is written. QEMU before 8.2, with a thread for each
 * processor, may keep the translation of that breakpoint after it is gone.
 * The processor then traps where memory holds an ordinary instruction, and
 * the kernel rightly calls that an Oops. What memory holds is one of a few
 * instructions; it is carried out here, as poke_int3_handler() does during the
 * patching itself.
 */
#include <linux/kdebug.h>
#include <linux/module.h>
#include <linux/ptrace.h>
#include <linux/uaccess.h>
#include <linux/unaligned.h>
#include <asm/text-patching.h>

static unsigned int stale;
module_param(stale, uint, 0444);
MODULE_PARM_DESC(stale, "Breakpoints met that were no longer there (read only)");

/* Context: as an NMI; may not sleep or take a lock. */
static int stale_int3(struct notifier_block *nb, unsigned long event, void *data)
{
	struct pt_regs *regs = ((struct die_args *)data)->regs;
	unsigned long ip = regs->ip - INT3_INSN_SIZE;
	u8 insn[CALL_INSN_SIZE];

	if (event != DIE_INT3 || user_mode(regs) ||
	    copy_from_kernel_nofault(insn, (void *)ip, sizeof(insn)) ||
	    insn[0] == INT3_INSN_OPCODE)
		return NOTIFY_DONE;
	switch (insn[0]) {
	case CALL_INSN_OPCODE:
		int3_emulate_call(regs, ip + CALL_INSN_SIZE + get_unaligned((s32 *)(insn + 1)));
		break;
	case JMP32_INSN_OPCODE:
		regs->ip = ip + JMP32_INSN_SIZE + get_unaligned((s32 *)(insn + 1));
		break;
	case JMP8_INSN_OPCODE:
		regs->ip = ip + JMP8_INSN_SIZE + (s8)insn[1];
		break;
	case RET_INSN_OPCODE:
		int3_emulate_ret(regs);
		break;
	case 0x0f:	/* nopl 0(%rax,%rax,1), or a conditional jump */
		regs->ip = insn[1] == 0x1f && insn[2] == 0x44 ? ip + 5 : ip;
		break;
	case 0x66:	/* xchg %ax,%ax */
		regs->ip = insn[1] == 0x90 ? ip + 2 : ip;
		break;
	default:	/* once more, and hope that it is translated anew */
		regs->ip = ip;
	}
	stale++;
	return NOTIFY_STOP;
}

static struct notifier_block stale_int3_block = {
	.notifier_call = stale_int3,
};

static int __init stale_int3_init(void)
{
	return register_die_notifier(&stale_int3_block);
}
module_init(stale_int3_init);

static void __exit stale_int3_exit(void)
{
	unregister_die_notifier(&stale_int3_block);
}
module_exit(stale_int3_exit);

MODULE_DESCRIPTION("Works around translations that an emulator should have dropped");
MODULE_LICENSE("GPL");
