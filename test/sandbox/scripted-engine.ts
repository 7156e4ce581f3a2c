import assert from "node:assert/strict";
import type { Engine, OnReply } from "../../src/actor/engine/engine.ts";
import { DEFAULT_INSTRUMENTS } from "../../src/config/instruments.ts";
import { MarginTable } from "../../src/core/accounts/margin-table.ts";
import { type CancelOrder, PlaceOrder } from "../../src/core/protocol/commands.ts";
import { compileInstrument } from "../../src/core/protocol/instrument.ts";
import { blank, type Message, type MessageOf } from "../../src/core/protocol/message-schema.ts";
import { OrderView, Refused } from "../../src/core/protocol/replies.ts";
import { BotAccount, type Market } from "../../src/sandbox/bot-account.ts";

export const ACCOUNT = 16;
export const BUDGET_QUANTA = 500_000e6;

export type Place = MessageOf<typeof PlaceOrder>;
export type Cancel = MessageOf<typeof CancelOrder>;

/** An engine that does nothing by itself: the test sees each command and decides its reply and when. */
export class ScriptedEngine implements Engine {
  readonly hasDiskRoom = true;
  readonly diskFreeBytes = 0;
  readonly isStalled = false;
  readonly inFlight = 0;
  readonly historyLag = 0;
  readonly historySince = 0;
  readonly isHistoryStalled = false;
  readonly instruments = [compileInstrument(DEFAULT_INSTRUMENTS[0]!)];
  readonly marginTable = MarginTable.allocate(1024);
  readonly market: Market = { instrument: this.instruments[0]!, indexTicks: 650_000, markTicks: 650_000 };
  readonly account = new BotAccount(this, this.market, ACCOUNT, BUDGET_QUANTA);
  full = false;
  private waiting: { command: Message; onReply: OnReply }[] = [];
  private nextOrderId = 257;

  request(_actorId: number, command: Message, onReply: OnReply): boolean {
    if (this.full) return false;
    this.waiting.push({ command, onReply });
    return true;
  }

  /** Commands without a reply. */
  places(): Place[] {
    return this.waiting.map(({ command }) => command).filter((c): c is Place => c.type === PlaceOrder.code);
  }
  commands(): Message[] {
    return this.waiting.map(({ command }) => command);
  }

  /** Replies to the commands that `which` selects; an order gets the next id, which `reply` may use. */
  answer(reply: (command: Message) => Message, which: (command: Message) => boolean = () => true): void {
    const picked = this.waiting.filter(({ command }) => which(command));
    this.waiting = this.waiting.filter((entry) => !picked.includes(entry));
    assert.ok(picked.length > 0, "nothing waits for this answer");
    for (const { command, onReply } of picked)
      onReply({ actorId: 1, sequence: 1, time: 0, eventCount: 0, messages: [reply(command)] });
  }

  /** The actor dies before it executes any pending command. */
  lose(): void {
    for (const { onReply } of this.waiting.splice(0)) onReply(null);
  }

  accepted = (): Message => {
    const orderId = this.nextOrderId;
    this.nextOrderId += 256;
    return { ...blank(OrderView), orderId } as Message;
  };

  refused = (code: string) => (): Message => ({ ...blank(Refused), code }) as Message;

  readonly rebuilds = 0;
  readonly replication = null;
  isUnresponsive(): boolean {
    return false;
  }
  isDown(): boolean {
    return false;
  }
  onReleased(): void {}
  onDrained(): void {}
  releasedSequence(): number {
    return 0;
  }
  releasedTime(): number {
    return 0;
  }
  whenAllDurable(then: () => void): boolean {
    then();
    return true;
  }
  historyCaughtUp(): Promise<boolean> {
    return Promise.resolve(true);
  }
}
