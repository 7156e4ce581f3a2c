import assert from "node:assert/strict";
import * as fs from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import fc from "fast-check";
import {
  isOpenStatus,
  LEDGER,
  ORDER_STATUSES,
  STATUS_UNTRIGGERED,
  TRAILING_STOP_MARKET,
} from "../../../src/core/base/enums.ts";
import { OrderBatch, ReadOrders } from "../../../src/core/protocol/commands.ts";
import type { Event } from "../../../src/core/protocol/events.ts";
import type { MessageOf } from "../../../src/core/protocol/message-schema.ts";
import { OrderView } from "../../../src/core/protocol/replies.ts";
import { openDatabase } from "../../../src/store/database/database.ts";
import { isOpen } from "../../../src/store/database/history-schema.ts";
import { History } from "../../../src/store/history/history.ts";
import { HistoryFold } from "../../../src/store/history/history-fold.ts";
import { eachMessage } from "../../../src/wire/codec.ts";
import { viewOf } from "../../../src/wire/record.ts";
import { Exchange, type Logged, make, type Said } from "../../core/support/exchange.ts";
import { FREE, instrument, ODD } from "../../core/support/instruments.ts";
import { runUntilReached, takeSeed } from "../../core/support/seed.ts";
import { eventfulStep } from "../../core/support/steps.ts";
import { Traffic } from "../../core/support/traffic.ts";

const seed = takeSeed("history-orders.test");
const STEPS = 800;
const INSTRUMENTS = [instrument(ODD), instrument(FREE)];
const SYMBOLS = INSTRUMENTS.map(({ id }) => id);
const STEPS_PER_LOOK = 40;
const TRANSACTIONS_PER_BATCH = 17;

type View = MessageOf<typeof OrderView>;

const root = fs.mkdtempSync(join(tmpdir(), "perpd-history-orders-"));
after(() => fs.rmSync(root, { recursive: true }));

test("the history holds each order as its symbol shows it while it is open, and as its last answer showed it", async () => {
  const seen = { open: new Set<string>(), ended: new Set<string>() };
  const runs: Promise<void>[] = [];
  runUntilReached(
    seed,
    (seed) => void runs.push(compare(seed, seen)),
    () => [
      ...["NEW", "PARTIALLY_FILLED", "UNTRIGGERED"].filter((status) => !seen.open.has(status)),
      ...["FILLED", "CANCELED", "EXPIRED"].filter((status) => !seen.ended.has(status)),
    ],
  );
  await Promise.all(runs);
});

/** All is done when it returns; the promise is that of the database's end. */
function compare(seed: number, seen: { open: Set<string>; ended: Set<string> }): Promise<void> {
  const exchange = new Exchange(INSTRUMENTS);
  const traffic = new Traffic(exchange, SYMBOLS);
  const database = openDatabase(join(root, String(seed)));
  const fold = new HistoryFold(database, INSTRUMENTS);
  const history = new History(database);
  /** The last that was answered of each order, and the turn that it came with. */
  const answered = new Map<number, { view: View; sequence: number }>();
  for (const { actorId, command } of traffic.opening()) traffic.send(actorId, command);
  for (const [i, step] of fc.sample(eventfulStep, { seed, numRuns: STEPS }).entries()) {
    const { actorId, command } = traffic.command(step);
    exchange.time += step.waitMs;
    const said = exchange.do(actorId, command);
    traffic.note(said.events);
    // What an item of a batch is answered, the items behind it may have changed.
    if (command.type !== OrderBatch.code)
      for (const view of viewsIn(said)) answered.set(view.orderId, { view, sequence: said.sequence });
    if (actorId !== LEDGER) while (exchange.proceed(actorId).more);
    if (i % STEPS_PER_LOOK !== STEPS_PER_LOOK - 1) continue;

    foldAll(fold, exchange.log.splice(0));
    const open = new Set<number>();
    for (const accountId of traffic.accounts)
      for (const view of SYMBOLS.flatMap((id) => viewsIn(exchange.do(id, make(ReadOrders, { accountId }))))) {
        open.add(view.orderId);
        seen.open.add(ORDER_STATUSES[view.status]!);
        assert.deepEqual(recordOf(history, view), { ...told(view), accountId });
      }
    database.orders.each({}, (_key, record) => {
      assert.equal(isOpen(record), open.has(record.orderId), `order ${record.orderId}`);
    });
  }
  for (const { view, sequence } of answered.values()) {
    const { accountId, ...record } = recordOf(history, view);
    // Later turns have changed it, and nobody was answered.
    if (record.sequence !== sequence || isOpenStatus(record.status)) continue;
    seen.ended.add(ORDER_STATUSES[view.status]!);
    assert.deepEqual(record, { ...told(view), sequence });
  }
  return database.close();
}

const viewsIn = ({ replies }: Said): View[] => replies.filter((reply): reply is View => reply.type === OrderView.code);

/** Where an order that trails is now no event says. */
const isMoving = ({ orderType, status }: View): boolean =>
  orderType === TRAILING_STOP_MARKET && status === STATUS_UNTRIGGERED;

function told({ type, ...view }: View): Omit<View, "type"> {
  return isMoving({ type, ...view }) ? { ...view, triggerTicks: 0 } : view;
}

function recordOf(history: History, view: View): Omit<View, "type"> & { accountId: number } {
  const { type, ...record } = history.orderById(view.orderId)!;
  return isMoving(view) ? { ...record, triggerTicks: 0 } : record;
}

function foldAll(fold: HistoryFold, log: readonly Logged[]): void {
  for (const [i, { sequence, time, actorId, bytes }] of log.entries()) {
    fold.transaction(sequence, time, actorId);
    eachMessage(viewOf(bytes), bytes, 0, bytes.length, (event) => fold.apply(event as Event));
    if (i % TRANSACTIONS_PER_BATCH === 0) fold.commit();
  }
  fold.commit();
}
