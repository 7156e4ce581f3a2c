import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { PerpdClient, type SignMessage } from "../../../src/client/client.ts";
import type { Transfer, TransferList, WithdrawalAddress } from "../../../src/client/types.ts";
import { start } from "../../cli/support/program.ts";
import { RpcNode } from "../../front/support/rpc-node.ts";
import { KeyHolder } from "../support/keys.ts";
import { startServer, type TestServer } from "../support/server.ts";
import { Operator, openTrader, type Trader } from "../support/trader.ts";
import { until } from "../support/wait.ts";
import { newPrivateKey, walletOf } from "../support/wallet.ts";

/** An exchange that requires the address book and a fresh signature of the wallet. */

const ADDRESS = "0x8ba1f109551bD432803012645Ac136ddd64DBA72";
const BOOK = "/account/withdrawal-addresses";

let server: TestServer;
let alice: Trader;
let client: PerpdClient;
let signMessage: SignMessage;

const node = new RpcNode();

before(async () => {
  await node.start();
  server = await startServer({
    environment: {
      PERPD_ETHEREUM_RPC_URL: node.url,
      ...{ PERPD_WALLET_APPROVAL: "on", PERPD_WITHDRAWAL_ADDRESS_BOOK: "on" },
      ...{ PERPD_WITHDRAWAL_ADDRESS_HOLD_MS: "1000", PERPD_WITHDRAWAL_DELAY_MS: "100" },
    },
  });
  await new Operator(server).setIndex("BTC-PERP", "65000");
  alice = await openTrader(server, "1000");
  client = new PerpdClient({ baseUrl: server.url, token: alice.token as string });
  signMessage = (message) => walletOf(alice.privateKey).signMessage({ message });
});

after(async () => {
  await new Operator(server).soundAudit();
  await server.dispose();
  await node.stop();
});

/** Resolves when the address can be used. */
const usable = ({ usableAt }: WithdrawalAddress): Promise<unknown> =>
  until("the end of the hold", () => Date.now() > usableAt);

test("a stolen session can neither withdraw nor add an address nor make a key", async () => {
  const thief = walletOf(newPrivateKey());
  const requests: [string, object][] = [
    ["/account/withdraw", { asset: "USDC", amount: "1", address: ADDRESS, reference: "stolen" }],
    [BOOK, { address: ADDRESS, label: "mine" }],
    ["/auth/keys", { label: "mine", permissions: ["READ"] }],
  ];
  for (const [path, body] of requests) {
    const { details } = await alice.refused("WALLET_SIGNATURE_REQUIRED", "POST", path, body);
    const message = details?.message as string;
    const approval = { message, signature: await thief.signMessage({ message }) };
    await alice.refused("BAD_SIGNATURE", "POST", path, { ...body, approval });
    await alice.refused("APPROVAL_INVALID", "POST", path, { ...body, approval: { ...approval, message: "Hello" } });
  }
  assert.deepEqual((await client.withdrawalAddresses()).data, []);
  assert.deepEqual((await client.keys()).data, []);
});

test("the wallet approves a withdrawal, which happens once, also with the same approval again", async () => {
  const added = await client.addWithdrawalAddress(ADDRESS.toLowerCase(), "cold", signMessage);
  assert.equal(added.usableAt, added.addedAt + 1000);
  const order = { asset: "USDC", amount: "10", address: ADDRESS } as const;
  await alice.refused("MISSING_FIELD", "POST", "/account/withdraw", order);
  const elsewhere = { ...order, address: "0x000000000000000000000000000000000000dEaD", reference: "w-0" };
  await assert.rejects(client.withdraw(elsewhere, signMessage), { code: "ADDRESS_NOT_IN_BOOK" });
  await usable(added);
  const body = { ...order, reference: "w-1" };
  const { details } = await alice.refused("WALLET_SIGNATURE_REQUIRED", "POST", "/account/withdraw", body);
  const message = details?.message as string;
  const approved = { ...body, approval: { message, signature: await signMessage(message) } };
  for (const change of [{ amount: "11" }, { reference: "w-2" }, { address: elsewhere.address }])
    await alice.refused("APPROVAL_INVALID", "POST", "/account/withdraw", { ...approved, ...change });
  const first = await alice.call<Transfer>(201, "POST", "/account/withdraw", approved);
  const again = await alice.call<Transfer>(200, "POST", "/account/withdraw", approved);
  assert.deepEqual([again.transferId, again.duplicate], [first.transferId, true]);
  assert.equal((await alice.get<TransferList>("/account/withdrawals")).data.length, 1);
});

test("a key that the wallet approved trades and reads; to withdraw it needs the wallet, too", async () => {
  const limits = { allowedSymbols: ["BTC-PERP"], maxOrderNotional: "1000.50", expiresAt: 9_000_000_000_000_000 };
  const wish = { label: "bot", permissions: ["READ" as const, "WITHDRAW" as const], ...limits };
  const { details } = await alice.refused("WALLET_SIGNATURE_REQUIRED", "POST", "/auth/keys", wish);
  const message = details?.message as string;
  assert.match(
    message,
    /\nPermissions: READ, WITHDRAW\nIP addresses: any\nSymbols: BTC-PERP\nLargest order: 1000\.50\n/,
  );
  const approval = { message, signature: await signMessage(message) };
  const wider = { ...wish, permissions: ["READ", "TRADE", "WITHDRAW"], approval };
  await alice.refused("APPROVAL_INVALID", "POST", "/auth/keys", wider);
  await alice.call(201, "POST", "/auth/keys", { ...wish, approval });
  await alice.refused("APPROVAL_INVALID", "POST", "/auth/keys", { ...wish, approval });
  const holder = new KeyHolder(server.url, await client.createKey(wish, signMessage));
  const order = { asset: "USDC", amount: "1", address: ADDRESS, reference: "k-1" };
  const refusal = await holder.refused("WALLET_SIGNATURE_REQUIRED", "POST", "/account/withdraw", order);
  const text = refusal.details?.message as string;
  const signature = await signMessage(text);
  await holder.call(201, "POST", "/account/withdraw", { ...order, approval: { message: text, signature } });
  await holder.refused("SESSION_REQUIRED", "POST", BOOK, { address: ADDRESS, label: "x" });
});

test("a contract wallet logs in and approves a withdrawal by the signature of its owner", async () => {
  const contract = "0x00000000219ab540356cBB839Cbe05303d7705Fa";
  const [owner, thief] = [walletOf(newPrivateKey()), walletOf(newPrivateKey())];
  node.owners.set(contract.toLowerCase(), owner.address.toLowerCase());
  // As a Safe with one owner: longer than a plain signature.
  const by = (wallet: typeof owner) => async (message: string) =>
    (await wallet.signMessage({ message })).replace("0x", "0x00");
  const safe = new PerpdClient({ baseUrl: server.url });
  const loggingIn = safe.login(contract, by(thief));
  await assert.rejects(loggingIn, { code: "BAD_SIGNATURE" });
  const session = await safe.login(contract, by(owner));
  assert.equal(session.address, contract);
  await safe.deposit({ asset: "USDC", amount: "5" });
  const added = await safe.addWithdrawalAddress(ADDRESS, "cold", by(owner));
  await usable(added);
  const order = { asset: "USDC", amount: "2", address: ADDRESS, reference: "s-1" } as const;
  await assert.rejects(safe.withdraw(order, by(thief)), { code: "BAD_SIGNATURE" });
  assert.equal((await safe.withdraw(order, by(owner))).amount, "2");
  node.answer = (response) => void response.destroy();
  await assert.rejects(safe.login(contract, by(owner)), { code: "CHAIN_UNAVAILABLE" });
  assert.equal((await openTrader(server, "1")).accountId.length > 0, true, "plain wallets log in all the same");
  node.answer = null;
});

test("the command line signs with the wallet in its environment", async () => {
  const env = { PERPD_URL: server.url, PERPD_TOKEN: alice.token as string };
  const signing = { ...env, PERPD_WALLET_KEY: alice.privateKey };
  const run = async (args: string[], environment: Record<string, string> = signing) => start(args, environment).ended;
  const other = "0x000000000000000000000000000000000000bEEF";
  const [bare, added, key, wrong] = await Promise.all([
    run(["withdraw", "1", ADDRESS], env),
    run(["addresses", other, "ledger"]),
    run(["create-key", "cli", "read", "trade"]),
    run(["addresses", other]),
  ]);
  assert.match(bare.error, /WALLET_SIGNATURE_REQUIRED[\s\S]*Withdraw 1 USDC/);
  assert.match(added.out, /bEEF +ledger +20/);
  assert.match(key.out, /^PERPD_API_KEY=[0-9a-f]{32}\nPERPD_SECRET=[0-9a-f]{64}\n$/);
  assert.equal(wrong.code, 2);
  const [withdrawn, removed] = await Promise.all([
    run(["withdraw", "1.25", ADDRESS, "--reference", "c-1"]),
    run(["addresses", other, "--remove"]),
  ]);
  assert.deepEqual([withdrawn.code, withdrawn.out], [0, `PENDING 1.25 USDC to ${ADDRESS}\n`], withdrawn.error);
  assert.doesNotMatch(removed.out, /bEEF/);
});
