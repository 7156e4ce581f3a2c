import { randomUUID } from "node:crypto";
import { DEFAULT_INSTRUMENTS } from "../src/config/instruments.ts";
import { BUY, FIRST_CUSTOMER_ACCOUNT, REASON_USER, SELL, STATUS_CANCELED, serialToId } from "../src/core/base/enums.ts";
import { type Event, OrderClosed, OrderPlaced, Traded } from "../src/core/protocol/events.ts";
import { compileInstrument, type Instrument } from "../src/core/protocol/instrument.ts";
import { blank, type Message, type MessageOf, type MessageSchema } from "../src/core/protocol/message-schema.ts";
import { type Database, openDatabase } from "../src/store/database/database.ts";
import { Table } from "../src/store/database/table.ts";
import { HistoryFold } from "../src/store/history/history-fold.ts";
import { temporaryFolder } from "./support/folder.ts";
import type { Row } from "./support/report.ts";

/** 1,000 orders a second: the store commits every 250 ms. */
const ORDERS_PER_COMMIT = 250;
const COMMIT_MS = 250;
const ORDERS = 40_000;
const ACCOUNTS = 100;
/** A start time, in ms. */
const BEGIN = Date.UTC(2026, 0, 1);

interface Workload {
  readonly name: string;
  /** The commit that ends an order, after the one that places it. */
  readonly restsCommits: number;
  readonly isFilled: boolean;
}
const WORKLOADS: readonly Workload[] = [
  { name: "canceled at once", restsCommits: 0, isFilled: false },
  { name: "canceled after a second", restsCommits: 4, isFilled: false },
  { name: "filled at once, taker and maker counted", restsCommits: 0, isFilled: true },
];

const event = <S extends MessageSchema>(schema: S, fields: Partial<MessageOf<S>>): Message =>
  Object.assign(blank(schema) as object, fields) as Message;

/** Bytes that the history takes for each order, with and without client order ids. */
export async function benchDisk(): Promise<Row[]> {
  const rows: Row[] = [];
  for (const workload of WORKLOADS) {
    const plain = await measure(workload, false);
    const named = await measure(workload, true);
    rows.push(row(`disk, an order ${workload.name}`, plain.total, "", null));
    rows.push(row(`disk, an order ${workload.name}, with a UUID`, named.total, "without", plain.total));
    for (const [table, bytes] of named.byTable)
      if (bytes >= 0.5) rows.push(row(`disk, of that in ${table}`, bytes, "", plain.byTable.get(table) ?? null));
  }
  return rows;
}

const row = (what: string, perpd: number, beside: string, other: number | null): Row => {
  const ratio = other === null ? null : perpd / other;
  return { what, unit: "bytes", perpd, beside, other, ratio, spread: null };
};

/** Of pages in use. The file has free pages besides, about a megabyte, which the next commits take. */
interface Sizes {
  readonly total: number;
  readonly byTable: Map<string, number>;
}

async function measure(workload: Workload, isNamed: boolean): Promise<Sizes> {
  const folder = temporaryFolder();
  const database = openDatabase(folder.path);
  const [config] = DEFAULT_INSTRUMENTS;
  const instrument = compileInstrument(config);
  const before = sizesOf(database);
  fill(database, instrument, workload, isNamed);
  const after = sizesOf(database);
  await database.close();
  folder.remove();
  const byTable = new Map(
    [...after.byTable].map(([name, bytes]) => [name, (bytes - (before.byTable.get(name) ?? 0)) / ORDERS]),
  );
  return { total: (after.total - before.total) / ORDERS, byTable };
}

function fill(
  database: Database,
  instrument: Instrument,
  { restsCommits, isFilled }: Workload,
  isNamed: boolean,
): void {
  const fold = new HistoryFold(database, [instrument]);
  const resting: Message[][] = Array.from({ length: restsCommits }, () => []);
  let sequence = 0;
  let serial = 0;
  let trades = 0;
  for (let commit = 0; serial < ORDERS; commit++) {
    const ends: Message[] = [];
    const time = BEGIN + commit * COMMIT_MS;
    const transaction = (events: Message[]): void => {
      fold.transaction(++sequence, time + Math.floor(sequence % ORDERS_PER_COMMIT), instrument.id);
      for (const one of events) fold.apply(one as Event);
    };
    for (let i = 0; i < ORDERS_PER_COMMIT; i += isFilled ? 2 : 1) {
      const first = place(instrument.id, ++serial, isNamed);
      if (isFilled) {
        const second = place(instrument.id, ++serial, isNamed);
        transaction([first]);
        transaction([second, trade(instrument.id, ++trades, first as Placed, second as Placed)]);
      } else {
        transaction([first]);
        ends.push(cancel(first as Placed));
      }
    }
    resting.push(ends);
    for (const end of resting.shift() ?? []) transaction([end]);
    fold.commit();
  }
}

type Placed = MessageOf<typeof OrderPlaced>;

const place = (instrumentId: number, serial: number, isNamed: boolean): Message =>
  event(OrderPlaced, {
    orderId: serialToId(serial, instrumentId),
    accountId: FIRST_CUSTOMER_ACCOUNT + ((serial * 7) % ACCOUNTS),
    side: serial % 2 === 0 ? BUY : SELL,
    priceTicks: 640_000 + ((serial * 31) % 500),
    quantityLots: 10 + ((serial * 17) % 90),
    clientOrderId: isNamed ? randomUUID() : "",
    rests: 1,
  });

const cancel = ({ orderId, accountId }: Placed): Message =>
  event(OrderClosed, { orderId, accountId, status: STATUS_CANCELED, reason: REASON_USER });

const trade = (instrumentId: number, serial: number, maker: Placed, taker: Placed): Message =>
  event(Traded, {
    tradeId: serialToId(serial, instrumentId),
    ...{ takerOrderId: taker.orderId, takerAccountId: taker.accountId, takerSide: taker.side },
    ...{ makerOrderId: maker.orderId, makerAccountId: maker.accountId },
    ...{ priceTicks: maker.priceTicks, quantityLots: Math.min(maker.quantityLots, taker.quantityLots) },
    ...{ takerFeeQuanta: 12_345, makerFeeQuanta: 2469, takerRealizedQuanta: 77_000, makerRealizedQuanta: -50_000 },
  });

function sizesOf(database: Database): Sizes {
  const byTable = new Map<string, number>();
  let total = 0;
  for (const table of Object.values(database)) {
    if (!(table instanceof Table)) continue;
    const bytes = table.usedBytes();
    byTable.set(table.name, bytes);
    total += bytes;
  }
  return { total, byTable };
}
