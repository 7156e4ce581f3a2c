import { batch, signal } from "@preact/signals";
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
const LISTS_EVERY = 10;
const TIMEOUT_MS = 5_000;
const ROWS = 50;
const FUND_ROWS = 200;

export type ActKind = NonNullable<OperatorActsQuery["kind"]>;
export type OperatorAct = OperatorActList["data"][number];

/** Null: nobody is signed in. */
export const client = signal<PerpdClient | null>(null);
/** Why the last token was refused. */
export const refusedToken = signal<string | null>(null);
/** Why the figures are old. Null: they are not. */
export const staleReason = signal<string | null>(null);
/** When the figures were read last, in milliseconds since the epoch. */
export const readAt = signal(0);
export const instruments = signal<readonly Instrument[]>([]);
export const tickers = signal<ReadonlyMap<string, Ticker>>(new Map());
export const health = signal<Health | null>(null);
export const reading = signal<Reading | null>(null);
export const insurance = signal<Insurance | null>(null);
export const liquidations = signal<readonly PublicTrade[]>([]);
export const acts = signal<readonly OperatorAct[]>([]);
export const actKind = signal<ActKind>("SYMBOL_STATUS");
export const audit = signal<{ readonly at: number; readonly report: Audit } | null>(null);

/** Asks the exchange whether the token is an operator's. Keeps it in memory if it is. */
export async function signIn(token: string): Promise<void> {
  const candidate = new PerpdClient({ baseUrl: BASE_URL, token, retries: 0, timeoutMs: TIMEOUT_MS });
  try {
    await candidate.operatorActs({ limit: 1 });
  } catch (error) {
    refusedToken.value = refusalText(error);
    return;
  }
  batch(() => {
    refusedToken.value = null;
    staleReason.value = null;
    client.value = candidate;
  });
  void readForever(candidate);
}

/** Forgets the token. `reason`: why, if it was not the operator who did. */
export function signOut(reason: string | null = null): void {
  batch(() => {
    client.value = null;
    refusedToken.value = reason;
    audit.value = null;
    acts.value = [];
  });
}

const wait = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

async function readForever(from: PerpdClient): Promise<void> {
  for (let turn = 0; client.peek() === from; turn++) {
    await read(from, turn % LISTS_EVERY === 0, true);
    await wait(EVERY_MS);
  }
}

/** Reads at once, after a change. */
export async function refresh(): Promise<void> {
  const from = client.peek();
  if (from !== null) await read(from, true, false);
}

/** `isSample`: it becomes a point of the charts. */
async function read(from: PerpdClient, withLists: boolean, isSample: boolean): Promise<void> {
  try {
    await Promise.all([readFigures(from, isSample), withLists && readLists(from)]);
    staleReason.value = null;
  } catch (error) {
    if (client.peek() !== from) return;
    if (error instanceof PerpdError && error.code === "OPERATOR_REQUIRED") return signOut(texts.tokenEnded);
    staleReason.value = refusalText(error);
  }
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
    readAt.value = Date.now();
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
  const [fund, ...lists] = await Promise.all([
    from.insurance({ limit: FUND_ROWS }),
    ...symbols.map(({ symbol }) => from.liquidations(symbol, { limit: ROWS })),
  ]);
  await readActs(from);
  if (client.peek() !== from) return;
  const newest = lists.flatMap(({ data }) => data).sort((a, b) => b.time - a.time);
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
  acts.value = [];
  void refresh();
}
