import assert from "node:assert/strict";
import { test } from "node:test";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { parseSiweMessage } from "viem/siwe";
import { readAddress, Wallets } from "../../../src/front/auth/wallet.ts";
import { readSignature, WalletSignatures } from "../../../src/front/auth/wallet-signature.ts";
import { ApiError } from "../../../src/front/common/errors.ts";
import type { ErrorCode } from "../../../src/wire/error-codes.ts";
import recoverAddress from "../../../workers/compute.ts";

const NOW = Date.parse("2026-11-21T12:00:00Z");
const recoverSigner = (message: string, signature: string) =>
  recoverAddress({ message, signature: signature as `0x${string}` });
const options = {
  domain: "127.0.0.1:8080",
  uri: "http://127.0.0.1:8080",
  chainId: 1,
  signatures: new WalletSignatures(recoverSigner),
};
const alice = privateKeyToAccount(generatePrivateKey());
const mallory = privateKeyToAccount(generatePrivateKey());

async function refusalOf(redeeming: Promise<unknown>): Promise<ApiError> {
  try {
    await redeeming;
  } catch (thrown) {
    assert.ok(thrown instanceof ApiError, String(thrown));
    return thrown;
  }
  throw new Error("the login was accepted");
}

const assertRefused = async (redeeming: Promise<unknown>, code: ErrorCode): Promise<void> =>
  assert.equal((await refusalOf(redeeming)).code, code);

test("a signed challenge logs in its wallet once", async () => {
  const wallets = new Wallets(options);
  const { message, nonce, expiresAt } = wallets.issue(alice.address.toLowerCase(), 10, NOW);
  const fields = parseSiweMessage(message);
  assert.deepEqual(
    [fields.address, fields.domain, fields.uri, fields.chainId, fields.nonce, fields.version],
    [alice.address, options.domain, options.uri, 10, nonce, "1"],
  );
  assert.equal(fields.expirationTime?.getTime(), expiresAt);
  assert.ok(nonce.length >= 24);
  const signature = await alice.signMessage({ message });
  assert.equal(await wallets.redeem(message, signature, NOW + 1), alice.address);
  await assertRefused(wallets.redeem(message, signature, NOW + 2), "CHALLENGE_NOT_FOUND");
});

test("the error for another wallet's signature names both addresses, and the wallet itself can still log in", async () => {
  const wallets = new Wallets(options);
  const { message } = wallets.issue(alice.address, undefined, NOW);
  const refusal = await refusalOf(wallets.redeem(message, await mallory.signMessage({ message }), NOW));
  assert.equal(refusal.code, "BAD_SIGNATURE");
  assert.deepEqual(refusal.details, { recovered: mallory.address, expected: alice.address });
  assert.equal(await wallets.redeem(message, await alice.signMessage({ message }), NOW), alice.address);
});

test("a challenge is valid for five minutes", async () => {
  const wallets = new Wallets(options);
  const early = wallets.issue(alice.address, undefined, NOW);
  const late = wallets.issue(alice.address, undefined, NOW);
  assert.equal(early.expiresAt, NOW + 300_000);
  const sign = (message: string) => alice.signMessage({ message });
  assert.equal(await wallets.redeem(early.message, await sign(early.message), NOW + 299_999), alice.address);
  await assertRefused(wallets.redeem(late.message, await sign(late.message), NOW + 300_000), "CHALLENGE_NOT_FOUND");
});

const CHANGES: [field: string, change: (message: string) => string][] = [
  ["domain", (message) => message.replace("127.0.0.1:8080 wants", "evil.example wants")],
  ["uri", (message) => message.replace("URI: http://127.0.0.1:8080", "URI: http://evil.example")],
  ["chainId", (message) => message.replace("Chain ID: 1", "Chain ID: 10")],
  ["address", (message) => message.replace(alice.address, mallory.address)],
  ["issuedAt", (message) => message.replace("Issued At: 2026", "Issued At: 2027")],
  ["expirationTime", (message) => message.replace("Expiration Time: 2026", "Expiration Time: 2036")],
  ["statement", (message) => message.replace("moves no money", "moves all money")],
];
for (const [field, change] of CHANGES) {
  test(`a message with another ${field} is not the one that was issued, however well signed`, async () => {
    const wallets = new Wallets(options);
    const message = change(wallets.issue(alice.address, undefined, NOW).message);
    const signer = field === "address" ? mallory : alice;
    const refusal = await refusalOf(wallets.redeem(message, await signer.signMessage({ message }), NOW));
    assert.deepEqual([refusal.code, refusal.details], ["CHALLENGE_MISMATCH", { differs: field }]);
  });
}

test("a longer message is not the one that was issued either", async () => {
  const wallets = new Wallets(options);
  const message = `${wallets.issue(alice.address, undefined, NOW).message}\nNot Before: 2020-01-01T00:00:00.000Z`;
  await assertRefused(wallets.redeem(message, await alice.signMessage({ message }), NOW), "CHALLENGE_MISMATCH");
});

/** The compact form of EIP-2098. */
const compact = (signature: string): string => {
  const parity = signature.endsWith("1c") ? 0x80 : 0;
  const first = (Number.parseInt(signature.slice(66, 68), 16) | parity).toString(16).padStart(2, "0");
  return signature.slice(0, 66) + first + signature.slice(68, 130);
};

test("a compact signature (EIP-2098) works in place of a long one, and uses up the same challenge", async () => {
  // The example of EIP-2098.
  const long =
    "0x68a020a209d3d56c46f38cc50a33f704f4a9a10a59377f8dd762ac66910e9b907e865ad05c4035ab5792787d4a0297a43617ae897930a6fe4d822b8faea520641b";
  assert.equal(compact(long), long.slice(0, 130));
  assert.equal(readSignature(compact(long)), long);
  const odd =
    "0x9328da16089fcba9bececa81663203989f2df5fe1faa6291a45381c81bd17f76139c6d6b623b42da56557e5e734a43dc83345ddfadec52cbe24d0cc64f5507931c";
  assert.equal(compact(odd).slice(66), "939c6d6b623b42da56557e5e734a43dc83345ddfadec52cbe24d0cc64f550793");
  assert.equal(readSignature(compact(odd)), odd);
  const wallets = new Wallets(options);
  for (let i = 0; i < 4; i++) {
    const { message } = wallets.issue(alice.address, undefined, NOW);
    const signature = await alice.signMessage({ message });
    assert.equal(await wallets.redeem(message, compact(signature), NOW), alice.address);
    await assertRefused(wallets.redeem(message, signature, NOW), "CHALLENGE_NOT_FOUND");
  }
});

test("invalid and non-canonical signatures are refused", async () => {
  const wallets = new Wallets(options);
  const order = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
  const twinOf = (signature: string) => {
    const s = (order - BigInt(`0x${signature.slice(66, 130)}`)).toString(16).padStart(64, "0");
    return signature.slice(0, 66) + s + (signature.endsWith("1b") ? "1c" : "1b");
  };
  const makers: ((signature: string) => string)[] = [
    twinOf,
    (signature) => `${signature.slice(0, -2)}ff`,
    () => `0x${"0".repeat(130)}`,
    () => `0x${"f".repeat(64)}${"0".repeat(63)}11b`,
    (signature) => compact(`${signature.slice(0, -2)}${signature.endsWith("1b") ? "1c" : "1b"}`),
    // 64 bytes with an s between half of the order and 2^255.
    (signature) => `${signature.slice(0, 66)}7${"f".repeat(63)}`,
  ];
  for (const make of makers) {
    const { message } = wallets.issue(alice.address, undefined, NOW);
    const signature = make(await alice.signMessage({ message }));
    await assertRefused(wallets.redeem(message, signature, NOW), "BAD_SIGNATURE");
  }
});

test("a text that is no EIP-4361 message has no challenge", async () => {
  const wallets = new Wallets(options);
  const signature = `0x${"1".repeat(130)}`;
  for (const message of ["", "hello", "Nonce: abc", "\u0000"])
    await assertRefused(wallets.redeem(message, signature, NOW), "CHALLENGE_NOT_FOUND");
});

test("when the pool is full the login is refused, and the same request works later", async () => {
  let isFull = true;
  const recover = (message: string, signature: string) =>
    isFull ? Promise.reject(new Error("Task queue is at limit")) : recoverSigner(message, signature);
  const wallets = new Wallets({ ...options, signatures: new WalletSignatures(recover) });
  const { message } = wallets.issue(alice.address, undefined, NOW);
  const signature = await alice.signMessage({ message });
  await assertRefused(wallets.redeem(message, signature, NOW), "OVERLOADED");
  isFull = false;
  assert.equal(await wallets.redeem(message, signature, NOW), alice.address);
});

test("a flood of challenges, also for the same address, does not end the challenge of another client", async () => {
  const wallets = new Wallets(options);
  const { message } = wallets.issue(alice.address, undefined, NOW);
  for (let i = 0; i < 50_001; i++) wallets.issue(i % 2 === 0 ? mallory.address : alice.address, undefined, NOW);
  assert.equal(await wallets.redeem(message, await alice.signMessage({ message }), NOW), alice.address);
});

test("one signature logs in once, also when it is sent twice at the same time", async () => {
  const wallets = new Wallets(options);
  const { message } = wallets.issue(alice.address, undefined, NOW);
  const signature = await alice.signMessage({ message });
  const outcomes = await Promise.allSettled([1, 2].map(() => wallets.redeem(message, signature, NOW)));
  assert.deepEqual(outcomes.map(({ status }) => status).sort(), ["fulfilled", "rejected"]);
});

test("a nonce that another process issued, or that was changed, is none", async () => {
  const { message, nonce } = new Wallets(options).issue(alice.address, undefined, NOW);
  const wallets = new Wallets(options);
  await assertRefused(wallets.redeem(message, await alice.signMessage({ message }), NOW), "CHALLENGE_NOT_FOUND");
  const own = wallets.issue(alice.address, undefined, NOW);
  assert.equal(own.nonce.length, nonce.length);
  for (let at = 0; at < own.nonce.length; at += 7) {
    const digit = own.nonce[at] === "0" ? "1" : "0";
    const changed = own.message.replace(own.nonce, own.nonce.slice(0, at) + digit + own.nonce.slice(at + 1));
    await assertRefused(wallets.redeem(changed, `0x${"1".repeat(130)}`, NOW), "CHALLENGE_NOT_FOUND");
  }
});

test("an address is accepted in one case, or in mixed case with its checksum", () => {
  const address = "0x8ba1f109551bD432803012645Ac136ddd64DBA72";
  for (const text of [address, address.toLowerCase(), `0x${address.slice(2).toUpperCase()}`])
    assert.equal(readAddress(text), address);
  assert.throws(() => readAddress(address.replace("bD", "BD")), ApiError);
  assert.throws(() => readAddress(`0x${"0".repeat(40)}`), ApiError, "nobody has it");
});

test("an invalid domain is refused at the start", () => {
  for (const domain of ["not a domain", "::1:8080", "[1.2.3.4]:1", "[::1"])
    assert.throws(() => new Wallets({ ...options, domain }), domain);
  for (const domain of ["localhost:8080", "example.com", "10.0.0.1:1", "[::1]:8080", "[2001:db8::1]"])
    assert.doesNotThrow(() => new Wallets({ ...options, domain }));
});
