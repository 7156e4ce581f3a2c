import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import { after, before, beforeEach, test } from "node:test";
import { gzipSync } from "node:zlib";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { ContractWallets } from "../../../src/front/auth/contract-wallets.ts";
import { Wallets } from "../../../src/front/auth/wallet.ts";
import { WalletSignatures } from "../../../src/front/auth/wallet-signature.ts";
import { ApiError } from "../../../src/front/common/errors.ts";
import recoverAddress from "../../../workers/compute.ts";
import { until } from "../../e2e/support/wait.ts";
import { IDENTITY, MAGIC, RpcNode, type RpcRequest } from "../support/rpc-node.ts";

const CONTRACT = "0x8ba1f109551bD432803012645Ac136ddd64DBA72";
const owner = privateKeyToAccount(generatePrivateKey());
const mallory = privateKeyToAccount(generatePrivateKey());

const node = new RpcNode();
const logged: string[] = [];
const log = {
  warn: (fields: object, message: string) => void logged.push(`${message}: ${JSON.stringify(fields)}`),
  info: (_fields: object, message: string) => void logged.push(message),
};

before(() => node.start());
beforeEach(() => {
  node.answer = null;
  node.chainId = 1;
  node.requests.length = 0;
  node.owners.set(CONTRACT.toLowerCase(), owner.address.toLowerCase());
  logged.length = 0;
});
after(() => node.stop());

function open(more: { timeLimitMs?: number; rpcUrl?: string } = {}, hasNode = true): Wallets {
  const contracts = hasNode ? new ContractWallets({ rpcUrl: node.url, chainId: 1, log, ...more }) : null;
  const recover = (message: string, signature: string) =>
    recoverAddress({ message, signature: signature as `0x${string}` });
  const signatures = new WalletSignatures(recover, contracts);
  return new Wallets({ domain: "127.0.0.1:8080", uri: "http://127.0.0.1:8080", chainId: 1, signatures });
}

/** A login of `address` by `signer`. `change` makes the contract's signature from the signer's. */
async function login(
  wallets: Wallets,
  { address = CONTRACT, signer = owner, chainId = 1, from = "203.0.113.7", change = (text: string) => text } = {},
): Promise<string> {
  const now = Date.now();
  const { message } = wallets.issue(address, chainId, now);
  const signature = change(await signer.signMessage({ message }));
  return wallets.redeem(message, signature, now, from);
}

async function refusalOf(running: Promise<unknown>): Promise<ApiError> {
  try {
    await running;
  } catch (thrown) {
    assert.ok(thrown instanceof ApiError, String(thrown));
    return thrown;
  }
  throw new Error("the login was accepted");
}

const longer = (signature: string): string => `0x${"00".repeat(65)}${signature.slice(2)}`;

test("a contract wallet logs in when the contract accepts its owner's signature, of any length", async () => {
  const wallets = open();
  assert.equal(await login(wallets), CONTRACT);
  assert.equal(await login(wallets, { change: longer }), CONTRACT);
  const methods = node.requests.map(({ method }) => method);
  assert.deepEqual(methods, ["eth_chainId", "eth_call", "eth_call"]);
  const [call, block] = (node.requests[1]?.params ?? []) as [{ to: string; gas: string }?, string?];
  assert.deepEqual([call?.to, call?.gas, block], [CONTRACT, "0x4c4b40", "latest"]);
  assert.deepEqual(logged, []);
});

test("a plain wallet logs in without a question to the node", async () => {
  assert.equal(await login(open(), { address: owner.address }), owner.address);
  assert.deepEqual(node.requests, []);
});

test("signatures that the contract does not accept are refused, and addresses without a wallet", async () => {
  const wallets = open();
  const cases = [
    { signer: mallory },
    { signer: mallory, change: longer },
    // The contract reverts.
    { change: (signature: string) => signature.slice(0, 130) },
    // No contract.
    { address: mallory.address },
    { address: IDENTITY },
    // A wallet of another chain may have another owner.
    { chainId: 10 },
  ];
  for (const wrong of cases) assert.equal((await refusalOf(login(wallets, wrong))).code, "BAD_SIGNATURE");
  const { message } = await refusalOf(login(wallets, { chainId: 10 }));
  assert.match(message, /contract wallet must use chain 1\.$/);
  const used = wallets.issue(CONTRACT, 1, Date.now()).message;
  const signature = await owner.signMessage({ message: used });
  await wallets.redeem(used, signature, Date.now());
  assert.equal((await refusalOf(wallets.redeem(used, longer(signature), Date.now()))).code, "CHALLENGE_NOT_FOUND");
  assert.deepEqual(logged, []);
});

test("without a node contract wallets are refused with the reason", async () => {
  const wallets = open({}, false);
  assert.equal((await refusalOf(login(wallets))).code, "BAD_SIGNATURE");
  assert.equal((await refusalOf(login(wallets, { change: longer }))).code, "CONTRACT_WALLET_NOT_SUPPORTED");
});

const YES = (id: number): object => ({ jsonrpc: "2.0", id, result: MAGIC });
const json = (answer: (id: number) => unknown) => (response: ServerResponse, request: RpcRequest) =>
  void response.end(JSON.stringify(answer(request.id)));
const FAULTS: [what: string, answer: NonNullable<RpcNode["answer"]>, reason: RegExp][] = [
  ["no JSON", (response) => void response.end("yes"), /no JSON-RPC/],
  ["JSON without an object", json(() => [true]), /no JSON-RPC/],
  ["an answer to another request", json((id) => YES(id + 1)), /no JSON-RPC/],
  ["another protocol", json((id) => ({ ...YES(id), jsonrpc: "1.0" })), /no JSON-RPC/],
  ["a result and an error", json((id) => ({ ...YES(id), error: { code: 1 } })), /no text in hex/],
  ["a result that is no text", json((id) => ({ ...YES(id), result: true })), /no text in hex/],
  ["no result", json((id) => ({ jsonrpc: "2.0", id })), /no text in hex/],
  ["an error of the node", json((id) => ({ jsonrpc: "2.0", id, error: { code: -32005, message: "limit" } })), /-32005/],
  ["a status", (response, { id }) => void response.writeHead(500).end(JSON.stringify(YES(id))), /status .* 500/],
  ["a redirect", (response) => void response.writeHead(307, { location: "/elsewhere" }).end(), /status .* 307/],
  ["an end", (response) => void response.destroy(), /no connection/],
  ["an end amid the answer", (response) => void response.write("{", () => response.destroy()), /terminated/],
  ["too many bytes", json((id) => ({ ...YES(id), more: "x".repeat(20_000) })), /longer than 16384/],
  [
    "few bytes that are many",
    (response, { id }) => {
      const text = JSON.stringify({ ...YES(id), more: " ".repeat(5_000_000) });
      response.writeHead(200, { "content-encoding": "gzip" }).end(gzipSync(text));
    },
    /longer than 16384/,
  ],
];

test("a node that fails, lies about the protocol, redirects or never ends logs nobody in", async () => {
  const wallets = open();
  for (const [what, answer, reason] of FAULTS) {
    node.answer = null;
    await login(wallets);
    logged.length = 0;
    node.requests.length = 0;
    node.answer = answer;
    const refusal = await refusalOf(login(wallets));
    assert.deepEqual([refusal.code, refusal.status], ["CHAIN_UNAVAILABLE", 503], what);
    assert.equal(node.requests.length, 1, "no redirect is followed");
    assert.match(logged.join(), reason, what);
    assert.ok(!logged.join().includes(node.url), "the URL may hold a secret");
    await refusalOf(login(wallets));
    assert.equal(logged.length, 1, "the first failure is logged");
  }
  node.answer = null;
  assert.equal(await login(wallets), CONTRACT);
  assert.equal(logged.at(-1), "the Ethereum RPC works again");
});

test("answers that are almost the one for a valid signature are refused", async () => {
  const wallets = open();
  await login(wallets);
  for (const result of [
    "0x1626ba7e",
    MAGIC.slice(0, -2),
    `${MAGIC}00`,
    MAGIC.replace(/0$/, "1"),
    `0x${"0".repeat(63)}1`,
  ]) {
    node.answer = json((id) => ({ ...YES(id), result }));
    assert.equal((await refusalOf(login(wallets))).code, "BAD_SIGNATURE", result);
  }
});

test("a node of another chain is refused, also when it takes over from the right one", async () => {
  const wallets = open();
  node.chainId = 5;
  assert.equal((await refusalOf(login(wallets))).code, "CHAIN_UNAVAILABLE");
  assert.match(logged.join(), /serves chain 5, and chainId is 1/);
  node.chainId = 1;
  await login(wallets);
  node.answer = (response) => void response.destroy();
  await refusalOf(login(wallets));
  node.answer = null;
  node.chainId = 5;
  assert.equal((await refusalOf(login(wallets))).code, "CHAIN_UNAVAILABLE");
});

test("a node that does not answer in time, or trickles, ends the login", async () => {
  const timers: NodeJS.Timeout[] = [];
  for (const answer of [
    () => {},
    (response: ServerResponse) => void timers.push(setInterval(() => response.write(" "), 20)),
  ]) {
    node.answer = answer;
    logged.length = 0;
    assert.equal((await refusalOf(login(open({ timeLimitMs: 100 })))).code, "CHAIN_UNAVAILABLE");
    assert.match(logged.join(), /did not answer in time/);
  }
  timers.forEach(clearInterval);
  const gone = open({ rpcUrl: "http://127.0.0.1:1/secret" });
  assert.equal((await refusalOf(login(gone))).code, "CHAIN_UNAVAILABLE");
  assert.doesNotMatch(logged.join(), /secret/);
});

test("one client has two calls at a time, and keeps nobody else waiting", async () => {
  const wallets = open();
  await login(wallets);
  const held: (() => void)[] = [];
  node.answer = (response, { id }) => void held.push(() => response.end(JSON.stringify(YES(id))));
  const slow = [login(wallets), login(wallets)];
  await until("two calls", () => held.length === 2);
  assert.equal((await refusalOf(login(wallets))).code, "OVERLOADED");
  const other = login(wallets, { from: "198.51.100.1" });
  await until("the call of another client", () => held.length === 3);
  assert.equal(await login(wallets, { address: owner.address }), owner.address, "a plain wallet needs no call");
  for (const answer of held) answer();
  assert.deepEqual(await Promise.all([...slow, other]), [CONTRACT, CONTRACT, CONTRACT]);
  node.answer = null;
  assert.equal(await login(wallets), CONTRACT);
});
