import { LiquidationBids } from "../../src/core/accounts/liquidation-bids.ts";
import { MarginTable } from "../../src/core/accounts/margin-table.ts";
import { WeakAccounts } from "../../src/core/accounts/weak-accounts.ts";
import { INSURANCE_ACCOUNT } from "../../src/core/base/enums.ts";
import { LedgerActor } from "../../src/core/ledger/ledger.ts";
import type { Actor, Transaction } from "../../src/core/protocol/actor.ts";
import type { Instrument } from "../../src/core/protocol/instrument.ts";
import type { Message } from "../../src/core/protocol/message-schema.ts";
import { Refused } from "../../src/core/protocol/replies.ts";
import { SymbolActor } from "../../src/core/symbol.ts";
import type { Random } from "../../src/sandbox/random.ts";

/** All that happens in the simulation happens at a multiple of this. */
export const SLOT_MS = 50;

const BACKGROUND_CHANCE = 0.03;
const INTERRUPTION_CHANCE = 0.5;
/** Background work that goes on for longer counts as a fault. */
const MAX_ROUNDS = 2000;
const LEDGER_WORKER = 0;

/** A command, or null when there is nothing to send after all. It is asked for when its turn comes. */
export type Send = () => Message | null;

export interface Watcher {
  /** The event is applied already. `symbol`: null = the ledger. */
  onEvent(symbol: SymbolActor | null, event: Message): void;
  onTransactionEnd(): void;
  /** A mark is settled as far as it will be: all background work is done. */
  onIdle(): void;
}

interface Sent {
  readonly actor: Actor;
  readonly send: Send;
  readonly onReply: ((reply: Message) => void) | null;
}

/**
 * The real ledger and symbols, each on one of several workers that share a margin table. Transactions of workers are
 * carried out in an order that is drawn, each as actor-worker.ts does it. Threads that interrupt each other in the middle
 * of a transaction are not simulated here: test/core/accounts does that.
 */
export class World {
  readonly symbols: readonly SymbolActor[];
  readonly ledger: LedgerActor;
  readonly tables: readonly MarginTable[];
  watcher: Watcher | null = null;
  time = 0;
  sequence = 0;
  /** Transactions with events. */
  transactions = 0;
  readonly refusals = new Map<string, number>();
  private readonly workers: readonly Actor[][];
  private readonly random: Random;
  private queues: Sent[][];
  private later: Sent[] = [];
  private current: Actor | null = null;
  private reply: Sent["onReply"] = null;
  private hasEvents = false;
  private isInterrupting = false;
  private readonly transaction: Transaction;

  constructor(
    instruments: readonly Instrument[],
    workers: number,
    maxAccounts: number,
    maxIndexAgeMs: number,
    random: Random,
  ) {
    const { buffer } = MarginTable.allocate(maxAccounts, workers);
    this.random = random;
    this.tables = Array.from({ length: workers }, (_, i) => new MarginTable(buffer, workers, i));
    const bids = LiquidationBids.allocate(maxAccounts, instruments.length);
    const symbols = instruments.map(({ symbol }) => symbol);
    const weak = WeakAccounts.allocate(workers);
    for (const [i, table] of this.tables.entries()) {
      table.bids = new LiquidationBids(bids, symbols);
      table.weakAccounts = new WeakAccounts(weak, workers, i);
    }
    this.ledger = new LedgerActor({ faucetCapQuanta: 1e15, withdrawalDelayMs: 1000 }, this.tables[LEDGER_WORKER]);
    const tableOf = (i: number): MarginTable => this.tables[i % workers];
    this.symbols = instruments.map((instrument, i) => new SymbolActor(instrument, tableOf(i), { maxIndexAgeMs }));
    this.workers = this.tables.map((_, worker) => this.symbols.filter((_, i) => i % workers === worker));
    this.workers[LEDGER_WORKER].push(this.ledger);
    this.queues = this.tables.map(() => []);
    const world = this;
    this.transaction = {
      get time() {
        return world.time;
      },
      emit(event) {
        world.hasEvents = true;
        world.watcher?.onEvent(world.current === world.ledger ? null : (world.current as SymbolActor), event);
      },
      reply(reply) {
        if (reply.type === Refused.code) world.countRefusal((reply as unknown as { code: string }).code);
        world.reply?.(reply);
      },
    };
  }

  /** Totals of all workers. */
  get totals(): MarginTable {
    return this.tables[0];
  }

  get fundEquity(): number {
    return this.totals.equity(INSURANCE_ACCOUNT);
  }

  /** For the next carryOut(). Commands to one worker keep their order. */
  send(actor: Actor, send: Send, onReply: Sent["onReply"] = null): void {
    this.queues[this.workerOf(actor)].push({ actor, send, onReply });
  }

  /** For the next carryOut(), after all that was sent: the caller waits for the replies to that. */
  sendAfterReplies(actor: Actor, send: Send): void {
    this.later.push({ actor, send, onReply: null });
  }

  /** Sends one command and does all that follows from it. */
  do(actor: Actor, command: Message): void {
    this.send(actor, () => command);
    this.carryOut();
  }

  /** Carries out what was sent, and the background work after it. */
  carryOut(): void {
    const workers = this.shuffled();
    for (let busy = workers; busy.length > 0; busy = workers.filter((worker) => this.queues[worker].length > 0)) {
      const worker = busy.length === 1 ? busy[0] : this.random.pick(busy);
      const sent = this.queues[worker].shift();
      if (sent !== undefined) this.execute(sent);
      // A worker looks at its background work from time to time while commands wait.
      if (this.random.chance(BACKGROUND_CHANCE)) this.runBackground([worker], 1);
    }
    // Replies may be quicker than background work, or slower.
    if (this.later.length > 0 && this.random.chance(0.5)) this.runBackground(workers, MAX_ROUNDS);
    const { later } = this;
    this.later = [];
    for (const sent of later) this.execute(sent);
    this.runBackground(workers, MAX_ROUNDS);
    this.watcher?.onIdle();
  }

  private execute({ actor, send, onReply }: Sent): void {
    this.settleMark(actor);
    const command = send();
    if (command === null) return;
    this.reply = onReply;
    this.run(actor, () => actor.decide(command, this.transaction));
    this.reply = null;
    // Not settled at once: the commands of other symbols come before that.
    if (actor.isFiring) this.run(actor, () => actor.fire(this.transaction));
  }

  /**
   * Before anything else of the symbol is decided. Other workers go on meanwhile: between two transactions they may see
   * what a settlement has only begun.
   */
  private settleMark(actor: Actor): void {
    for (let round = 0; actor.isSettlingMark; round++) {
      let hasMoved = false;
      this.run(actor, () => {
        hasMoved = actor.settleMark(this.transaction);
      });
      if (!hasMoved || round === MAX_ROUNDS) throw new Error("a mark is not settled");
      if (this.isInterrupting || !actor.isSettlingMark || !this.random.chance(INTERRUPTION_CHANCE)) continue;
      this.isInterrupting = true;
      const others = this.shuffled().filter((worker) => worker !== this.workerOf(actor));
      for (const worker of others) {
        const sent = this.queues[worker].shift();
        if (sent !== undefined) this.execute(sent);
      }
      this.runBackground(others, 1);
      this.isInterrupting = false;
    }
  }

  private runBackground(workers: readonly number[], maxRounds: number): void {
    for (let round = 0; round < maxRounds; round++) {
      let hasMore = false;
      for (const worker of workers)
        for (const actor of this.workers[worker]) {
          this.settleMark(actor);
          this.run(actor, () => {
            if (actor.runBackground(this.transaction)) hasMore = true;
          });
          this.settleMark(actor);
          if (actor.isFiring) {
            this.run(actor, () => actor.fire(this.transaction));
            hasMore = true;
          }
        }
      if (!hasMore) return;
    }
    if (maxRounds === MAX_ROUNDS) throw new Error(`background work has no end after ${MAX_ROUNDS} rounds`);
  }

  private run(actor: Actor, work: () => void): void {
    const table = this.tables[this.workerOf(actor)];
    this.current = actor;
    this.hasEvents = false;
    table.begin();
    work();
    if (this.hasEvents) this.sequence++;
    table.commit();
    if (!this.hasEvents) return;
    this.transactions++;
    actor.settle(this.sequence, this.time);
    this.watcher?.onTransactionEnd();
  }

  private workerOf(actor: Actor): number {
    return actor === this.ledger ? LEDGER_WORKER : this.symbols.indexOf(actor as SymbolActor) % this.tables.length;
  }

  private shuffled(): number[] {
    const order = this.tables.map((_, i) => i);
    for (let i = order.length - 1; i > 0; i--) {
      const j = Math.floor(this.random.uniform() * (i + 1));
      [order[i], order[j]] = [order[j], order[i]];
    }
    return order;
  }

  private countRefusal(code: string): void {
    this.refusals.set(code, (this.refusals.get(code) ?? 0) + 1);
  }
}
