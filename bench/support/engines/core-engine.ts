import { OrderBook } from "nodejs-order-book";
import { DEFAULT_INSTRUMENTS } from "../../../src/config/instruments.ts";
import { MarginTable } from "../../../src/core/accounts/margin-table.ts";
import { BUY } from "../../../src/core/base/enums.ts";
import { LedgerActor } from "../../../src/core/ledger/ledger.ts";
import type { Transaction } from "../../../src/core/protocol/actor.ts";
import { type Event, Traded } from "../../../src/core/protocol/events.ts";
import { compileInstrument } from "../../../src/core/protocol/instrument.ts";
import type { Message } from "../../../src/core/protocol/message-schema.ts";
import type { Reply } from "../../../src/core/protocol/replies.ts";
import { SymbolActor } from "../../../src/core/symbol.ts";
import {
  addOfOrder,
  Commands,
  FAUCET_CAP_QUANTA,
  openAccounts,
  openingPrice,
  RESTING_ACCOUNTS,
} from "../orders/commands.ts";
import { Fills } from "../orders/fills.ts";
import type { OrderStream } from "../orders/order-stream.ts";

/** Runs a stream one operation at a time and records its fills. */
export interface Engine {
  readonly name: string;
  readonly fills: Fills;
  run(i: number): void;
}

type LimitOptions = Parameters<OrderBook["limit"]>[0];
const TIME = 1_700_000_000_000;
const [BTC] = DEFAULT_INSTRUMENTS;
/** Some streams rest more orders per account than an exchange would allow. */
const BENCH_INSTRUMENT = compileInstrument({ ...BTC, maxOpenOrders: 100_000 });

/**
 * The core as in a worker: margin, matching, positions, fees, margin table and events. Only serialization is left out.
 */
export class CoreRunner implements Transaction {
  readonly time = TIME;
  readonly fills = new Fills();
  readonly actor: SymbolActor;
  readonly marginTable: MarginTable;
  private sequence = 0;

  /** Opens and funds the accounts and sets a price. `sharing`: another symbol whose accounts to share. */
  constructor(restingAccounts: number, depositQuanta?: number, instrument = BENCH_INSTRUMENT, sharing?: CoreRunner) {
    this.marginTable = sharing?.marginTable ?? MarginTable.allocate(Math.max(65_536, 2 * restingAccounts));
    this.actor = new SymbolActor(instrument, this.marginTable);
    if (sharing === undefined) {
      const ledger = new LedgerActor({ faucetCapQuanta: FAUCET_CAP_QUANTA, withdrawalDelayMs: 0 }, this.marginTable);
      for (const command of openAccounts(restingAccounts, depositQuanta)) ledger.decide(command, this);
      this.marginTable.commit();
    }
    this.decide(openingPrice());
  }

  emit(event: Event): void {
    if (event.type === Traded.code)
      this.fills.add(addOfOrder(event.makerOrderId, this.actor.actorId), event.quantityLots);
  }

  reply(_reply: Reply): void {}

  /** Runs a command. A mark that it moves is settled by settleMark() or before the next command. */
  decide(command: Message): void {
    while (this.actor.isSettlingMark) this.settleMark();
    this.actor.decide(command, this);
    this.end();
  }

  /** Settles a part of a new mark: the commands behind it wait. */
  settleMark(): void {
    this.actor.settleMark(this);
    this.end();
  }

  /** Runs a slice of the last command's background work. Returns true when more is left. */
  runBackground(): boolean {
    const more = this.actor.runBackground(this);
    this.end();
    return more || this.actor.isSettlingMark;
  }

  private end(): void {
    this.actor.settle(++this.sequence, TIME);
    this.marginTable.commit();
  }
}

export function perpdEngine(stream: OrderStream, restingAccounts = RESTING_ACCOUNTS): Engine {
  return engineOf(new CoreRunner(restingAccounts), stream, restingAccounts);
}

/** One engine per stream: symbols of one worker with shared accounts. */
export function perpdSymbols(streams: readonly OrderStream[]): Engine[] {
  let sharing: CoreRunner | undefined;
  return streams.map((stream, i) => {
    const instrument = compileInstrument({ ...BENCH_INSTRUMENT.config, id: BENCH_INSTRUMENT.id + i });
    const core = new CoreRunner(RESTING_ACCOUNTS, undefined, instrument, sharing);
    sharing ??= core;
    return engineOf(core, stream, RESTING_ACCOUNTS);
  });
}

function engineOf(core: CoreRunner, stream: OrderStream, restingAccounts: number): Engine {
  const commands = new Commands(stream, core.actor.actorId, restingAccounts);
  return { name: "perpd", fills: core.fills, run: (i) => core.decide(commands.at(i)) };
}

/** The npm package nodejs-order-book: matching only, no margin, no accounts. */
export function peerEngine(stream: OrderStream): Engine {
  const book = new OrderBook();
  const fills = new Fills();
  let adds = 0;
  return {
    name: "nodejs-order-book",
    fills,
    run(i) {
      if (stream.isAdd[i] === 0) {
        book.cancel(String(stream.target[i]));
        return;
      }
      const size = stream.lots[i];
      const side = stream.side[i] === BUY ? "buy" : "sell";
      const id = String(adds++);
      const result = book.limit({ side, id, size, price: stream.priceTicks[i] } as LimitOptions);
      if (result.err) throw result.err;
      for (const order of result.done) if (order.id !== id) fills.add(Number(order.id), order.size);
      const { partial, partialQuantityProcessed } = result;
      if (partial !== null && partial.id !== id) fills.add(Number(partial.id), partialQuantityProcessed);
    },
  };
}
