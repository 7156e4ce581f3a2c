import { Control } from "../actor/threads/control.ts";
import { recover } from "../actor/threads/recovery.ts";
import type { Config } from "../config.ts";
import { MarginTable } from "../core/accounts/margin-table.ts";
import { isCustomer, LEDGER } from "../core/base/enums.ts";
import { LedgerActor } from "../core/ledger/ledger.ts";
import type { Actor, Transaction } from "../core/protocol/actor.ts";
import { Audit, Describe, ReadOrders, ReadPosition } from "../core/protocol/commands.ts";
import { compileInstrument } from "../core/protocol/instrument.ts";
import { blank, type Message, type MessageOf, type MessageSchema } from "../core/protocol/message-schema.ts";
import type { ActorAudit, LedgerSummary } from "../core/protocol/payloads.ts";
import { AuditReport, LedgerDescription, OrderView, PositionView, type Reply } from "../core/protocol/replies.ts";
import { SymbolActor } from "../core/symbol.ts";
import type { Database } from "../store/database/database.ts";
import { Snapshots } from "../store/database/snapshots.ts";

/** All actors of an exchange, recovered on this thread as at a start, with a private margin table. */
export class RecoveredExchange {
  private readonly ledger: Actor;
  /** In configuration order. */
  private readonly symbols: readonly Actor[];

  /** `lastSequence` is the last one of the log. */
  constructor(config: Config, database: Database, logDir: string, lastSequence: number) {
    const marginTable = MarginTable.allocate(config.maxAccounts);
    const { faucetCapQuanta, withdrawalDelayMs } = config;
    this.ledger = new LedgerActor({ faucetCapQuanta, withdrawalDelayMs }, marginTable);
    this.symbols = config.instruments.map((instrument) => new SymbolActor(compileInstrument(instrument), marginTable));
    const control = new Control();
    control.startAt(lastSequence);
    recover([this.ledger, ...this.symbols], new Snapshots(database), logDir, control);
  }

  /** The results of each actor's self-check. */
  audits(): { ledger: ActorAudit; symbols: ActorAudit[] } {
    const audit = (actor: Actor): ActorAudit => request(actor, blank(Audit), AuditReport)[0]?.report as ActorAudit;
    return { ledger: audit(this.ledger), symbols: this.symbols.map(audit) };
  }

  /** The ids of all customer accounts. */
  customers(): number[] {
    const accountIds = this.ledgerPages().flatMap(({ accounts }) => accounts.map(([accountId]) => accountId));
    return accountIds.filter(isCustomer);
  }

  /** Every API key. */
  keys(): LedgerSummary["keys"] {
    return this.ledgerPages().flatMap(({ keys }) => keys);
  }

  /** The account's open orders of all symbols. */
  openOrdersOf(accountId: number): MessageOf<typeof OrderView>[] {
    const command: MessageOf<typeof ReadOrders> = { type: ReadOrders.code, accountId };
    return this.symbols.flatMap((symbol) => request(symbol, command, OrderView));
  }

  /** The account's position in each symbol that it has ever used, with the symbol's id. */
  positionsOf(accountId: number): [instrumentId: number, position: MessageOf<typeof PositionView>][] {
    const command: MessageOf<typeof ReadPosition> = { type: ReadPosition.code, accountId };
    return this.symbols.flatMap((symbol) =>
      request(symbol, command, PositionView).map((view): [number, typeof view] => [symbol.actorId, view]),
    );
  }

  private ledgerPages(): LedgerSummary[] {
    const pages: LedgerSummary[] = [];
    for (let from: number | null = 0; from !== null; ) {
      const command: MessageOf<typeof Describe> = { type: Describe.code, from };
      const [page] = request(this.ledger, command, LedgerDescription);
      if (page !== undefined) pages.push(page.state);
      from = page?.state.next ?? null;
    }
    return pages;
  }
}

export const actorIdsOf = (config: Config): number[] => [LEDGER, ...config.instruments.map(({ id }) => id)];

/** Sends a read command to an actor. Returns its replies of the given type. */
function request<S extends MessageSchema>(actor: Actor, command: Message, schema: S): MessageOf<S>[] {
  const replies: Reply[] = [];
  const transaction: Transaction = {
    time: 0,
    emit: () => {
      throw new Error("a read command has emitted an event");
    },
    // Copied, because actors reuse the object.
    reply: (reply) => replies.push({ ...reply }),
  };
  actor.decide(command, transaction);
  return replies.filter((reply) => reply.type === schema.code) as unknown as MessageOf<S>[];
}
