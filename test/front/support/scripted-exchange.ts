import { BUY, type Permission, SELL } from "../../../src/core/base/enums.ts";
import { OrderPlaced, Traded } from "../../../src/core/protocol/events.ts";
import type { Message } from "../../../src/core/protocol/message-schema.ts";
import type { SymbolSummary } from "../../../src/core/protocol/payloads.ts";
import type { Auth } from "../../../src/front/auth/auth.ts";
import { type LimitSettings, Limits } from "../../../src/front/auth/limits.ts";
import { ApiError } from "../../../src/front/common/errors.ts";
import { MarketData } from "../../../src/front/exchange/market.ts";
import { Transfers } from "../../../src/front/exchange/transfers.ts";
import type { Answer } from "../../../src/front/http/answer.ts";
import type { StreamHistory } from "../../../src/front/streams/streams.ts";
import type { Relay } from "../../../src/front/websocket/relay.ts";
import { WebSocketApi } from "../../../src/front/websocket/websocket-api.ts";
import type { FundingRateRecord } from "../../../src/store/database/history-schema.ts";
import { Hub, ScriptedClient } from "./scripted-client.ts";
import { EMPTY_HISTORY, make, ScriptedEngine, START } from "./scripted-engine.ts";

export const BTC = 1;
export const ETH = 2;
export const ALICE = 17;
export const BOB = 18;

export interface Exchange {
  engine: ScriptedEngine;
  /** Difference of the machine's clock from the engine's time. */
  machine: { setMs: number };
  market: MarketData;
  channels: WebSocketApi;
  hub: Hub;
  /** The trading requests of sockets: op, params and account. The test answers them. */
  trades: { op: string; params: unknown; accountId: number; answer: Answer }[];
  /** Errors. */
  logged: string[];
  connect(isForeign?: boolean): ScriptedClient;
}

/** Tokens: "alice", "bob", "alice-blind" (may not read), "alice-brief" (expires in a second). Keys: "key" of Alice's. */
const socket: Auth["socket"] = (credentials) => {
  const identity = (accountId: number, credential: string, permissions: Permission[] = ["READ"], expiresAt = 0) => ({
    accountId,
    permissions,
    expiresAt,
    credential,
    record: null,
  });
  if ("apiKey" in credentials) {
    const { apiKey, timestamp, signature } = credentials;
    if (signature === "good" && timestamp === START) return identity(ALICE, apiKey);
    throw new ApiError("INVALID_KEY_OR_SIGNATURE");
  }
  switch (credentials.token) {
    case "alice":
      return identity(ALICE, "hash-of-alice");
    case "bob":
      return identity(BOB, "hash-of-bob");
    case "alice-trader":
      return identity(ALICE, "hash-of-alice-trader", ["TRADE"]);
    case "alice-blind":
      return identity(ALICE, "hash-of-alice-blind", ["TRADE"]);
    case "alice-brief":
      return identity(ALICE, "hash-of-alice-brief", ["READ", "TRADE"], START + 1000);
    default:
      throw new ApiError("INVALID_TOKEN");
  }
};

export const limited = (changes: Partial<LimitSettings> = {}): Limits | null =>
  Limits.open({
    rateLimit: "on",
    host: "",
    trustedProxies: [],
    orderRate: 20,
    cancelRate: 60,
    requestRate: 1,
    rateBurst: 1,
    maxSocketsPerAddress: 9,
    accountRate: 1,
    ...changes,
  });

export async function open(
  states: Record<number, Partial<SymbolSummary>> = {},
  symbols?: string[],
  limits: Limits | null = null,
  history: Partial<StreamHistory> = {},
  fundingRates: FundingRateRecord[] = [],
  relay?: Relay,
): Promise<Exchange> {
  const engine = new ScriptedEngine(symbols);
  const machine = { setMs: 0 };
  const now = (): number => engine.time + machine.setMs;
  const past = { minuteCandles: [], trades: [], liquidations: [], fundingRates };
  const opening = MarketData.open(engine, () => past, now);
  engine.describe(states);
  const market = await opening;
  const hub = new Hub();
  const publish = (topic: string, text: string): void => hub.publish(topic, text);
  const trades: Exchange["trades"] = [];
  const logged: string[] = [];
  const channels = new WebSocketApi({
    engine,
    market,
    transfers: new Transfers(engine),
    history: { ...EMPTY_HISTORY, ...history },
    publish,
    auth: { socket },
    trade: (op, params, { accountId }, answer) => void trades.push({ op, params, accountId, answer }),
    now,
    monotonic: () => engine.time,
    limits,
    ...(relay !== undefined && { relay }),
    log: { error: (_, message) => void logged.push(message) },
  });
  return {
    engine,
    machine,
    market,
    channels,
    hub,
    trades,
    logged,
    connect: (isForeign) => new ScriptedClient(hub, channels, isForeign),
  };
}

export const subscribe = (...channels: object[]): object => ({ op: "subscribe", id: 1, channels });
export const unsubscribe = (...channels: object[]): object => ({ op: "unsubscribe", id: 2, channels });
export const book = <M extends object>(more: M = {} as M) => ({ channel: "orderbook", symbol: "BTC-PERP", ...more });

export const bid = (priceTicks: number, quantityLots: number): Message =>
  make(OrderPlaced, { side: BUY, priceTicks, quantityLots, rests: 1 });
export const ask = (priceTicks: number, quantityLots: number): Message =>
  make(OrderPlaced, { side: SELL, priceTicks, quantityLots, rests: 1 });

export const alicesTrade = (): Message =>
  make(Traded, { takerSide: BUY, takerAccountId: ALICE, makerAccountId: BOB, priceTicks: 100, quantityLots: 0 });

/** One event-loop iteration. */
export const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
