import { AssertionError } from "node:assert";
import type { CreatedApiKey, NewOrder, Order, PlacedOrder, Transfer } from "../../src/client/types.ts";
import { patient } from "../e2e/replication/patient.ts";
import { type Answer, Api } from "../e2e/support/api.ts";
import type { Random } from "../e2e/support/random.ts";
import { pause } from "../e2e/support/wait.ts";
import { login } from "../e2e/support/wallet.ts";
import {
  type AccountModel,
  type Findings,
  ISOLATED_SYMBOL,
  type OrderEntry,
  SYMBOLS,
  type SymbolName,
  type TransferEntry,
  transferKey,
  updateOrder,
} from "./model.ts";

/** Price around which orders are placed, its tick, and possible quantities. */
const MARKETS: Record<SymbolName, { price: number; tick: number; decimals: number; quantities: string[] }> = {
  "BTC-PERP": { price: 65_000, tick: 0.1, decimals: 1, quantities: ["0.001", "0.002", "0.005", "0.01"] },
  "ETH-PERP": { price: 3000, tick: 0.01, decimals: 2, quantities: ["0.01", "0.05", "0.1", "0.2"] },
  "SOL-PERP": { price: 150, tick: 0.001, decimals: 3, quantities: ["0.1", "0.5", "1", "2"] },
};
export const indexPriceOf = (symbol: SymbolName, shift = 0): string => {
  const { price, tick, decimals } = MARKETS[symbol];
  return (price + shift * tick).toFixed(decimals).replace(/\.?0+$/, "");
};
const ADDRESS = "0x8ba1f109551bD432803012645Ac136ddd64DBA72";
const MAX_LIVE_KEYS = 3;

/** State that all clients of a run share. */
export interface CrashLoad {
  readonly random: Random;
  readonly findings: Findings;
  url: string;
  /** True when clients must stop sending. */
  stopping: boolean;
  /** Number of acknowledged changes. */
  acknowledged: number;
  nextId: number;
  /** Requests are checks after the load: see checkingApi(). */
  isChecking: boolean;
  /** How often a check had to ask again. */
  refusedChecks: number;
  /** Between two requests of a client. */
  pauseMs: number;
  /** Called for each acknowledged change: where it was asked for, and when, by performance.now(). */
  onAcknowledged(url: string, askedAtMs: number): void;
}

/** A load that has not begun. */
export function newLoad(random: Random, findings: Findings): CrashLoad {
  const idle = {
    url: "",
    stopping: false,
    acknowledged: 0,
    nextId: 1,
    isChecking: false,
    refusedChecks: 0,
    pauseMs: 0,
    onAcknowledged() {},
  };
  return { random, findings, ...idle };
}

/** For checks after the load: a leader that cannot tell for a moment whether it leads is asked again, and that is counted. */
export const checkingApi = (load: CrashLoad, token?: string): Api =>
  patient(new Api(load.url, token), () => {
    load.refusedChecks++;
  });

/** Sends a request. Resolves with the reply, or null when the outcome is unknown. */
export async function tryRequest<T>(
  load: CrashLoad,
  token: string,
  method: string,
  path: string,
  body?: object,
): Promise<Answer<T> | null> {
  const { url } = load;
  const askedAtMs = performance.now();
  let answer: Answer<T>;
  try {
    const api = load.isChecking ? checkingApi(load, token) : new Api(url, token);
    answer = await api.request<T>(method, path, body);
  } catch (thrown) {
    // The reply violates openapi.json.
    if (thrown instanceof AssertionError) load.findings.other.push(thrown.message);
    return null;
  }
  const { status, text } = answer;
  if (status < 300) {
    load.acknowledged++;
    load.onAcknowledged(url, askedAtMs);
    return answer;
  }
  if (status === 503 && text.includes('"TIMEOUT"')) return null;
  if (status >= 500 && status !== 503) load.findings.other.push(`${method} ${path}: ${text}`);
  return answer;
}

/**
 * One of several clients of an account; it sends one request after the other. `first`: the only one that sends requests
 * that must not race.
 */
export async function runClient(load: CrashLoad, account: AccountModel, first: boolean): Promise<void> {
  while (!load.stopping) {
    await step(load, account, first);
    // A dead server refuses at once: yield, so that this loop does not block.
    await pause(load.pauseMs);
  }
}

async function step(load: CrashLoad, account: AccountModel, first: boolean): Promise<void> {
  const { random } = load;
  const roll = random.next();
  if (roll < 0.6) return placeOrder(load, account, newOrder(load));
  if (roll < 0.8) return cancelOne(load, account);
  if (roll < 0.87) return transfer(load, account, newTransfer(load));
  if (!first) return placeOrder(load, account, newOrder(load));
  if (roll < 0.89) return cancelAll(load, account);
  if (roll < 0.92) return setLeverage(load, account, random.pick(SYMBOLS), random.between(5, 20));
  if (roll < 0.94) return closePosition(load, account);
  if (roll < 0.955) return moveMargin(load, account);
  if (roll < 0.97) return changeKeys(load, account);
  return changeSessions(load, account);
}

// ---- orders --------------------------------------------------------------------------------------------------------

function newOrder(load: CrashLoad): NewOrder {
  const { random } = load;
  const symbol = random.pick(SYMBOLS);
  const side = random.pick(["BUY", "SELL"] as const);
  const clientOrderId = `c${load.nextId++}`;
  const quantity = random.pick(MARKETS[symbol].quantities);
  const type = random.next() < 0.1 ? "MARKET" : "LIMIT";
  if (type === "MARKET") return { symbol, side, type, quantity, clientOrderId };
  // The sides overlap by a quarter: some trade, most rest.
  const shift = random.between(-150, 50) * (side === "BUY" ? 1 : -1);
  const order: NewOrder = { symbol, side, type, quantity, price: indexPriceOf(symbol, shift), clientOrderId };
  const roll = random.next();
  if (roll < 0.1) order.timeInForce = "IOC";
  else if (roll < 0.15) order.timeInForce = "FOK";
  else if (roll < 0.25) order.postOnly = true;
  else if (roll < 0.3) order.reduceOnly = true;
  else if (roll < 0.4)
    order.selfTradePreventionMode = random.pick(["EXPIRE_MAKER", "EXPIRE_BOTH", "DECREMENT"] as const);
  else if (roll < 0.5) order.displayQuantity = MARKETS[symbol].quantities[0] as string;
  return order;
}

async function placeOrder(load: CrashLoad, account: AccountModel, body: NewOrder): Promise<void> {
  const entry: OrderEntry = { body, state: "ASKED", order: null, fills: [], settled: false };
  account.orders.set(body.clientOrderId ?? "", entry);
  await sendOrder(load, account, entry);
}

/** Also used for retries: the same id with the same body. */
export async function sendOrder(
  load: CrashLoad,
  account: AccountModel,
  entry: OrderEntry,
): Promise<Answer<PlacedOrder> | null> {
  const answer = await tryRequest<PlacedOrder>(load, account.token, "POST", "/orders", entry.body);
  if (answer === null) return null;
  if (answer.status >= 300) {
    entry.state = "REFUSED";
    return answer;
  }
  const { fills, duplicate: _, ...order } = answer.body;
  entry.state = "ACKNOWLEDGED";
  entry.fills = fills;
  updateOrder(entry, order);
  return answer;
}

async function cancelOne(load: CrashLoad, account: AccountModel): Promise<void> {
  const open = account.openOrderIds();
  if (open.length === 0) return;
  const id = load.random.pick(open);
  const answer = await tryRequest<Order>(load, account.token, "DELETE", `/orders/client:${id}`);
  if (answer === null || answer.status >= 300) return;
  recordClosed(account, answer.body);
}

async function cancelAll(load: CrashLoad, account: AccountModel): Promise<void> {
  const symbol = load.random.pick(SYMBOLS);
  const answer = await tryRequest<{ data: Order[] }>(load, account.token, "DELETE", `/orders?symbol=${symbol}`);
  if (answer === null || answer.status >= 300) return;
  for (const order of answer.body.data) recordClosed(account, order);
}

function recordClosed(account: AccountModel, order: Order): void {
  const entry = order.clientOrderId === null ? undefined : account.orders.get(order.clientOrderId);
  if (entry === undefined) return;
  // The reply to the cancel may arrive before that to the placement.
  entry.state = "ACKNOWLEDGED";
  updateOrder(entry, order);
}

async function closePosition(load: CrashLoad, account: AccountModel): Promise<void> {
  account.closingsAsked++;
  const symbol = load.random.pick(SYMBOLS);
  const answer = await tryRequest<PlacedOrder>(load, account.token, "POST", `/positions/${symbol}/close`, {});
  if (answer === null) return;
  if (answer.status >= 300) {
    account.closingsAsked--;
    return;
  }
  const { fills: _, ...order } = answer.body;
  account.closings.set(order.orderId, order);
}

// ---- money ---------------------------------------------------------------------------------------------------------

function newTransfer(load: CrashLoad): TransferEntry {
  const { random } = load;
  const reference = `t${load.nextId++}`;
  const amount = `${random.between(1, 50)}.${random.between(1, 999_999).toString().padStart(6, "0")}`.replace(
    /0+$/,
    "",
  );
  const [path, more] =
    random.next() < 0.6 ? (["/account/deposit", {}] as const) : (["/account/withdraw", { address: ADDRESS }] as const);
  return { path, body: { asset: "USDC", amount, reference, ...more }, state: "ASKED", transfer: null };
}

export async function transfer(load: CrashLoad, account: AccountModel, entry: TransferEntry): Promise<void> {
  account.transfers.set(transferKey(entry.path, entry.body.reference), entry);
  await sendTransfer(load, account, entry);
}

export async function sendTransfer(
  load: CrashLoad,
  account: AccountModel,
  entry: TransferEntry,
): Promise<Answer<Transfer> | null> {
  const answer = await tryRequest<Transfer>(load, account.token, "POST", entry.path, entry.body);
  if (answer === null) return null;
  entry.state = answer.status < 300 ? "ACKNOWLEDGED" : "REFUSED";
  if (answer.status < 300) entry.transfer = answer.body;
  return answer;
}

// ---- leverage, keys, sessions --------------------------------------------------------------------------------------

export async function setLeverage(
  load: CrashLoad,
  account: AccountModel,
  symbol: SymbolName,
  leverage: number,
): Promise<void> {
  const setting = account.leverage.get(symbol);
  if (setting === undefined) return;
  setting.asked.push(leverage);
  const answer = await tryRequest(load, account.token, "POST", `/positions/${symbol}/leverage`, { leverage });
  if (answer === null) return;
  if (answer.status < 300) Object.assign(setting, { known: leverage, asked: [] });
  else setting.asked.pop();
}

/** The move may be refused without a position; money must never be lost. */
async function moveMargin(load: CrashLoad, account: AccountModel): Promise<void> {
  const amount = String(load.random.between(-50, 100) || 1);
  await tryRequest(load, account.token, "POST", `/positions/${ISOLATED_SYMBOL}/margin`, { amount });
}

async function changeKeys(load: CrashLoad, account: AccountModel): Promise<void> {
  const live = [...account.keys].filter(([, key]) => key.life === "LIVE");
  const [oldest] = live;
  if (oldest !== undefined && live.length >= MAX_LIVE_KEYS) {
    const [apiKey, key] = oldest;
    key.life = "ENDING";
    const answer = await tryRequest(load, account.token, "DELETE", `/auth/keys/${apiKey}`);
    if (answer !== null) key.life = answer.status < 300 ? "ENDED" : "LIVE";
    return;
  }
  account.keysAsked++;
  const body = { label: `key ${load.nextId++}`, permissions: ["READ"] };
  const answer = await tryRequest<CreatedApiKey>(load, account.token, "POST", "/auth/keys", body);
  if (answer === null) return;
  account.keysAsked--;
  if (answer.status < 300) account.addKey(answer.body);
}

async function changeSessions(load: CrashLoad, account: AccountModel): Promise<void> {
  const other = [...account.sessions].find(([, life]) => life === "LIVE")?.[0];
  if (other !== undefined && load.random.next() < 0.4) {
    account.sessions.set(other, "ENDING");
    const answer = await tryRequest(load, other, "POST", "/auth/logout");
    if (answer !== null) account.sessions.set(other, answer.status < 300 ? "ENDED" : "LIVE");
    return;
  }
  try {
    const { token } = await login(load.url, account.privateKey);
    load.acknowledged++;
    account.sessions.set(token, "LIVE");
  } catch {
    // A session whose reply was lost cannot be used: its token is unknown.
  }
}
