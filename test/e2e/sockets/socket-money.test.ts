import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { ChannelMessage, FundingPayment, Page, Transfer } from "../../../src/client/types.ts";
import { start } from "../../cli/support/program.ts";
import { openKey, signed } from "../support/keys.ts";
import { ServerClock } from "../support/mains/server-clock.ts";
import { startServer, type TestServer } from "../support/server.ts";
import { SocketClient } from "../support/socket.ts";
import { Operator, openTrader, Trader } from "../support/trader.ts";
import { until } from "../support/wait.ts";

/** Deposits, withdrawals and funding, as they are told over the WebSocket. */

const HOUR_MS = 3_600_000;
const WITHDRAWAL_DELAY_MS = 60_000;

// In the middle of an hour, so that none ends but where a test says so.
const clock = new ServerClock(HOUR_MS / 2 + HOUR_MS - (Date.now() % HOUR_MS));
let server: TestServer;
let operator: Operator;

before(async () => {
  server = await startServer({
    program: "faulty-main",
    // Without the quiet one's configuration, in which funding is 0.
    quiet: false,
    flags: ["--no-bots", "--price-source", "operator", "--rate-limit", "off", "--workers", "2"],
    environment: {
      ...clock.environment,
      PERPD_WITHDRAWAL_DELAY_MS: String(WITHDRAWAL_DELAY_MS),
    },
  });
  operator = new Operator(server);
});
after(async () => {
  await operator.soundAudit();
  await server.dispose();
});

const again = ({ token, accountId, address, privateKey }: Trader): Trader =>
  new Trader(server.url, token ?? "", accountId, address, privateKey);

/** The channel's rows so far. */
const transfersOf = (client: SocketClient): Transfer[] => client.ofChannel("transfers").flatMap(({ data }) => data);
const fundingOf = (client: SocketClient): FundingPayment[] => client.ofChannel("funding").flatMap(({ data }) => data);

const statesOf = (client: SocketClient): string[] =>
  transfersOf(client).map(({ transferId, status }) => `${transferId} ${status}`);

async function openStream(trader: Trader, ...channels: ChannelMessage["channel"][]): Promise<SocketClient> {
  const client = await SocketClient.openAs(server.wsUrl, trader.token);
  await client.subscribe(...channels.map((channel) => ({ channel })));
  await until("the snapshots", () => channels.every((channel) => client.ofChannel(channel).length > 0));
  return client;
}

/** Each message names the one before it in its stream; over all of them, a place in the one log. */
function assertUnbroken(client: SocketClient, ...channels: ChannelMessage["channel"][]): void {
  for (const channel of channels) {
    let sequence: number | null = null;
    for (const message of client.ofChannel(channel)) {
      assert.equal(message.prevSequence, sequence, `a gap in ${channel}`);
      sequence = message.sequence;
    }
  }
}

/** Time passes until the withdrawal is sent, and until it is completed. */
async function goOn(client: SocketClient, transferId: string): Promise<void> {
  for (const status of ["SENT", "COMPLETED"]) {
    clock.pass(WITHDRAWAL_DELAY_MS);
    await until(status, () => statesOf(client).includes(`${transferId} ${status}`));
  }
}

const withdraw = (trader: Trader, amount: string, reference?: string): Promise<Transfer> =>
  trader.call(201, "POST", "/account/withdraw", {
    ...{ asset: "USDC", amount, address: trader.address },
    ...(reference !== undefined && { reference }),
  });

test("the transfers channel shows deposits and each state of a withdrawal, in order with the balance, to the own account only", async () => {
  const [alice, bob] = await Promise.all([openTrader(server, "1000"), openTrader(server, "1")]);
  const client = await openStream(alice, "transfers", "balance");
  const other = await openStream(bob, "transfers");
  const { data: first } = await alice.get<Page<Transfer>>("/account/deposits");
  assert.deepEqual(client.ofChannel("transfers")[0]?.data, first);

  const deposit = await alice.deposit("20.5", "mine");
  const withdrawal = await withdraw(alice, "100", "rent");
  const id = withdrawal.transferId;
  await goOn(client, id);
  assert.deepEqual(transfersOf(client).slice(1, 3), [deposit, withdrawal]);
  assert.deepEqual(statesOf(client).slice(1), [
    `${deposit.transferId} COMPLETED`,
    ...["PENDING", "SENT", "COMPLETED"].map((status) => `${id} ${status}`),
  ]);
  const [shown] = (await alice.get<Page<Transfer>>("/account/withdrawals")).data;
  assert.deepEqual(transfersOf(client).at(-1), shown);
  assert.match(shown?.txHash ?? "", /^0x[0-9a-f]{64}$/);

  // A balance as of the transfer's sequence has it.
  const [, deposited, requested] = client.ofChannel("transfers");
  for (const { sequence, data } of client.ofChannel("balance")) {
    if (sequence >= (requested?.sequence ?? 0)) assert.equal(data.walletBalance, "920.5");
    else if (sequence >= (deposited?.sequence ?? 0)) assert.ok(["1020.5", "920.5"].includes(data.walletBalance));
  }
  await until("the balance", () => client.ofChannel("balance").at(-1)?.data.walletBalance === "920.5");
  assertUnbroken(client, "transfers", "balance");

  await bob.deposit("2");
  await until("its own deposit", () => transfersOf(other).length === 2);
  assert.deepEqual(
    transfersOf(other).map(({ amount }) => amount),
    ["1", "2"],
  );
  await Promise.all([client.close(), other.close()]);
});

test("several sockets of an account each get messages until they unsubscribe", async () => {
  const alice = await openTrader(server, "10");
  const [staying, leaving] = await Promise.all([openStream(alice, "transfers"), openStream(alice, "transfers")]);
  await alice.deposit("1");
  for (const client of [staying, leaving]) await until("the deposit", () => transfersOf(client).length === 2);
  const { channels } = await leaving.request("unsubscribe", { channels: [{ channel: "transfers" }] });
  assert.deepEqual(channels, [{ channel: "transfers" }]);
  await alice.deposit("2");
  await until("the deposit", () => transfersOf(staying).length === 3);
  await leaving.request("ping");
  assert.equal(transfersOf(leaving).length, 2);
  assertUnbroken(staying, "transfers");
  await Promise.all([staying.close(), leaving.close()]);
});

test("a withdrawal in flight during a kill is reported completely after the restart", async () => {
  const alice = await openTrader(server, "50");
  const asked = await withdraw(alice, "5", "rent");
  await server.kill();
  await server.start();
  operator = new Operator(server);
  const client = await openStream(again(alice), "transfers");
  await goOn(client, asked.transferId);
  const [, pending, sent, completed] = transfersOf(client);
  assert.deepEqual(pending, asked);
  const { txHash, updatedAt } = sent as Transfer;
  assert.match(txHash ?? "", /^0x/);
  assert.deepEqual(sent, { ...asked, status: "SENT", txHash, updatedAt });
  assert.deepEqual(completed, { ...sent, status: "COMPLETED", updatedAt: completed?.updatedAt });
  assertUnbroken(client, "transfers");
  await client.close();
});

test("rebuilding the ledger's thread neither repeats nor loses transfer messages", async () => {
  const alice = await openTrader(server, "50");
  const client = await openStream(alice, "transfers", "funding");
  const asked = await withdraw(alice, "5");
  const bomb = { asset: "USDC", amount: "7", reference: "throw-0" };
  await alice.refused("UNAVAILABLE", "POST", "/account/deposit", bomb);
  await server.logs(/has been rebuilt/);
  const deposit = await alice.deposit("3");
  await goOn(client, asked.transferId);
  const of = (id: string) => statesOf(client).filter((state) => state.startsWith(`${id} `));
  assert.deepEqual(
    of(asked.transferId),
    ["PENDING", "SENT", "COMPLETED"].map((status) => `${asked.transferId} ${status}`),
  );
  assert.deepEqual(of(deposit.transferId), [`${deposit.transferId} COMPLETED`]);
  assert.ok(!transfersOf(client).some(({ reference }) => reference === "throw-0"));
  assertUnbroken(client, "transfers", "funding");
  await client.close();
});

test("funding payments are streamed as GET /account/funding shows them", async () => {
  await operator.setIndex("BTC-PERP", "65000");
  await operator.setIndex("ETH-PERP", "3000");
  const [alice, bob] = await Promise.all([openTrader(server), openTrader(server)]);
  for (const [symbol, price] of [
    ["BTC-PERP", "65000"],
    ["ETH-PERP", "3000"],
  ] as const) {
    await bob.sell("0.2", price, { symbol });
    await alice.buy("0.2", price, { symbol });
  }
  const long = await openStream(alice, "funding", "balance", "positions");
  const short = await openStream(bob, "funding");
  const single = await SocketClient.openAs(server.wsUrl, alice.token);
  await single.subscribe({ channel: "funding", symbol: "ETH-PERP" });
  // A key that may trade one symbol only reads what its account's lists show.
  const key = await openKey(server, alice, ["READ"], { allowedSymbols: ["ETH-PERP"] });
  const timestamp = clock.time;
  const { "x-signature": signature } = signed(key.key, "GET", "/ws", "", timestamp);
  const keyed = await SocketClient.open(server.wsUrl);
  await keyed.request("auth", { apiKey: key.key.apiKey, timestamp, signature });
  await keyed.subscribe({ channel: "funding" }, { channel: "transfers" });
  for (const client of [long, short, single, keyed]) {
    await until("the snapshot", () => client.ofChannel("funding").length > 0);
    assert.deepEqual(client.ofChannel("funding")[0]?.data, []);
  }
  await until("the snapshot", () => keyed.ofChannel("transfers").length > 0);
  assert.equal(transfersOf(keyed).length, 1);

  const end = (Math.floor(clock.time / HOUR_MS) + 1) * HOUR_MS;
  clock.pass(end - clock.time);
  await until("all payments", () => [long, short, keyed].every((client) => fundingOf(client).length === 2));
  await until("that of one symbol", () => fundingOf(single).length === 1);
  const listed = async (trader: Trader, query = "") =>
    (await trader.get<Page<FundingPayment>>(`/account/funding${query}`)).data.reverse();
  assert.deepEqual(fundingOf(long), await listed(alice));
  assert.deepEqual(fundingOf(keyed), await listed(alice));
  assert.deepEqual(fundingOf(short), await listed(bob));
  assert.deepEqual(fundingOf(single), await listed(alice, "?symbol=ETH-PERP"));
  const ofBitcoin = (client: SocketClient) => fundingOf(client).find(({ symbol }) => symbol === "BTC-PERP");
  // Nobody quotes: 0.01 % for 8 hours, of 13,000.
  const { fundingTime, fundingRate, amount, positionSize } = ofBitcoin(long) as FundingPayment;
  assert.deepEqual([fundingTime, fundingRate, amount, positionSize], [end, "0.0000125", "-0.1625", "0.2"]);
  assert.deepEqual([ofBitcoin(short)?.amount, ofBitcoin(short)?.positionSize], ["0.1625", "-0.2"]);

  // A balance as of the last payment's sequence has it: fees of 6.5 and 0.3, and 0.0075 for ether. One as of the payment
  // before may have it already: then there is no other.
  const paidAt = long.ofChannel("funding").at(-1)?.sequence ?? 0;
  await until("the balance", () => long.ofChannel("balance").at(-1)?.data.walletBalance === "99993.03");
  for (const { sequence, data } of long.ofChannel("balance"))
    if (sequence >= paidAt) assert.equal(data.walletBalance, "99993.03");
  assertUnbroken(long, "funding", "balance", "positions");
  const args = ["stream", "funding", "BTC-PERP", "--count", "1"];
  const printed = await start(args, { PERPD_URL: server.url, PERPD_TOKEN: alice.token ?? "" }).ended;
  assert.match(printed.out, /^[0-9:.]{12} {2}BTC-PERP {2}-0\.1625 for 0\.2 at 0\.0000125\n$/);
  assertUnbroken(short, "funding");

  // Behind a kill, another interval: the past in the snapshot, then the payment.
  await server.kill();
  await server.start();
  operator = new Operator(server);
  const client = await openStream(again(alice), "funding");
  assert.deepEqual(client.ofChannel("funding")[0]?.data, fundingOf(long));
  await operator.setIndex("BTC-PERP", "65000");
  clock.pass(HOUR_MS);
  await until("the payment", () => fundingOf(client).length >= 3);
  const last = fundingOf(client).find((row) => row.fundingTime === end + HOUR_MS);
  assert.deepEqual([last?.symbol, last?.amount], ["BTC-PERP", "-0.1625"]);
  assertUnbroken(client, "funding");
  await client.close();
});
