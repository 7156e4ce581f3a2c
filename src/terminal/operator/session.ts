import { batch, type Signal, signal } from "@preact/signals";
import { PerpdClient } from "../../client/client.ts";
import { PerpdError } from "../../client/error.ts";
import type {
  Audit,
  Health,
  Instrument,
  Insurance,
  OperatorActList,
  OperatorActsQuery,
  PublicTrade,
  Ticker,
} from "../../client/types.ts";
import { refusalText } from "../text/refusals.ts";
import { type Reading, readingOf } from "./metrics.ts";
import { addSample } from "./samples.ts";
import { texts } from "./texts.ts";

/** The operator's token, in memory only, and everything that is read with it: once a second, long lists more seldom. */

const BASE_URL = `${location.origin}/v1`;
const EVERY_MS = 1_000;
const LISTS_EVERY_MS = 10_000;
/** The exchange answers within five seconds, if only that it cannot. */
const TIMEOUT_MS = 6_000;
/** A token that is no operator's is refused at once, without a look at the history. A later answer says nothing of it. */
const REFUSED_WITHIN_MS = 1_000;
const ROWS = 50;
const FUND_ROWS = 200;

export type ActKind = NonNullable<OperatorActsQuery["kind"]>;
export type OperatorAct = OperatorActList["data"][number];

/** How old the figures are that are read together. */
export interface Freshness {
  /** Why it is old. Null: it is not. */
  readonly staleReason: string | null;
  /** When it was read last, in milliseconds since the epoch. 0: never. */
  readonly readAt: number;
}

const UNREAD: Freshness = { staleReason: null, readAt: 0 };

/** Null: nobody is signed in. */
export const client = signal<PerpdClient | null>(null);
/** Why the last token was refused. */
export const refusedToken = signal<string | null>(null);
export const figuresFreshness = signal(UNREAD);
/** Of the lists, which come from the history: it may be stalled while the figures go on. */
export const listsFreshness = signal(UNREAD);
export const instruments = signal<readonly Instrument[]>([]);
export const tickers = signal<ReadonlyMap<string, Ticker>>(new Map());
export const health = signal<Health | null>(null);
export const reading = signal<Reading | null>(null);
export const insurance = signal<Insurance | null>(null);
/** Null: not read yet. */
export const liquidations = signal<readonly PublicTrade[] | null>(null);
/** Null: those of this kind are not read yet. */
export const acts = signal<readonly OperatorAct[] | null>(null);
export const actKind = signal<ActKind>("SYMBOL_STATUS");
export const audit = signal<{ readonly at: number; readonly report: Audit } | null>(null);

/** Asks the exchange whether the token is an operator's. Keeps it in memory if it is. */
export async function signIn(token: string): Promise<void> {
  const candidate = new PerpdClient({ baseUrl: BASE_URL, token, retries: 0, timeoutMs: TIMEOUT_MS });
  try {
    // The metrics need no history, which may be stalled. But others than operators may read them, too.
    await readMetrics(candidate);
    await Promise.race([candidate.operatorActs({ limit: 1 }), wait(REFUSED_WITHIN_MS)]);
  } catch (error) {
    const isWrong = error instanceof PerpdError && (error.status === 401 || error.status === 403);
    refusedToken.value = isWrong ? texts.wrongToken : refusalText(error);
    return;
  }
  batch(() => {
    refusedToken.value = null;
    figuresFreshness.value = UNREAD;
    listsFreshness.value = UNREAD;
    client.value = candidate;
  });
  void repeat(candidate, EVERY_MS, () => updateFigures(candidate, true));
  void repeat(candidate, LISTS_EVERY_MS, () => updateLists(candidate));
}

/** Forgets the token. `reason`: why, if it was not the operator who did. */
export function signOut(reason: string | null = null): void {
  batch(() => {
    client.value = null;
    refusedToken.value = reason;
    audit.value = null;
    insurance.value = null;
    liquidations.value = null;
    acts.value = null;
  });
}

const wait = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

async function repeat(from: PerpdClient, everyMs: number, read: () => Promise<void>): Promise<void> {
  while (client.peek() === from) {
    await read();
    await wait(everyMs);
  }
}

/** Reads at once, after a change. The lists come when they can. */
export async function refresh(): Promise<void> {
  const from = client.peek();
  if (from === null) return;
  void updateLists(from);
  await updateFigures(from, false);
}

/** `isSample`: it becomes a point of the charts. */
const updateFigures = (from: PerpdClient, isSample: boolean): Promise<void> =>
  update(from, figuresFreshness, () => readFigures(from, isSample));

const updateLists = (from: PerpdClient): Promise<void> => update(from, listsFreshness, () => readLists(from));

async function update(from: PerpdClient, freshness: Signal<Freshness>, read: () => Promise<void>): Promise<void> {
  let staleReason: string | null = null;
  try {
    await read();
  } catch (error) {
    if (client.peek() !== from) return;
    if (error instanceof PerpdError && error.code === "OPERATOR_REQUIRED") return signOut(texts.tokenEnded);
    staleReason = refusalText(error);
  }
  if (client.peek() !== from) return;
  const readAt = staleReason === null ? Date.now() : freshness.peek().readAt;
  freshness.value = { staleReason, readAt };
}

let readsBegun = 0;
let shownRead = 0;

async function readFigures(from: PerpdClient, isSample: boolean): Promise<void> {
  const number = ++readsBegun;
  const [metrics, state, symbols, prices] = await Promise.all([
    readMetrics(from),
    from.health(),
    from.symbols(),
    from.tickers(),
  ]);
  // A later read that was answered first knows more.
  if (client.peek() !== from || number < shownRead) return;
  shownRead = number;
  batch(() => {
    if (isSample) {
      addSample(reading.peek(), metrics);
      reading.value = metrics;
    }
    health.value = state;
    instruments.value = symbols.data;
    tickers.value = new Map(prices.data.map((each) => [each.symbol, each]));
  });
}

/** PerpdClient reads JSON only, and metrics are text. */
async function readMetrics({ token }: PerpdClient): Promise<Reading> {
  const sentAt = performance.now();
  const response = await fetch(`${BASE_URL}/metrics`, {
    headers: { Authorization: `Bearer ${token}` },
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  const text = await response.text();
  if (!response.ok) throw new PerpdError(response.status, JSON.parse(text));
  const at = performance.now();
  return readingOf(text, at, at - sentAt);
}

async function readLists(from: PerpdClient): Promise<void> {
  const { data: symbols } = await from.symbols();
  const [fund, trades] = await Promise.all([
    from.insurance({ limit: FUND_ROWS }),
    Promise.all(symbols.map(({ symbol }) => from.liquidations(symbol, { limit: ROWS }))),
    // Not after the others: it also says that the token is no operator's any more.
    readActs(from),
  ]);
  if (client.peek() !== from) return;
  const newest = trades.flatMap(({ data }) => data).sort((a, b) => b.time - a.time);
  batch(() => {
    insurance.value = fund;
    liquidations.value = newest.slice(0, ROWS);
  });
}

async function readActs(from: PerpdClient): Promise<void> {
  const kind = actKind.peek();
  const { data } = await from.operatorActs({ kind, limit: ROWS });
  if (client.peek() === from && kind === actKind.peek()) acts.value = data;
}

export function chooseActs(kind: ActKind): void {
  actKind.value = kind;
  acts.value = null;
  void refresh();
}
