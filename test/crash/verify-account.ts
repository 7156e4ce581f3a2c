import { createHmac } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import type { Balance, Fill, LedgerEntry, Order, Page, Position, Transfer } from "../../src/client/types.ts";
import type { Api } from "../e2e/support/api.ts";
import { decimal, millionths } from "../e2e/support/decimal.ts";
import { type CrashLoad, checkingApi, sendOrder, sendTransfer } from "./load.ts";
import {
  type AccountModel,
  ISOLATED_SYMBOL,
  isOpen,
  type OrderEntry,
  type RequestState,
  SYMBOLS,
  transferKey,
  updateOrder,
} from "./model.ts";

/** Number of acknowledged requests of each kind that are repeated after each restart. */
const REPEATED = 5;
const STATUS_ORDER = ["PENDING", "SENT", "COMPLETED"];

/**
 * Checks one account after a restart against all replies that it got. Reads lists from `since` on, since older rows
 * were checked before; `since` 0 checks everything.
 */
export class AccountCheck {
  /** The current open orders. */
  openOrders: Order[] = [];
  private readonly load: CrashLoad;
  private readonly account: AccountModel;
  private readonly since: number;
  private readonly api: Api;
  private readonly who: string;

  constructor(load: CrashLoad, account: AccountModel, since: number) {
    this.load = load;
    this.account = account;
    this.since = since;
    this.api = checkingApi(load, account.token);
    this.who = `account ${account.accountId}`;
  }

  async run(): Promise<void> {
    await this.checkOrders();
    await this.checkFills();
    await this.checkTransfers();
    await this.checkLedger();
    await this.checkMoney();
    await this.checkLeverage();
    await this.checkKeys();
    await this.checkSessions();
  }

  /** Repeats all unanswered requests and some acknowledged ones: each must have been done exactly once. */
  async retry(): Promise<void> {
    for (const [id, entry] of this.due(this.account.orders)) {
      const known = entry.order?.orderId ?? null;
      const answer = await sendOrder(this.load, this.account, entry);
      if (answer === null) this.other(`the retry of ${id} has no answer`);
      else this.expectOnce(id, known, answer.status, answer.body.orderId, answer.text);
    }
    for (const [id, entry] of this.due(this.account.transfers)) {
      const known = entry.transfer?.transferId ?? null;
      const answer = await sendTransfer(this.load, this.account, entry);
      if (answer === null) this.other(`the retry of ${id} has no answer`);
      else this.expectOnce(id, known, answer.status, answer.body.transferId, answer.text);
    }
  }

  private due<E extends { state: RequestState }>(entries: ReadonlyMap<string, E>): [string, E][] {
    const asked = [...entries].filter(([, entry]) => entry.state === "ASKED");
    const acknowledged = [...entries].filter(([, entry]) => entry.state === "ACKNOWLEDGED");
    for (let i = 0; i < REPEATED && acknowledged.length > 0; i++) asked.push(this.load.random.pick(acknowledged));
    return asked;
  }

  /** `known`: the id found after the restart, or null. */
  private expectOnce(id: string, known: string | null, status: number, now: string, text: string): void {
    if (known === null) {
      if (status === 200) this.lost(`${id} is known to its retry only: ${text}`);
    } else if (status === 201) this.invented(`the retry of ${id} did it again: ${text}`);
    else if (status !== 200) this.lost(`the retry of ${id}, which was done: ${text}`);
    else if (now !== known) this.lost(`the retry of ${id} is answered with ${now}, not ${known}`);
  }

  // ---- orders and fills --------------------------------------------------------------------------------------------

  private async checkOrders(): Promise<void> {
    const { account } = this;
    this.openOrders = await this.pages<Order>("/orders", false);
    const closed = await this.pages<Order>("/orders/history");
    for (const order of this.openOrders) if (!isOpen(order)) this.other(`${order.orderId} is listed as open`);
    for (const order of closed) if (isOpen(order)) this.other(`${order.orderId} is listed as closed`);
    const seen = new Map<string, string>();
    let closings = 0;
    for (const order of [...this.openOrders, ...closed]) {
      const id = order.clientOrderId;
      if (id === null) {
        closings++;
        this.checkClosing(order);
        continue;
      }
      if (seen.has(id)) this.invented(`${id} is order ${seen.get(id)} and order ${order.orderId}`);
      seen.set(id, order.orderId);
      const entry = account.orders.get(id);
      if (entry === undefined) this.invented(`order ${id} was never asked for`);
      else this.checkOrder(id, entry, order);
    }
    if (closings > account.closings.size + account.closingsAsked)
      this.invented(`${closings} orders without a client order id`);
    for (const [id, entry] of account.orders) {
      if (entry.state !== "ACKNOWLEDGED" || (entry.settled && this.since > 0)) continue;
      if (!seen.has(id)) this.lost(`order ${id}, last ${JSON.stringify(entry.order)}`);
    }
  }

  private checkOrder(id: string, entry: OrderEntry, now: Order): void {
    const { body, order: was } = entry;
    if (entry.state === "REFUSED") this.invented(`order ${id} was refused: ${JSON.stringify(now)}`);
    if (
      now.symbol !== body.symbol ||
      now.side !== body.side ||
      now.type !== body.type ||
      body.price !== (now.price ?? undefined)
    )
      this.lost(`order ${id} is not what was asked for: ${JSON.stringify(now)} for ${JSON.stringify(body)}`);
    if (was !== null) {
      const isSame = isDeepStrictEqual(was, now);
      const mayDiffer = isOpen(was) && now.orderId === was.orderId && now.createdAt === was.createdAt;
      const isLater = now.sequence > was.sequence && millionths(now.filledQuantity) >= millionths(was.filledQuantity);
      if (!isSame && !(mayDiffer && isLater))
        this.lost(`order ${id} was ${JSON.stringify(was)} and is ${JSON.stringify(now)}`);
    }
    updateOrder(entry, now);
    entry.settled = !isOpen(now);
  }

  private checkClosing(now: Order): void {
    const { account } = this;
    const was = account.closings.get(now.orderId);
    if (was === undefined) {
      account.closings.set(now.orderId, now);
      account.closingsAsked--;
      if (account.closingsAsked < 0) this.invented(`order ${now.orderId} closes a position, unasked`);
    } else if (!isDeepStrictEqual(was, now))
      this.lost(`order ${now.orderId} was ${JSON.stringify(was)} and is ${JSON.stringify(now)}`);
  }

  private async checkFills(): Promise<void> {
    const { account } = this;
    const listed = await this.pages<Fill>("/account/trades");
    const inList = new Set<string>();
    for (const fill of listed) {
      if (inList.has(fill.tradeId)) this.invented(`trade ${fill.tradeId} is listed twice`);
      inList.add(fill.tradeId);
      const was = account.fills.get(fill.tradeId);
      if (was !== undefined && !isDeepStrictEqual(was, fill))
        this.lost(`fill ${JSON.stringify(was)} is now ${JSON.stringify(fill)}`);
      account.fills.set(fill.tradeId, fill);
    }
    if (this.since === 0)
      for (const tradeId of account.fills.keys())
        if (!inList.has(tradeId)) this.lost(`trade ${tradeId} is listed no more`);

    const filled = new Map<string, bigint>();
    for (const fill of account.fills.values())
      if (fill.orderId !== null) filled.set(fill.orderId, (filled.get(fill.orderId) ?? 0n) + millionths(fill.quantity));
    const orders = [...account.closings.values(), ...[...account.orders.values()].map((entry) => entry.order)];
    for (const order of orders) {
      if (order === null) continue;
      const quantity = filled.get(order.orderId) ?? 0n;
      if (quantity !== millionths(order.filledQuantity))
        this.lost(`order ${order.orderId}: fills of ${decimal(quantity)}, not ${order.filledQuantity}`);
      filled.delete(order.orderId);
    }
    for (const orderId of filled.keys()) this.invented(`fills of order ${orderId}, which is not the account's`);
    for (const [id, { fills }] of account.orders)
      for (const fill of fills)
        if (!isDeepStrictEqual(account.fills.get(fill.tradeId), fill))
          this.lost(`order ${id} was answered with fill ${JSON.stringify(fill)}`);
  }

  // ---- money -------------------------------------------------------------------------------------------------------

  private async checkTransfers(): Promise<void> {
    const { account } = this;
    const seen = new Set<string>();
    for (const path of ["/account/deposit", "/account/withdraw"] as const) {
      const list = path === "/account/deposit" ? "/account/deposits" : "/account/withdrawals";
      for (const now of await this.pages<Transfer>(list)) {
        const key = transferKey(path, now.reference ?? "");
        if (seen.has(key)) this.invented(`${key} is listed twice`);
        seen.add(key);
        const entry = account.transfers.get(key);
        if (entry === undefined || entry.state === "REFUSED") {
          this.invented(`${key}: ${JSON.stringify(now)}`);
          continue;
        }
        const was = entry.transfer;
        const goesOn = was === null || STATUS_ORDER.indexOf(now.status) >= STATUS_ORDER.indexOf(was.status);
        if (now.amount !== entry.body.amount || (was !== null && now.transferId !== was.transferId) || !goesOn)
          this.lost(`${key} was ${JSON.stringify(was)} and is ${JSON.stringify(now)}`);
        entry.transfer = now;
      }
    }
    for (const [key, { state, transfer }] of account.transfers) {
      if (state !== "ACKNOWLEDGED" || seen.has(key)) continue;
      if (this.since === 0 || (transfer?.createdAt ?? 0) >= this.since)
        this.lost(`${key}: ${JSON.stringify(transfer)}`);
    }
  }

  /** Every entry that was listed before is still listed, unchanged. */
  private async checkLedger(): Promise<void> {
    const { entries } = this.account;
    const inList = new Set<string>();
    for (const entry of await this.pages<LedgerEntry>("/account/ledger")) {
      if (inList.has(entry.entryId)) this.invented(`ledger entry ${entry.entryId} is listed twice`);
      inList.add(entry.entryId);
      const was = entries.get(entry.entryId);
      if (was !== undefined && !isDeepStrictEqual(was, entry))
        this.lost(`ledger entry ${JSON.stringify(was)} is now ${JSON.stringify(entry)}`);
      entries.set(entry.entryId, entry);
    }
    if (this.since === 0)
      for (const id of entries.keys()) if (!inList.has(id)) this.lost(`ledger entry ${id} is listed no more`);
  }

  /** Balance and positions equal the sum of transfers and fills, exact to the quantum and the lot. */
  private async checkMoney(): Promise<void> {
    const { account } = this;
    let money = 0n;
    for (const { path, transfer } of account.transfers.values()) {
      if (transfer === null) continue;
      money += millionths(transfer.amount) * (path === "/account/deposit" ? 1n : -1n);
    }
    const sizes = new Map<string, bigint>();
    for (const { symbol, side, quantity, fee, realizedPnl } of account.fills.values()) {
      money += millionths(realizedPnl) - millionths(fee);
      const signed = side === "BUY" ? millionths(quantity) : -millionths(quantity);
      sizes.set(symbol, (sizes.get(symbol) ?? 0n) + signed);
    }
    const balance = await this.api.get<Balance>("/account/balance");
    const { data: positions } = await this.api.get<Page<Position>>("/positions");
    let wallet = millionths(balance.walletBalance);
    for (const { symbol, marginMode, isolatedMargin, unrealizedPnl } of positions) {
      if ((marginMode === "ISOLATED") !== (symbol === ISOLATED_SYMBOL)) this.lost(`${symbol}: its margin mode`);
      if (isolatedMargin !== null) wallet += millionths(isolatedMargin) - millionths(unrealizedPnl);
    }
    if (wallet !== money) this.unbalanced(`has ${decimal(wallet)}, but its history adds up to ${decimal(money)}`);
    const listed = [...account.entries.values()].reduce((sum, { amount }) => sum + millionths(amount), 0n);
    if (wallet !== listed) this.unbalanced(`has ${decimal(wallet)}, but its ledger adds up to ${decimal(listed)}`);
    for (const symbol of SYMBOLS) {
      const position = positions.find((each) => each.symbol === symbol);
      const size = millionths(position?.size ?? "0") * (position?.side === "SHORT" ? -1n : 1n);
      if (size !== (sizes.get(symbol) ?? 0n))
        this.unbalanced(`${symbol}: a position of ${decimal(size)}, but fills of ${decimal(sizes.get(symbol) ?? 0n)}`);
    }
  }

  private async checkLeverage(): Promise<void> {
    const { data } = await this.api.get<Page<Position>>("/positions");
    for (const { symbol, leverage } of data) {
      const setting = this.account.leverage.get(symbol as (typeof SYMBOLS)[number]);
      if (setting === undefined) continue;
      const { known, asked } = setting;
      if (leverage !== known && !asked.includes(leverage))
        this.lost(`${symbol}: a leverage of ${leverage}, not ${known} (or ${asked.join(", ")})`);
      Object.assign(setting, { known: leverage, asked: [] });
    }
  }

  // ---- keys and sessions -------------------------------------------------------------------------------------------

  private async checkKeys(): Promise<void> {
    const { account } = this;
    const { data } = await this.api.get<Page<{ apiKey: string }>>("/auth/keys");
    const listed = new Set(data.map((key) => key.apiKey));
    if (listed.size !== data.length) this.invented("a key is listed twice");
    for (const apiKey of listed) {
      const key = account.keys.get(apiKey);
      if (key?.life === "ENDED") this.lost(`key ${apiKey} was revoked, and is back`);
      if (key !== undefined) continue;
      account.keysAsked--;
      if (account.keysAsked < 0) this.invented(`key ${apiKey}`);
      account.keys.set(apiKey, { secret: null, life: "LIVE" });
    }
    // Keys that do not exist by now were never created.
    account.keysAsked = 0;
    for (const [apiKey, key] of account.keys) {
      if (key.life === "LIVE" && !listed.has(apiKey)) this.lost(`key ${apiKey}`);
      key.life = listed.has(apiKey) ? "LIVE" : "ENDED";
      if (key.life === "LIVE" && key.secret !== null) await this.useKey(apiKey, key.secret);
    }
  }

  private async useKey(apiKey: string, secret: string): Promise<void> {
    const timestamp = String(Date.now());
    const signature = createHmac("sha256", secret).update(`${timestamp}GET/v1/account/balance`).digest("hex");
    const headers = { "x-api-key": apiKey, "x-timestamp": timestamp, "x-signature": signature };
    const answer = await checkingApi(this.load).request("GET", "/account/balance", undefined, headers);
    if (answer.status !== 200) this.lost(`key ${apiKey} is refused: ${answer.text}`);
  }

  private async checkSessions(): Promise<void> {
    for (const [token, life] of this.account.sessions) {
      const { status } = await checkingApi(this.load, token).request("GET", "/account/balance");
      if (life === "LIVE" && status !== 200) this.lost("a session");
      if (life === "ENDED" && status !== 401) this.lost("the end of a session");
      if (status === 200) this.account.sessions.set(token, "LIVE");
      // An ended session is checked once.
      else this.account.sessions.delete(token);
    }
  }

  /** Reads all pages of a list. */
  private async pages<T>(path: string, sinceOnly = true): Promise<T[]> {
    const rows: T[] = [];
    const from = sinceOnly && this.since > 0 ? `&startTime=${this.since}` : "";
    let cursor: string | null = "";
    while (cursor !== null) {
      const more: string = cursor === "" ? "" : `&cursor=${cursor}`;
      const page: Page<T> = await this.api.get(`${path}?limit=1000${from}${more}`);
      rows.push(...page.data);
      cursor = page.nextCursor;
    }
    return rows;
  }

  private lost(text: string): void {
    this.load.findings.lost.push(`${this.who}: ${text}`);
  }
  private invented(text: string): void {
    this.load.findings.invented.push(`${this.who}: ${text}`);
  }
  private unbalanced(text: string): void {
    this.load.findings.unbalanced.push(`${this.who}: ${text}`);
  }
  private other(text: string): void {
    this.load.findings.other.push(`${this.who}: ${text}`);
  }
}
