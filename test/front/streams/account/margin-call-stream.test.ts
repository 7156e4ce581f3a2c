import assert from "node:assert/strict";
import { test } from "node:test";
import { CROSS, ISOLATED, LEDGER } from "../../../../src/core/base/enums.ts";
import { ReadMarginCall, ReadPosition } from "../../../../src/core/protocol/commands.ts";
import { MarginCallSet, PriceUpdated } from "../../../../src/core/protocol/events.ts";
import type { Message, MessageOf } from "../../../../src/core/protocol/message-schema.ts";
import { MarginCallView, PositionView } from "../../../../src/core/protocol/replies.ts";
import type { Received, ScriptedClient } from "../../support/scripted-client.ts";
import { make } from "../../support/scripted-engine.ts";
import { ALICE, alicesTrade, BTC, ETH, type Exchange, open, subscribe } from "../../support/scripted-exchange.ts";

const MARK = 650_000;

/** Alice's margins as the engine has them. */
class Margins {
  readonly exchange: Exchange;
  ratioPpm = 800_000;
  readonly positions = new Map<number, Partial<MessageOf<typeof PositionView>>>();
  private readonly contributed = new Float64Array(5);

  constructor(exchange: Exchange) {
    this.exchange = exchange;
  }

  cross(equity: number, maintenance: number): void {
    const { marginTable } = this.exchange.engine;
    const to = { equity, unrealized: 0, initial: maintenance, positionInitial: maintenance, maintenance };
    marginTable.setContribution(ALICE, this.contributed, 0, to, true);
  }

  mark(instrumentId: number, markTicks: number): void {
    this.exchange.engine.transaction(instrumentId, make(PriceUpdated, { markTicks }));
    this.run();
  }

  /** Answers everything that the stream asks. Returns the number of requests. */
  run(): number {
    const { engine, channels } = this.exchange;
    let requests = 0;
    engine.drain();
    channels.tick();
    while (engine.asked.length > 0) {
      requests++;
      engine.answer(({ actorId, command }) => this.reply(actorId, command));
    }
    engine.settle();
    return requests;
  }

  private reply(actorId: number, command: Message): Message[] {
    if (command.type === ReadMarginCall.code) return [make(MarginCallView, { ratioPpm: this.ratioPpm })];
    assert.equal(command.type, ReadPosition.code);
    const view = this.positions.get(actorId);
    return view === undefined ? [] : [make(PositionView, { accountId: ALICE, leverage: 10, ...view })];
  }

  connect(): ScriptedClient {
    const client = this.exchange.connect();
    client.say({ op: "auth", token: "alice" });
    client.say(subscribe({ channel: "margin-calls" }));
    client.take();
    this.run();
    return client;
  }
}

const openMargins = async (): Promise<Margins> =>
  new Margins(await open({ [BTC]: { markTicks: MARK }, [ETH]: { markTicks: MARK } }));

const callsOf = (client: ScriptedClient): unknown[] =>
  client
    .take()
    .filter(({ type }) => type !== "HEARTBEAT")
    .map(({ type, data }) => [
      type,
      ...data.map(({ symbol, ratio, active }: Received) => `${symbol ?? "cross"} ${ratio} ${active}`),
    ]);

test("margin calls: one when the cross ratio rises to the threshold, its end below 95 % of it", async () => {
  const margins = await openMargins();
  margins.cross(1_000_000, 500_000);
  const client = margins.connect();
  assert.deepEqual(callsOf(client), [["SNAPSHOT"]]);
  const told: unknown[] = [];
  for (const maintenance of [799_999, 800_000, 900_000, 770_000, 810_000, 760_000, 759_999, 790_000, 800_001]) {
    margins.cross(1_000_000, maintenance);
    margins.mark(BTC, MARK + maintenance / 1000);
    margins.run();
    told.push(...callsOf(client));
  }
  assert.deepEqual(told, [
    ["UPDATE", "cross 0.8 true"],
    ["UPDATE", "cross 0.759999 false"],
    ["UPDATE", "cross 0.800001 true"],
  ]);
});

test("margin calls: the message has the figures, and a later subscriber gets the active calls", async () => {
  const margins = await openMargins();
  margins.cross(2_000_000, 1_900_000);
  const first = margins.connect();
  const late = margins.connect();
  for (const client of [first, late]) {
    const [snapshot] = client.take().filter(({ type }) => type === "SNAPSHOT");
    assert.deepEqual(snapshot.data, [
      {
        marginMode: "CROSS",
        symbol: null,
        active: true,
        ratio: "0.95",
        threshold: "0.8",
        equity: "2",
        maintenanceMargin: "1.9",
        time: margins.exchange.engine.time,
      },
    ]);
  }
  margins.cross(-1, 1_900_000);
  margins.mark(BTC, MARK + 1);
  margins.run();
  assert.deepEqual(callsOf(margins.connect()), [["SNAPSHOT", "cross null true"]]);
});

test("margin calls: an isolated position follows the mark without another read, a cross one is left out", async () => {
  const margins = await openMargins();
  // 1 BTC at 65000 with 1000 USDC: maintenance margin 0.5 %.
  const isolated = { sizeLots: 1000, marginMode: ISOLATED, markTicks: MARK, isolatedQuanta: 1e9 };
  margins.positions.set(BTC, isolated);
  margins.positions.set(ETH, { ...isolated, marginMode: CROSS, isolatedQuanta: 1 });
  const client = margins.connect();
  assert.deepEqual(callsOf(client), [["SNAPSHOT"]]);
  margins.exchange.engine.transaction(BTC, make(PriceUpdated, { markTicks: 644_000 }));
  assert.equal(margins.run(), 0, "no position is read for a price");
  // 600 USDC lost: 322 ÷ 400.
  assert.deepEqual(callsOf(client), [["UPDATE", "BTC-PERP 0.805 true"]]);
  margins.positions.set(BTC, { ...isolated, sizeLots: 0 });
  margins.exchange.engine.transaction(BTC, alicesTrade());
  margins.run();
  assert.deepEqual(callsOf(client), [["UPDATE", "BTC-PERP 0 false"]]);
});

test("margin calls: a new threshold counts at once", async () => {
  const margins = await openMargins();
  margins.cross(1_000_000, 500_000);
  const client = margins.connect();
  callsOf(client);
  for (const [ratioPpm, expected] of [
    [400_000, [["UPDATE", "cross 0.5 true"]]],
    [510_000, []],
    [900_000, [["UPDATE", "cross 0.5 false"]]],
  ] as const) {
    margins.ratioPpm = ratioPpm;
    margins.exchange.engine.transaction(LEDGER, make(MarginCallSet, { accountId: ALICE, ratioPpm }));
    margins.run();
    assert.deepEqual(callsOf(client), expected);
  }
});

test("margin calls: a refused or lost read is repeated, and nothing is read after the last client has left", async () => {
  const margins = await openMargins();
  const { engine, channels } = margins.exchange;
  margins.cross(1_000_000, 900_000);
  engine.full = true;
  const client = margins.connect();
  assert.deepEqual(callsOf(client), []);
  engine.full = false;
  channels.tick();
  engine.lose();
  margins.run();
  margins.run();
  assert.deepEqual(callsOf(client), [["SNAPSHOT", "cross 0.9 true"]]);
  client.hangUp();
  engine.transaction(BTC, alicesTrade());
  assert.equal(margins.run(), 0);
});
