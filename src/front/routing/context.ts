import type { Engine } from "../../actor/engine/engine.ts";
import { must } from "../../assert.ts";
import type { Instrument } from "../../core/protocol/instrument.ts";
import type { Vault } from "../../store/files/vault.ts";
import type { History } from "../../store/history/history.ts";
import type { Approvals } from "../auth/approvals.ts";
import type { Limits } from "../auth/limits.ts";
import type { Wallets } from "../auth/wallet.ts";
import { ApiError } from "../common/errors.ts";
import type { ClientOrderIds } from "../exchange/client-order-ids.ts";
import type { Credentials, Principal } from "../exchange/credentials.ts";
import type { MarketData } from "../exchange/market.ts";
import type { Solvency } from "../exchange/solvency.ts";
import type { Answer, OperatorLog } from "../http/answer.ts";

/** Everything that the routes need. */
export interface Context {
  readonly engine: Engine;
  readonly symbols: Symbols;
  /** The history index lags behind: await historyCaughtUp() before a read. */
  readonly history: Omit<History, "minuteCandles">;
  readonly market: Pick<MarketData, "symbol" | "instrumentJson" | "tickerJson" | "allTickersJson" | "sparklinesJson">;
  readonly solvency: Pick<Solvency, "gateReason" | "figures">;
  readonly credentials: Credentials;
  readonly clientOrderIds: ClientOrderIds;
  readonly wallets: Wallets;
  readonly approvals: Approvals;
  readonly vault: Vault;
  /** Null: no rate limits. */
  readonly limits: Limits | null;
  readonly sessionTtlMs: number;
  /** See genesis.json. */
  readonly exchangeId: string;
  /** False while the exchange starts or stops. */
  isReady(): boolean;
  /** Since the start. */
  droppedLogLines(): number;
  readonly log: OperatorLog;
  /** Ends the process in order, so that a standby takes over. */
  stepDown(): void;
}

/** Executes an operation of the principal, and answers now or later. */
export type Operation<Inputs extends unknown[]> = (
  context: Context,
  answer: Answer,
  principal: Principal,
  ...inputs: Inputs
) => void | Promise<void>;

/** The instruments, by symbol and by id. */
export class Symbols {
  readonly all: readonly Instrument[];
  private readonly byName = new Map<string, Instrument>();
  private readonly instrumentsById: (Instrument | undefined)[] = [];

  constructor(instruments: readonly Instrument[]) {
    this.all = instruments;
    for (const instrument of instruments) {
      this.byName.set(instrument.symbol, instrument);
      this.instrumentsById[instrument.id] = instrument;
    }
  }

  /** Throws UNKNOWN_SYMBOL. `field`: the one that names the symbol. */
  bySymbol(symbol: string, field = "symbol"): Instrument {
    const instrument = this.byName.get(symbol);
    if (instrument !== undefined) return instrument;
    throw new ApiError("UNKNOWN_SYMBOL", { field, details: { known: [...this.byName.keys()] } });
  }

  /** The instrument of the symbol, or all. Throws UNKNOWN_SYMBOL. */
  selected(symbol: string | undefined): readonly Instrument[] {
    return symbol === undefined ? this.all : [this.bySymbol(symbol)];
  }

  /** For ids from clients: undefined when there is no such instrument. */
  findById(instrumentId: number): Instrument | undefined {
    return this.instrumentsById[instrumentId];
  }

  /** For ids from the data folder. The exchange does not start when one of their instruments is missing. */
  byId(instrumentId: number): Instrument {
    return must(this.instrumentsById[instrumentId], `instrument ${instrumentId} in the configuration`);
  }
}
