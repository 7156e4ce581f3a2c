import assert from "node:assert/strict";
import type {
  Audit,
  Balance,
  Fill,
  NewOrder,
  Order,
  Page,
  PlacedOrder,
  Position,
  Transfer,
} from "../../../src/client/types.ts";
import { Api } from "./api.ts";
import { OPERATOR_TOKEN, type TestServer } from "./server.ts";
import { until } from "./wait.ts";
import { login, newPrivateKey, type PrivateKey } from "./wallet.ts";

/** The faucet's default cap per account and day. */
export const FAUCET_CAP = "1000000";

/** Optional fields of a limit order. */
export type Limit = Omit<NewOrder, "symbol" | "type" | "side" | "price" | "quantity"> & { symbol?: string };

/** An account with a session. */
export class Trader extends Api {
  readonly accountId: string;
  readonly address: string;
  readonly privateKey: PrivateKey;

  constructor(url: string, token: string, accountId: string, address: string, privateKey: PrivateKey) {
    super(url, token);
    this.accountId = accountId;
    this.address = address;
    this.privateKey = privateKey;
  }

  place(order: NewOrder): Promise<PlacedOrder> {
    return this.call(201, "POST", "/orders", order);
  }

  buy(quantity: string, price: string, more: Limit = {}): Promise<PlacedOrder> {
    return this.place({ symbol: "BTC-PERP", side: "BUY", type: "LIMIT", price, quantity, ...more });
  }

  sell(quantity: string, price: string, more: Limit = {}): Promise<PlacedOrder> {
    return this.place({ symbol: "BTC-PERP", side: "SELL", type: "LIMIT", price, quantity, ...more });
  }

  market(side: "BUY" | "SELL", quantity: string, more: Limit = {}): Promise<PlacedOrder> {
    return this.place({ symbol: "BTC-PERP", side, type: "MARKET", quantity, ...more });
  }

  order(id: string): Promise<Order> {
    return this.get(`/orders/${id}`);
  }

  cancel(id: string): Promise<Order> {
    return this.call(200, "DELETE", `/orders/${id}`);
  }

  cancelAll(query = ""): Promise<{ canceled: number; data: Order[] }> {
    return this.call(200, "DELETE", `/orders${query}`);
  }

  openOrders(query = ""): Promise<Page<Order>> {
    return this.get(`/orders${query}`);
  }

  history(query = ""): Promise<Page<Order>> {
    return this.get(`/orders/history${query}`);
  }

  fills(query = ""): Promise<Page<Fill>> {
    return this.get(`/account/trades${query}`);
  }

  balance(): Promise<Balance> {
    return this.get("/account/balance");
  }

  /** The open position; null when there is none. */
  async position(symbol = "BTC-PERP"): Promise<Position | null> {
    const { data } = await this.get<Page<Position>>(`/positions?symbol=${symbol}`);
    assert.ok(data.length <= 1);
    return data[0] ?? null;
  }

  /** Resolves with the order after it has triggered, which happens in a transaction after that of the price. */
  fired(orderId: string): Promise<Order> {
    return until("the order to fire", async () => {
      const order = await this.order(orderId);
      return order.status !== "UNTRIGGERED" && order;
    });
  }

  deposit(amount: string, reference?: string): Promise<Transfer> {
    return this.call(201, "POST", "/account/deposit", {
      asset: "USDC",
      amount,
      ...(reference !== undefined && { reference }),
    });
  }
}

/** Opens an account with this much money (none for "0"). */
export async function openTrader(server: Pick<TestServer, "url">, money = "100000"): Promise<Trader> {
  const privateKey = newPrivateKey();
  const session = await login(server.url, privateKey);
  const trader = new Trader(server.url, session.token, session.accountId, session.address, privateKey);
  if (money !== "0") await trader.deposit(money);
  return trader;
}

export class Operator extends Api {
  constructor(server: Pick<TestServer, "url">) {
    super(server.url, OPERATOR_TOKEN);
  }

  setIndex(symbol: string, price: string): Promise<{ symbol: string; indexPrice: string }> {
    return this.call(200, "PUT", `/operator/index/${symbol}`, { price });
  }

  audit(): Promise<Audit> {
    return this.get("/operator/audit");
  }

  /** Runs the audit, which must find no fault. */
  async soundAudit(): Promise<Audit> {
    const audit = await this.audit();
    assert.deepEqual(audit.faults, []);
    assert.equal(audit.balanced, true);
    assert.equal(audit.money, audit.depositsMinusWithdrawals);
    for (const symbol of audit.symbols) assert.equal(symbol.size, "0", symbol.symbol);
    return audit;
  }

  /** Digests of all state that must not change when nothing was done. */
  async stateDigests(): Promise<string> {
    const { symbols, ledgerDigest, money } = await this.soundAudit();
    return JSON.stringify({ symbols, ledgerDigest, money });
  }
}
