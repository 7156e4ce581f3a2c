import { setTimeout as sleep } from "node:timers/promises";
import { withRecoveryAdvice } from "../../../../src/actor/host/recovery-advice.ts";
import { type ActorTask, runActors } from "../../../../src/actor/threads/actor-main.ts";
import type { Actor, Transaction } from "../../../../src/core/protocol/actor.ts";
import { Deposit, PlaceOrder } from "../../../../src/core/protocol/commands.ts";
import type { Message, MessageOf } from "../../../../src/core/protocol/message-schema.ts";

/**
 * The actor thread of faulty-main: the real actors, which fail when an order's clientOrderId (or a deposit's reference)
 * requests it.
 * `throw-N`: throws after the transaction's N-th event or reply.
 * `throw-settle`: throws after the transaction has its sequence.
 * `throw-exit`: ends the thread.
 * `throw-memory`: allocates after the first event until memory is exhausted.
 * `throw-hang`: loops for ever after the first event.
 * RECOVER_AFTER_MS: delay before the recovery.
 */
export default withRecoveryAdvice(async (task: ActorTask) => {
  await sleep(Number(process.env.RECOVER_AFTER_MS ?? 0));
  await runActors(task, faulty);
});

function faulty(actor: Actor): Actor {
  let throwsInSettle = false;
  return changed(actor, {
    decide(command, transaction) {
      const fault = faultIn(command);
      if (fault === "exit") process.exit(1);
      throwsInSettle = fault === "settle";
      if (fault === "memory") transaction = devouring(transaction);
      if (fault === "hang") transaction = endless(transaction);
      actor.decide(command, /^\d+$/.test(fault) ? throwing(transaction, Number(fault)) : transaction);
    },
    settle(sequence, time) {
      if (throwsInSettle) throw new Error("asked to throw in settle");
      actor.settle(sequence, time);
    },
  });
}

function faultIn(command: Message): string {
  const name =
    command.type === PlaceOrder.code
      ? (command as MessageOf<typeof PlaceOrder>).clientOrderId
      : command.type === Deposit.code
        ? (command as MessageOf<typeof Deposit>).reference
        : "";
  return /^throw-(\w+)/.exec(name)?.[1] ?? "";
}

/** A transaction that throws after so many events and replies. */
function throwing(transaction: Transaction, after: number): Transaction {
  let left = after;
  const count = (): void => {
    if (left-- === 0) throw new Error(`asked to throw behind ${after}`);
  };
  return {
    time: transaction.time,
    emit(event) {
      count();
      transaction.emit(event);
    },
    reply(reply) {
      count();
      transaction.reply(reply);
    },
  };
}

function devouring(transaction: Transaction): Transaction {
  return {
    time: transaction.time,
    emit(event) {
      transaction.emit(event);
      for (const kept: number[][] = []; ; ) kept.push(new Array(100_000).fill(kept.length + 0.5));
    },
    reply: (reply) => transaction.reply(reply),
  };
}

function endless(transaction: Transaction): Transaction {
  return {
    time: transaction.time,
    emit(event) {
      transaction.emit(event);
      for (;;);
    },
    reply: (reply) => transaction.reply(reply),
  };
}

function changed<T extends object>(real: T, changes: Partial<T>): T {
  return new Proxy(real, {
    get(target, name) {
      if (name in changes) return changes[name as keyof T];
      const value = target[name as keyof T];
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}
