import { LiquidationBids } from "../../../src/core/accounts/liquidation-bids.ts";
import { MarginTable } from "../../../src/core/accounts/margin-table.ts";
import { WeakAccounts } from "../../../src/core/accounts/weak-accounts.ts";
import { LEDGER } from "../../../src/core/base/enums.ts";
import { LedgerActor } from "../../../src/core/ledger/ledger.ts";
import type { Actor, Transaction } from "../../../src/core/protocol/actor.ts";
import { Tick } from "../../../src/core/protocol/commands.ts";
import type { Instrument } from "../../../src/core/protocol/instrument.ts";
import type { Message } from "../../../src/core/protocol/message-schema.ts";
import { SymbolActor } from "../../../src/core/symbol.ts";
import type { Random } from "../../../src/sandbox/random.ts";
import { LEDGER_SETTINGS, MAX_ACCOUNTS, make, START } from "./exchange.ts";

const TICK_MS = 250;

interface Resident {
  readonly actor: Actor;
  readonly marginTable: MarginTable;
}

/**
 * The ledger and symbols, spread over workers as the host does it: one after the other in the order of the configuration.
 * Each worker has its own stripe of the margin table. Between two transactions any worker may go on, as `random` decides.
 */
export class Workers {
  readonly marginTable: MarginTable;
  time = START;
  /** What happens, in order. */
  readonly events: { symbol: string; event: Message }[] = [];
  private readonly residents = new Map<string, Resident>();
  private readonly symbols: string[];
  private readonly random: Random;
  private sequence = 0;

  constructor(instruments: readonly Instrument[], workers: number, random: Random) {
    this.symbols = instruments.map(({ symbol }) => symbol);
    this.random = random;
    const { buffer } = MarginTable.allocate(MAX_ACCOUNTS, workers);
    const bids = LiquidationBids.allocate(MAX_ACCOUNTS, instruments.length);
    const weak = WeakAccounts.allocate(workers);
    const tables = Array.from({ length: workers }, (_, worker) => {
      const marginTable = new MarginTable(buffer, workers, worker);
      marginTable.bids = new LiquidationBids(bids, this.symbols);
      marginTable.weakAccounts = new WeakAccounts(weak, workers, worker);
      return marginTable;
    });
    this.marginTable = tables[0];
    const add = (name: string, marginTable: MarginTable, actor: Actor): void =>
      void this.residents.set(name, { marginTable, actor });
    add("ledger", tables[LEDGER], new LedgerActor(LEDGER_SETTINGS, tables[LEDGER]));
    for (const [i, instrument] of instruments.entries()) {
      const marginTable = tables[(i + 1) % workers];
      add(instrument.symbol, marginTable, new SymbolActor(instrument, marginTable));
    }
  }

  symbol(name: string): SymbolActor {
    return this.residents.get(name)?.actor as SymbolActor;
  }

  /** Executes a command. Returns the replies. */
  do(name: string, command: Message): Message[] {
    return this.transaction(name, (actor, transaction) => actor.decide(command, transaction)).replies;
  }

  /** A tick of every symbol, and all work that follows from it, in a random order. */
  tick(): void {
    this.time += TICK_MS;
    const left = [...this.symbols];
    while (left.length > 0) {
      const [name] = left.splice(Math.floor(this.random.uniform() * left.length), 1);
      this.do(name, make(Tick));
      if (this.random.uniform() < 0.5) this.runBackground(this.anySymbol());
    }
    for (let isBusy = true; isBusy; ) {
      isBusy = false;
      const first = Math.floor(this.random.uniform() * this.symbols.length);
      for (const name of [...this.symbols.slice(first), ...this.symbols.slice(0, first)])
        if (this.runBackground(name)) isBusy = true;
    }
  }

  private anySymbol(): string {
    return this.symbols[Math.floor(this.random.uniform() * this.symbols.length)];
  }

  private runBackground(name: string): boolean {
    let hasMore = false;
    const { events } = this.transaction(name, (actor, transaction) => {
      hasMore = actor.runBackground(transaction);
    });
    return hasMore || events.length > 0;
  }

  /** A new mark is settled before anything else happens in the symbol. */
  private transaction(
    name: string,
    run: (actor: Actor, transaction: Transaction) => void,
  ): { events: Message[]; replies: Message[] } {
    const { actor } = this.residents.get(name) as Resident;
    const said = this.commit(name, run);
    while (actor.isSettlingMark) this.commit(name, (actor, transaction) => void actor.settleMark(transaction));
    return said;
  }

  private commit(
    name: string,
    run: (actor: Actor, transaction: Transaction) => void,
  ): { events: Message[]; replies: Message[] } {
    const { actor, marginTable } = this.residents.get(name) as Resident;
    const events: Message[] = [];
    const replies: Message[] = [];
    marginTable.begin();
    run(actor, {
      time: this.time,
      emit: (event) => void events.push({ ...event }),
      reply: (reply) => void replies.push({ ...reply }),
    });
    if (events.length > 0) actor.settle(++this.sequence, this.time);
    marginTable.commit();
    for (const event of events) this.events.push({ symbol: name, event });
    return { events, replies };
  }
}
