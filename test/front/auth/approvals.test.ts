import assert from "node:assert/strict";
import { test } from "node:test";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { messageToSign, withdrawalLines } from "../../../src/client/approval.ts";
import { PerpdError } from "../../../src/client/error.ts";
import { type Approval, type ApprovalOptions, Approvals } from "../../../src/front/auth/approvals.ts";
import { WalletSignatures } from "../../../src/front/auth/wallet-signature.ts";
import { ApiError } from "../../../src/front/common/errors.ts";
import recoverAddress from "../../../workers/compute.ts";

const alice = privateKeyToAccount(generatePrivateKey());
const mallory = privateKeyToAccount(generatePrivateKey());
const recover = (message: string, signature: string) =>
  recoverAddress({ message, signature: signature as `0x${string}` });
const options: ApprovalOptions = {
  isRequired: true,
  domain: "exchange.example",
  exchangeId: "11111111-2222-4333-8444-555555555555",
  chainId: 1,
  signatures: new WalletSignatures(recover),
  addressOf: (accountId) => (accountId === 16 ? alice : mallory).address.toLowerCase(),
};
const FROM = { remoteAddress: "203.0.113.7" };
const LINES = withdrawalLines({ asset: "USDC", amount: "250.5", address: mallory.address, reference: "rent" });

async function refusalOf(checking: Promise<unknown>): Promise<ApiError> {
  try {
    await checking;
  } catch (thrown) {
    assert.ok(thrown instanceof ApiError, String(thrown));
    return thrown;
  }
  throw new Error("the request was accepted");
}

/** The message for a request of alice. */
async function messageFor(approvals: Approvals, lines = LINES): Promise<string> {
  const refusal = await refusalOf(approvals.check({ ...FROM, accountId: 16, lines, approval: undefined }));
  assert.equal(refusal.code, "WALLET_SIGNATURE_REQUIRED");
  return refusal.details?.message as string;
}

async function approvalFor(approvals: Approvals, lines = LINES, wallet = alice): Promise<Approval> {
  const message = await messageFor(approvals, lines);
  return { message, signature: await wallet.signMessage({ message }) };
}

test("the message names the request, the account, the exchange and an end", async () => {
  const message = await messageFor(new Approvals(options));
  assert.match(
    message.replace(alice.address.toLowerCase(), "ALICE").replace(mallory.address, "TARGET"),
    /^exchange\.example asks you to approve a request to perpd\.\n\nWithdraw 250\.5 USDC\nTo: TARGET\nReference: rent\n\nAccount: ALICE\nExchange: 1{8}-2{4}-4333-8444-5{12}\nChain ID: 1\nExpires: 20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z\nNonce: [0-9a-f]{48}$/,
  );
  assert.notEqual(message, await messageFor(new Approvals(options)));
});

test("the wallet's signature of its message approves a request, a compact one too", async () => {
  const approvals = new Approvals(options);
  const approval = await approvalFor(approvals);
  const request = { ...FROM, accountId: 16, lines: LINES, approval };
  await approvals.check(request);
  await approvals.check(request);
  await approvals.checkOnce(request);
  assert.equal((await refusalOf(approvals.checkOnce(request))).code, "APPROVAL_INVALID");
  const parity = approval.signature.endsWith("1c") ? 0x80 : 0;
  const first = (Number.parseInt(approval.signature.slice(66, 68), 16) | parity).toString(16).padStart(2, "0");
  const compact = approval.signature.slice(0, 66) + first + approval.signature.slice(68, 130);
  await approvals.check({ ...request, approval: { ...approval, signature: compact } });
  const again = { ...request, approval: { ...approval, signature: compact } };
  assert.equal((await refusalOf(approvals.checkOnce(again))).code, "APPROVAL_INVALID", "used in its other form");
});

test("two requests with one message at the same time: one is accepted", async () => {
  const approvals = new Approvals(options);
  const request = { ...FROM, accountId: 16, lines: LINES, approval: await approvalFor(approvals) };
  const ends = await Promise.allSettled([1, 2, 3].map(() => approvals.checkOnce(request)));
  assert.deepEqual(ends.map(({ status }) => status).sort(), ["fulfilled", "rejected", "rejected"]);
});

test("an approval is for one request of one account at one exchange, until it restarts", async () => {
  const approvals = new Approvals(options);
  const approval = await approvalFor(approvals);
  const request = { ...FROM, accountId: 16, lines: LINES, approval };
  const other = withdrawalLines({ asset: "USDC", amount: "250.51", address: mallory.address, reference: "rent" });
  const invalid: [string, Approvals, object][] = [
    ["another amount", approvals, { lines: other }],
    ["another account", approvals, { accountId: 17 }],
    ["the exchange after a restart", new Approvals(options), {}],
    ["another exchange", new Approvals({ ...options, exchangeId: "99999999-2222-4333-8444-555555555555" }), {}],
  ];
  for (const [what, at, change] of invalid)
    assert.equal((await refusalOf(at.check({ ...request, ...change }))).code, "APPROVAL_INVALID", what);
  // Mallory's own account and signature do not help with a message for alice.
  const stolen = await approvalFor(approvals, LINES, mallory);
  assert.equal((await refusalOf(approvals.check({ ...request, approval: stolen }))).code, "BAD_SIGNATURE");
  for (const change of [
    (message: string) => message.replace(/Expires: 20/, "Expires: 30"),
    (message: string) => message.replace(/Nonce: ./, (start) => (start.endsWith("a") ? "Nonce: b" : "Nonce: a")),
    (message: string) => message.replace("Chain ID: 1", "Chain ID: 5"),
    (message: string) => `${message}\n`,
    (message: string) => `Hello\n${message}`,
    () => "Withdraw everything",
  ]) {
    const message = change(approval.message);
    const forged = { message, signature: await alice.signMessage({ message }) };
    assert.equal((await refusalOf(approvals.check({ ...request, approval: forged }))).code, "APPROVAL_INVALID");
  }
});

test("an approval lasts five minutes", async (t) => {
  t.mock.timers.enable({ apis: ["Date"], now: Date.parse("2026-11-23T12:00:00Z") });
  const approvals = new Approvals(options);
  const request = { ...FROM, accountId: 16, lines: LINES, approval: await approvalFor(approvals) };
  t.mock.timers.tick(299_999);
  await approvals.check(request);
  t.mock.timers.tick(1);
  assert.equal((await refusalOf(approvals.check(request))).code, "APPROVAL_INVALID");
});

test("where no approval is required a request needs none, but one that it has must be right", async () => {
  const approvals = new Approvals({ ...options, isRequired: false });
  await approvals.check({ ...FROM, accountId: 16, lines: LINES, approval: undefined });
  const approval = { message: "Withdraw everything", signature: `0x${"1".repeat(130)}` };
  assert.equal(
    (await refusalOf(approvals.check({ ...FROM, accountId: 16, lines: LINES, approval }))).code,
    "APPROVAL_INVALID",
  );
});

test("the client signs no message for another request than its own", async () => {
  const approvals = new Approvals(options);
  const errorWith = (message: string) =>
    new PerpdError(403, { code: "WALLET_SIGNATURE_REQUIRED", message: "", details: { message } });
  const message = await messageFor(approvals);
  assert.equal(messageToSign(errorWith(message), LINES), message);
  assert.throws(() => messageToSign(errorWith(message.replace("250.5", "2505")), LINES), /something else/);
  assert.throws(() => messageToSign(errorWith("Withdraw 250.5 USDC"), LINES), /something else/);
  assert.equal(messageToSign(new PerpdError(403, { code: "PERMISSION_DENIED" }), LINES), null);
});
