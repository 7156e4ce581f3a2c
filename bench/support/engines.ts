import { OrderBook } from "nodejs-order-book";
import { DEFAULT_INSTRUMENTS } from "../../src/config/instruments.ts";
import { AccountCells } from "../../src/core/cells.ts";
import { compileInstrument } from "../../src/core/instrument.ts";
import { LedgerActor } from "../../src/core/ledger.ts";
import {
  BUY,
  CancelOrder,
  Deposit,
  type Event,
  FIRST_CUSTOMER_ACCOUNT,
  OpenSession,
  PlaceOrder,
  type Reply,
  SetIndexPrice,
  serialToId,
  Traded,
  type Turn,
} from "../../src/core/messages.ts";
import { blank, type Message } from "../../src/core/shape.ts";
import { SymbolActor } from "../../src/core/symbol.ts";
import { MID_TICKS, type OrderStream } from "./stream.ts";

/** Runs a stream one operation at a time, and says what was traded: a fast answer must be the right one. */
export interface Engine {
  readonly name: string;
  run(i: number): void;
  readonly tradedLots: number;
}

/** Orders that rest and orders that cross belong to different accounts, so that nobody meets itself. */
const RESTING_ACCOUNTS = 1000;
const CROSSING_ACCOUNTS = 64;
const ACCOUNTS = RESTING_ACCOUNTS + CROSSING_ACCOUNTS;
type LimitOptions = Parameters<OrderBook["limit"]>[0];
const TIME = 1_700_000_000_000;

/** The core as it runs in a worker: margin, matching, positions, fees, cells and events; only the bytes are left out. */
export function perpdEngine(stream: OrderStream): Engine {
  const [btc] = DEFAULT_INSTRUMENTS;
  const instrument = compileInstrument({ ...btc, maxOpenOrders: 100_000 });
  const cells = AccountCells.allocate(65_536);
  const actor = new SymbolActor(instrument, cells);
  const ledger = new LedgerActor({ faucetCapQuanta: 2 ** 49, withdrawalDelayMs: 0 }, cells);
  let tradedLots = 0;
  let sequence = 0;
  const turn: Turn = {
    time: TIME,
    emit(event: Event) {
      if (event.type === Traded.code) tradedLots += event.quantityLots;
    },
    reply(_reply: Reply) {},
  };
  for (let i = 0; i < ACCOUNTS; i++) {
    ledger.decide({ ...blank(OpenSession), address: `0x${i}`, tokenHash: String(i) } as Message, turn);
    const accountId = FIRST_CUSTOMER_ACCOUNT + i;
    ledger.decide({ type: Deposit.code, accountId, amountQuanta: 2 ** 48, reference: "" } as Message, turn);
  }
  cells.flush();
  decide({ type: SetIndexPrice.code, indexTicks: MID_TICKS } as Message);
  const place = blank(PlaceOrder);
  const cancel = blank(CancelOrder);
  const accountOfAdd = new Int32Array(stream.length);
  let adds = 0;
  return {
    name: "perpd core",
    run(i) {
      if (stream.isAdd[i] === 1) {
        const group = stream.crosses[i] === 1 ? RESTING_ACCOUNTS + (adds % CROSSING_ACCOUNTS) : adds % RESTING_ACCOUNTS;
        place.accountId = FIRST_CUSTOMER_ACCOUNT + group;
        accountOfAdd[adds++] = place.accountId;
        place.side = stream.side[i];
        place.priceTicks = stream.priceTicks[i];
        place.quantityLots = stream.lots[i];
        decide(place);
      } else {
        cancel.accountId = accountOfAdd[stream.target[i]];
        cancel.orderId = serialToId(stream.target[i] + 1, instrument.id);
        decide(cancel);
      }
    },
    get tradedLots() {
      return tradedLots;
    },
  };

  function decide(command: Message): void {
    actor.decide(command, turn);
    actor.settle(++sequence, TIME);
    cells.flush();
  }
}

/** The npm package: matching alone, no margin, no accounts. */
export function peerEngine(stream: OrderStream): Engine {
  const book = new OrderBook();
  let adds = 0;
  let tradedLots = 0;
  return {
    name: "nodejs-order-book",
    run(i) {
      if (stream.isAdd[i] === 1) {
        const size = stream.lots[i];
        const side = stream.side[i] === BUY ? "buy" : "sell";
        const id = String(adds++);
        const result = book.limit({ side, id, size, price: stream.priceTicks[i] } as LimitOptions);
        tradedLots += size - restOf(result, id, size);
      } else book.cancel(String(stream.target[i]));
    },
    get tradedLots() {
      return tradedLots;
    },
  };

  /** What of a limit order did not trade. */
  function restOf(result: ReturnType<OrderBook["limit"]>, id: string, size: number): number {
    if (result.err) throw result.err;
    if (result.partial?.id === id) return result.partial.size;
    return result.done.some((order) => order.id === id) ? 0 : size;
  }
}
